/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of clients that have not shown that they are there: of whatever unit, and after a wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

#define OPENING 16 /* so many of a window of 17 to 64 */

static uint32_t opening(const struct gate *g)
{
    return window_opening(&g->crew.shared->services[WEB].window);
}

static struct decision ask(struct gate *g, enum attempt_kind kind, uint8_t flags)
{
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.kind = (uint8_t)kind;
    a.flags = flags;
    return gate_offer(g, 0, &a);
}

static void confirm(struct gate *g)
{
    struct slot slot = {.tenant = BULK, .service = WEB, .held = SLOT_OPENING};

    admission_confirmed(g->crew.workers[0], &slot);
    assert_int_equal(slot.held, 0);
}

static void fill_up_opening(struct gate *g)
{
    for (unsigned i = 0; i < OPENING; i++)
        assert_int_equal(ask(g, ATTEMPT_WORK, ATTEMPT_SYN).held, SLOT_OPENING);
    assert_int_equal(opening(g), OPENING);
}

/* A request that comes with its SYN may be anybody's. Not so those of open connections, nor a
 * connection that holds no slot yet. */
static void requests_with_their_syn_are_bounded(void **state)
{
    struct gate *g = *state;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 64;
    gate_adopt(g);
    fill_up_opening(g);
    assert_int_equal(ask(g, ATTEMPT_WORK, ATTEMPT_SYN).reason, REASON_CONNECTIONS);
    assert_int_equal(gate_used(g, WEB), OPENING);
    assert_int_equal(gate_share_used(g, BULK), OPENING);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, ATTEMPT_SYN).held, 0);
    assert_int_equal(ask(g, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask(g, ATTEMPT_WORK, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_used(g, WEB), OPENING + 2);
    assert_int_equal(opening(g), OPENING);
}

/* Requests with their SYN that wait for a slot will be connections when they have it. */
static void who_waits_counts_as_a_connection(void **state)
{
    struct gate *g = *state;
    const struct admission *adm = g->crew.workers[0];

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 1;
    g->services[WEB].connections = 3;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    gate_fill(g, NORMAL, 1);
    admission_adopt_connection(g->crew.workers[0], &(struct slot){NORMAL, WEB, 0, 0});
    assert_true(admission_may_connect(adm, WEB));
    assert_int_equal(ask(g, ATTEMPT_WORK, ATTEMPT_SYN).verdict, VERDICT_WAIT);
    assert_true(admission_may_connect(adm, WEB));
    assert_int_equal(ask(g, ATTEMPT_WORK, ATTEMPT_SYN).verdict, VERDICT_WAIT);
    assert_false(admission_may_connect(adm, WEB));
}

/* Its place comes back with its slot, confirmed or not, and only once. */
static void a_slot_that_nobody_confirmed_gives_both_back(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 64;
    gate_adopt(g);
    fill_up_opening(g);
    gate_done(g, BULK, SLOT_OPENING);
    assert_int_equal(opening(g), OPENING - 1);
    confirm(g);
    gate_done(g, BULK, 0);
    assert_int_equal(opening(g), OPENING - 2);
    assert_int_equal(gate_used(g, WEB), OPENING - 2);
}

/* There is a slot, but not for one more of these: it waits on. */
static void who_waits_is_let_in_when_another_has_confirmed(void **state)
{
    struct gate *g = *state;
    struct released r;

    g->services[WEB].window = OPENING + 1;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    fill_up_opening(g);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(ask(g, ATTEMPT_WORK, ATTEMPT_SYN).verdict, VERDICT_WAIT);
    gate_done(g, NORMAL, 0);
    assert_false(gate_poll(g, 0, &r));
    assert_int_equal(gate_used(g, WEB), OPENING);
    assert_int_equal(gate_share_used(g, BULK), OPENING);
    confirm(g);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT);
    assert_int_equal(r.slot.held, SLOT_OPENING);
    assert_int_equal(opening(g), OPENING);
    assert_int_equal(gate_used(g, WEB), OPENING + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(requests_with_their_syn_are_bounded),
        OVERLOAD_TEST(who_waits_counts_as_a_connection),
        OVERLOAD_TEST(a_slot_that_nobody_confirmed_gives_both_back),
        OVERLOAD_TEST(who_waits_is_let_in_when_another_has_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
