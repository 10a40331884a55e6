/* SPDX-License-Identifier: BSD-3-Clause */
/* The same packet, and the same work, once more: what it is told, and when it costs a retry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

/* There was no room in the flow table a moment ago; that is no answer that was given. */
static void a_syn_that_found_no_flow_is_judged_anew(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.flags = ATTEMPT_SYN;
    gate_adopt(g);
    admission_refuse(g->crew.workers[0], &a, REASON_TABLE, g->now_ns);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_counts(g, WEB).attempts, 2);
    assert_int_equal(gate_counts(g, WEB).offered, 1);
    assert_int_equal(gate_counts(g, WEB).refused[REASON_TABLE], 1);
}

/* Somebody waits, so there is overload, though a slot has just come free: a retry has to pay. */
static void a_retry_pays_while_anybody_waits(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    uint32_t *budget = &g->crew.shared->tenants[BULK].retries;
    struct released r;

    g->services[WEB].window = 2;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    admission_refuse(g->crew.workers[0], &a, REASON_TABLE, g->now_ns);
    gate_fill(g, NORMAL, 2);
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT);
    gate_done(g, NORMAL, 0);
    *budget = RETRY_COST - 1;
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_RETRIES);
    assert_true(gate_poll(g, 0, &r));
    gate_done(g, NORMAL, 0);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_int_equal(*budget, RETRY_COST - 1);
}

/* Waiters keep what they were: one of work that was counted before is counted so when it enters,
 * and one that is refused has its answer if its SYN comes again. */
static void waiters_remember_what_they_are(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB), b;
    struct released r;

    g->services[WEB].window = 1;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    gate_fill(g, NORMAL, 1);
    admission_refuse(g->crew.workers[0], &a, REASON_CAPACITY, g->now_ns);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    gate_done(g, NORMAL, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT);
    assert_int_equal(gate_counts(g, WEB).served_late, 1);

    b = gate_attempt(g, BULK, WEB);
    b.flags = ATTEMPT_SYN;
    assert_int_equal(gate_offer(g, 0, &b).verdict, VERDICT_WAIT);
    g->now_ns += CORE_S;
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_CAPACITY);
    assert_int_equal(gate_counts(g, WEB).refused_unique, 2);
    gate_done(g, BULK, 0);
    assert_int_equal(gate_offer(g, 0, &b).reason, REASON_CAPACITY); /* there is a slot now */
    assert_int_equal(gate_counts(g, WEB).attempts, 4);
    assert_int_equal(gate_counts(g, WEB).attempt_packets, 5);
    g->now_ns += 3 * CORE_S;
    gate_fill(g, NORMAL, 1);
    assert_int_equal(gate_offer(g, 0, &b).verdict, VERDICT_WAIT);
    g->now_ns += CORE_S;
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(gate_counts(g, WEB).refused_unique, 2); /* the same work */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(a_syn_that_found_no_flow_is_judged_anew),
        OVERLOAD_TEST(a_retry_pays_while_anybody_waits),
        OVERLOAD_TEST(waiters_remember_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
