/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one of many may have: the second's sample, when nothing seems to be in time. It is claimed
 * last, by the one whose work will show how long things take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

static struct promise *promise(struct gate *g)
{
    return &g->crew.shared->services[WEB].advice.promise;
}

/* Nothing can be done in time any more. */
static void be_hopeless(struct gate *g)
{
    g->services[WEB].deadline_ns = CORE_S;
    gate_adopt(g);
    *promise(g) = (struct promise){.service_ns = 2 * CORE_S};
}

static struct decision ask_kind(struct gate *g, enum attempt_kind kind, uint8_t held)
{
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.kind = (uint8_t)kind;
    a.held = held;
    return gate_offer(g, 0, &a);
}

/* Who is over a quota, or finds no room, leaves it to others; and it does not wait. */
static void a_sample_is_claimed_last(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].attempts = core_rate(0, 1, 0);
    g->tenants[CRITICAL].window = 0;
    g->tenants[BULK].attempts = core_rate(1, 86400, 9);
    g->services[WEB].window = 0;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    be_hopeless(g);
    assert_int_equal(gate_ask(g, NORMAL).reason, REASON_RATE);
    assert_int_equal(gate_ask(g, CRITICAL).reason, REASON_SHARE);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    assert_int_equal(gate_tokens(g, BULK), 10);
    g->services[WEB].window = 4;
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_DEADLINE);
    assert_int_equal(gate_tokens(g, BULK), 9);
    assert_int_equal(gate_used(g, WEB), 1);
}

/* Any number of connections may come while one is due: their requests are the samples. */
static void a_sample_is_the_request_not_its_connection(void **state)
{
    struct gate *g = *state;

    g->services[WEB].unit = UNIT_EXCHANGE;
    be_hopeless(g);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).reason, REASON_DEADLINE);
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, REASON_DEADLINE);
    g->now_ns += PROMISE_SAMPLE_NS - 1;
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, REASON_DEADLINE);
    g->now_ns++;
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_kind(g, ATTEMPT_WORK, 0).reason, REASON_DEADLINE); /* a further turn */
    assert_int_equal(gate_used(g, WEB), 2);
    g->unstarted = 1;
}

/* A breaker's trial comes through, though its connection's first request is late and the second's
 * sample is another's. */
static void a_trial_needs_no_sample(void **state)
{
    struct gate *g = *state;
    struct decision d;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].breaker.failures = 3;
    g->services[WEB].breaker.mode = POLICY_BREAKER_OPEN;
    be_hopeless(g);
    g->services[WEB].breaker.mode = POLICY_BREAKER_AUTO;
    gate_adopt(g);
    d = ask_kind(g, ATTEMPT_CONNECT, 0);
    assert_int_equal(d.held, SLOT_TRIAL);
    promise(g)->sample_after_ns = UINT64_MAX;
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, REASON_DEADLINE);
    d = ask_kind(g, ATTEMPT_FIRST, d.held);
    assert_int_equal(d.verdict, VERDICT_ADMIT);
    assert_int_equal(d.held, SLOT_TRIAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(a_sample_is_claimed_last),
        OVERLOAD_TEST(a_sample_is_the_request_not_its_connection),
        OVERLOAD_TEST(a_trial_needs_no_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
