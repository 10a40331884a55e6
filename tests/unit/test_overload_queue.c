/* SPDX-License-Identifier: BSD-3-Clause */
/* The wait queue in front of a full service, through the decision core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

static void full_house(struct gate *g, uint32_t slots, uint32_t places)
{
    g->services[WEB].window = slots;
    g->services[WEB].wait = (struct policy_wait){.places = places, .age_ns = 10 * CORE_S};
}

static uint64_t places_used(struct gate *g)
{
    return gate_waiting(g, WEB);
}

/* The next one that waits on worker 0 is admitted, and is that one. */
static void assert_next(struct gate *g, uint64_t cookie)
{
    struct released r;

    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT);
    assert_int_equal(r.cookie, cookie);
}

static void assert_nobody_next(struct gate *g)
{
    struct released r;

    assert_false(gate_poll(g, 0, &r));
}

static void ninth_of_six_and_two_is_refused(void **state)
{
    struct gate *g = *state;
    struct attempt a;

    full_house(g, 6, 2);
    gate_adopt(g);
    for (unsigned i = 1; i <= 9; i++) {
        a = gate_attempt(g, BULK, WEB);
        a.flags = ATTEMPT_SYN; /* nobody has confirmed yet: that is no other limit */
        assert_int_equal(gate_offer(g, 0, &a).verdict, i <= 6   ? VERDICT_ADMIT
                                                       : i <= 8 ? VERDICT_WAIT
                                                                : VERDICT_REFUSE);
    }
    assert_int_equal(gate_counts(g, WEB).refused[REASON_CAPACITY], 1);
    assert_int_equal(gate_used(g, WEB), 6);
    assert_int_equal(places_used(g), 2);
    assert_int_equal(gate_counts(g, WEB).waited, 2);
    assert_nobody_next(g);
    gate_done(g, BULK, SLOT_OPENING);
    assert_next(g, 7);
    assert_nobody_next(g);
    assert_int_equal(gate_used(g, WEB), 6);
    assert_int_equal(places_used(g), 1);
}

/* -- who goes for whom -- */

static void critical_takes_the_place_of_the_newest_bulk(void **state)
{
    struct gate *g = *state;
    struct released r;

    full_house(g, 1, 2);
    gate_adopt(g);
    gate_fill(g, BULK, 1);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);     /* 2 */
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);     /* 3 */
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT); /* 4 */
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    assert_int_equal(places_used(g), 2);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.cookie, 3);
    assert_int_equal(r.decision.reason, REASON_CAPACITY);
    assert_int_equal(places_used(g), 2);
    gate_done(g, BULK, 0);
    assert_next(g, 4);
    gate_done(g, CRITICAL, 0);
    assert_next(g, 2);
    assert_int_equal(places_used(g), 0);
}

static void displaced_waiter_may_be_cancelled(void **state)
{
    struct gate *g = *state;
    struct attempt a;
    struct decision d;

    full_house(g, 1, 1);
    g->tenants[BULK].attempts = core_rate(1, 86400, 9);
    gate_adopt(g);
    gate_fill(g, BULK, 1);
    a = gate_attempt(g, BULK, WEB);
    d = gate_offer(g, 0, &a);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT);
    assert_true(gate_cancel(g, 0, d.waiter, &a));
    assert_false(gate_cancel(g, 0, d.waiter, &a));
    assert_nobody_next(g);
    assert_int_equal(gate_counts(g, WEB).cancelled, 1);
    assert_int_equal(gate_tokens(g, BULK), 9);
    assert_int_equal(places_used(g), 1);
    gate_done(g, BULK, 0);
    assert_next(g, 3);
}

/* Also where not the service's places are full, but those of the worker. */
static void critical_displaces_in_front_of_a_full_worker(void **state)
{
    struct gate *g = *state;
    struct released r;

    full_house(g, 0, 1000);
    gate_adopt(g);
    for (unsigned i = 1; i <= GATE_WAITERS; i++)
        assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.cookie, GATE_WAITERS);
    assert_int_equal(places_used(g), GATE_WAITERS);
}

/* -- reserved -- */

static void reservations_are_for_the_classes_above(void **state)
{
    struct gate *g = *state;

    full_house(g, 6, 4);
    g->services[WEB].reserve[CLASS_NORMAL] = (struct policy_reserve){1, 1};
    g->services[WEB].reserve[CLASS_CRITICAL] = (struct policy_reserve){2, 1};
    gate_adopt(g);
    gate_fill(g, BULK, 3);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    /* Behind those who wait, but its slot is there: at the next poll. */
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT); /* 7 */
    assert_next(g, 7);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT); /* 8 */
    assert_next(g, 8);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT); /* 9 */
    assert_next(g, 9);
    assert_nobody_next(g);
    assert_int_equal(gate_used(g, WEB), 6);
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT);
    assert_int_equal(places_used(g), 4);
}

/* All places are taken by others on another worker, who cannot have the slot. */
static void reserved_slot_needs_no_place_to_wait(void **state)
{
    struct gate *g = *state;
    struct attempt a;

    full_house(g, 2, 2);
    g->services[WEB].reserve[CLASS_CRITICAL].slots = 1;
    gate_adopt(g);
    for (unsigned i = 0; i < 3; i++) {
        a = gate_attempt(g, BULK, WEB);
        assert_int_equal(gate_offer(g, 1, &a).verdict, i ? VERDICT_WAIT : VERDICT_ADMIT);
    }
    a = gate_attempt(g, BULK, WEB);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    a = gate_attempt(g, CRITICAL, WEB);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    a = gate_attempt(g, CRITICAL, WEB);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    /* Both are freed: one is kept for it, the other one is who waits' first. */
    gate_done(g, CRITICAL, 0);
    core_complete(g->crew.workers[1], &(struct slot){.tenant = BULK, .service = WEB},
                  OUTCOME_FINISHED);
    a = gate_attempt(g, CRITICAL, WEB);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
}

/* Clients that have not confirmed that they are there hold a quarter of the slots, or 16. */
static void opening_connections_are_bounded(void **state)
{
    struct gate *g = *state;
    struct attempt a;
    struct slot slot = {.tenant = BULK, .service = WEB, .held = SLOT_OPENING};

    full_house(g, 60, 4);
    gate_adopt(g);
    for (unsigned i = 0; i < 18; i++) {
        a = gate_attempt(g, BULK, WEB);
        a.flags = ATTEMPT_SYN;
        assert_int_equal(gate_offer(g, 0, &a).reason, i < 16 ? REASON_NONE : REASON_CONNECTIONS);
    }
    assert_int_equal(gate_used(g, WEB), 16);
    assert_int_equal(gate_share_used(g, BULK), 16);
    assert_int_equal(places_used(g), 0);
    admission_confirmed(g->crew.workers[0], &slot);
    assert_int_equal(slot.held, 0);
    a = gate_attempt(g, BULK, WEB);
    a.flags = ATTEMPT_SYN;
    assert_int_equal(gate_offer(g, 0, &a).held, SLOT_OPENING);
    assert_int_equal(gate_used(g, WEB), 17);
}

/* -- shares -- */

/* Bulk's share is guaranteed four of ten slots, normal's may have eight at most. */
static void two_shares(struct gate *g)
{
    g->shares[0] = (struct policy_share){BULK, 4, POLICY_WINDOW_MAX, 3};
    g->shares[1] = (struct policy_share){NORMAL, 0, 8, 1};
    g->services[WEB].shares = g->shares;
    g->services[WEB].n_shares = 2;
}

static struct decision ask_share(struct gate *g, uint32_t tenant, uint8_t share)
{
    struct attempt a = gate_attempt(g, tenant, WEB);

    a.share = share;
    return gate_offer(g, 0, &a);
}

static void done_share(struct gate *g, uint32_t tenant, uint8_t share)
{
    const struct slot slot = {tenant, WEB, share, SLOT_SHARED};

    admission_complete(g->crew.workers[0], &slot, &(struct ending){.held_ns = 1}, g->now_ns);
}

static void guaranteed_slots_are_lent_to_nobody(void **state)
{
    struct gate *g = *state;

    full_house(g, 10, 8);
    two_shares(g);
    gate_adopt(g);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ask_share(g, NORMAL, 2).held, SLOT_SHARED);
    assert_int_equal(ask_share(g, NORMAL, 2).verdict, VERDICT_WAIT); /* 7: the rest is bulk's */
    assert_nobody_next(g);
    for (unsigned i = 8; i < 12; i++) {
        assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_WAIT);
        assert_next(g, i);
    }
    assert_int_equal(gate_used(g, WEB), 10);
    assert_nobody_next(g);
    done_share(g, BULK, 1);
    assert_nobody_next(g); /* it is guaranteed again */
    done_share(g, NORMAL, 2);
    assert_next(g, 7);
    assert_int_equal(window_used(&g->crew.shared->services[WEB].shares[1]), 3);
    assert_int_equal(window_used(&g->crew.shared->services[WEB].shares[2]), 6);
}

static void ceiling_of_a_share_is_a_quota(void **state)
{
    struct gate *g = *state;

    full_house(g, 10, 8);
    two_shares(g);
    g->shares[0].guaranteed = 0;
    gate_adopt(g);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ask_share(g, NORMAL, 2).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_share(g, NORMAL, 2).reason, REASON_SHARE);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_WAIT);
    assert_int_equal(ask_share(g, NORMAL, 2).reason, REASON_SHARE); /* as before */
}

/* Two of a share enter the queue while it has one slot to go: the second stands back for others. */
static void ceiling_holds_at_release(void **state)
{
    struct gate *g = *state;

    full_house(g, 2, 8);
    two_shares(g);
    g->shares[0].guaranteed = 0;
    g->shares[1].ceiling = 1;
    gate_adopt(g);
    assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_share(g, NORMAL, 2).verdict, VERDICT_WAIT); /* 3 */
    assert_int_equal(ask_share(g, NORMAL, 2).verdict, VERDICT_WAIT); /* 4 */
    done_share(g, BULK, 1);
    assert_next(g, 3);
    assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_WAIT); /* 5 */
    done_share(g, BULK, 1);
    assert_next(g, 5);
    done_share(g, BULK, 1);
    assert_nobody_next(g);
    done_share(g, NORMAL, 2);
    assert_next(g, 4);
}

/* Freed slots go to the shares that wait in turn, as many as their weights: three to one. */
static void freed_slots_go_round_by_weight(void **state)
{
    struct gate *g = *state;
    struct released r;

    full_house(g, 1, 16);
    two_shares(g);
    g->shares[0].guaranteed = 0;
    g->tenants[BULK].class = g->tenants[NORMAL].class = CLASS_BULK;
    gate_adopt(g);
    assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_ADMIT);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(ask_share(g, BULK, 1).verdict, VERDICT_WAIT);
        assert_int_equal(ask_share(g, NORMAL, 2).verdict, VERDICT_WAIT);
    }
    done_share(g, BULK, 1);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t expected = i % 4 < 3 ? BULK : NORMAL;

        assert_true(gate_poll(g, 0, &r));
        assert_int_equal(r.slot.tenant, expected);
        done_share(g, r.slot.tenant, r.slot.share);
    }
}

/* A tenant at its own limit is told so, and does not stand in the way of those behind it. */
static void tenant_at_its_limit_holds_up_nobody(void **state)
{
    struct gate *g = *state;
    struct released r;

    full_house(g, 2, 8);
    g->tenants[NORMAL].class = CLASS_BULK;
    g->tenants[NORMAL].window = 1;
    gate_adopt(g);
    gate_fill(g, BULK, 2);
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT); /* 3 */
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT); /* 4 */
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);   /* 5 */
    gate_done(g, BULK, 0);
    assert_next(g, 3);
    gate_done(g, BULK, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.cookie, 4);
    assert_int_equal(r.decision.reason, REASON_SHARE);
    assert_next(g, 5);
}

/* -- adaptive order -- */

static void adaptive_order_ends_with_the_overload(void **state)
{
    struct gate *g = *state;

    full_house(g, 1, 8);
    g->services[WEB].wait.order = ORDER_ADAPTIVE;
    gate_adopt(g);
    gate_fill(g, BULK, 1);
    for (unsigned i = 2; i <= 6; i++)
        assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    g->now_ns += 10 * CORE_MS;
    gate_done(g, BULK, 0);
    assert_next(g, 2);
    g->now_ns += 100 * CORE_MS;
    gate_done(g, BULK, 0);
    assert_next(g, 3); /* with this one the queue has stood for 100 ms */
    gate_done(g, BULK, 0);
    assert_next(g, 6);
    gate_done(g, BULK, 0);
    assert_next(g, 5);
    gate_done(g, BULK, 0);
    assert_next(g, 4);
    gate_done(g, BULK, 0);
    gate_fill(g, BULK, 1); /* 7 need not wait */
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    g->now_ns += 10 * CORE_MS;
    gate_done(g, BULK, 0);
    assert_next(g, 8);
}

/* -- a worker that died -- */

static void places_of_a_dead_worker_come_back_once(void **state)
{
    struct gate *g = *state;
    struct attempt a, paused[3];
    struct decision d[3];
    struct released r;

    full_house(g, 0, 4);
    gate_adopt(g);
    for (unsigned i = 0; i < 3; i++) {
        paused[i] = gate_attempt(g, BULK, WEB);
        d[i] = gate_offer(g, 1, &paused[i]);
    }
    a = gate_attempt(g, BULK, WEB);
    assert_int_equal(gate_offer(g, 2, &a).verdict, VERDICT_WAIT);
    assert_int_equal(places_used(g), 4);
    admission_reclaim(g->crew.workers[1]);
    assert_int_equal(places_used(g), 1);
    /* It was only paused. Whoever leaves it now has no place to give back. */
    assert_true(gate_cancel(g, 1, d[0].waiter, &paused[0]));
    assert_int_equal(places_used(g), 1);
    a = gate_attempt(g, BULK, WEB);
    assert_int_equal(gate_offer(g, 1, &a).verdict, VERDICT_WAIT);
    assert_int_equal(places_used(g), 2);
    g->now_ns += 10 * CORE_S;
    for (unsigned i = 0; i < 3; i++)
        assert_true(gate_poll(g, 1, &r));
    assert_false(gate_poll(g, 1, &r));
    assert_int_equal(places_used(g), 1);
    assert_true(gate_poll(g, 2, &r));
    assert_int_equal(places_used(g), 0);
}

/* One waiter in nobody's share, one in a share that is named no more when they are taken back. */
static void places_of_a_dead_worker_come_back_to_their_share(void **state)
{
    struct gate *g = *state;
    struct service_shared *web = &g->crew.shared->services[WEB];
    struct attempt a;
    struct released r;

    full_house(g, 0, 4);
    for (uint32_t n_shares = 0; n_shares < 2; n_shares++) {
        g->shares[0] = (struct policy_share){BULK, 0, 8, 1};
        g->services[WEB].shares = g->shares;
        g->services[WEB].n_shares = n_shares;
        gate_adopt(g);
        a = gate_attempt(g, BULK, WEB);
        a.share = (uint8_t)n_shares;
        assert_int_equal(gate_offer(g, 1, &a).verdict, VERDICT_WAIT);
    }
    assert_int_equal(places_used(g), 2);
    assert_int_equal(window_used(&web->places[1]), 1);
    for (unsigned i = 0; i < 2; i++) {
        admission_reclaim(g->crew.workers[1]);
        assert_int_equal(places_used(g), 0);
        assert_int_equal(window_used(&web->places[0]), 0);
        assert_int_equal(window_used(&web->places[1]), 0);
        g->services[WEB].n_shares = 0;
        gate_adopt(g);
    }
    g->now_ns += 10 * CORE_S;
    assert_true(gate_poll(g, 1, &r) && gate_poll(g, 1, &r));
    assert_int_equal(places_used(g), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(ninth_of_six_and_two_is_refused),
        OVERLOAD_TEST(critical_takes_the_place_of_the_newest_bulk),
        OVERLOAD_TEST(displaced_waiter_may_be_cancelled),
        OVERLOAD_TEST(critical_displaces_in_front_of_a_full_worker),
        OVERLOAD_TEST(reservations_are_for_the_classes_above),
        OVERLOAD_TEST_FOUR(reserved_slot_needs_no_place_to_wait),
        OVERLOAD_TEST(opening_connections_are_bounded),
        OVERLOAD_TEST(guaranteed_slots_are_lent_to_nobody),
        OVERLOAD_TEST(ceiling_of_a_share_is_a_quota),
        OVERLOAD_TEST(ceiling_holds_at_release),
        OVERLOAD_TEST(freed_slots_go_round_by_weight),
        OVERLOAD_TEST(tenant_at_its_limit_holds_up_nobody),
        OVERLOAD_TEST(adaptive_order_ends_with_the_overload),
        OVERLOAD_TEST_FOUR(places_of_a_dead_worker_come_back_once),
        OVERLOAD_TEST_FOUR(places_of_a_dead_worker_come_back_to_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
