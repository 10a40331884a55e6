/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection of a service whose unit is the exchange, and its first request: what the one has
 * been asked the other is not asked again, and what the one has paid the other does not pay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

static struct service_shared *shared_web(struct gate *g)
{
    return &g->crew.shared->services[WEB];
}

static struct decision ask_as(struct gate *g, struct attempt *a, enum attempt_kind kind,
                              uint8_t held)
{
    a->kind = (uint8_t)kind;
    a->held = held;
    return gate_offer(g, 0, a);
}

static struct decision ask(struct gate *g, enum attempt_kind kind, uint8_t held)
{
    struct attempt a = gate_attempt(g, BULK, WEB);

    return ask_as(g, &a, kind, held);
}

static void exchange(struct gate *g, uint32_t window)
{
    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = window;
    gate_adopt(g);
}

static void shed_all(struct gate *g)
{
    g->crew.shared->gateway.shed[CLASS_BULK] = UINT32_MAX;
    g->crew.shared->gateway.stamped_ns = g->now_ns;
    shared_web(g)->advice.shed[CLASS_BULK] = UINT32_MAX;
    shared_web(g)->advice.stamped_ns = g->now_ns;
}

/* Shedding that begins between the two is for connections to come. */
static void a_connection_is_shed_once_or_not_at_all(void **state)
{
    struct gate *g = *state;

    exchange(g, 9);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    shed_all(g);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, 0).reason, REASON_GATEWAY);
    assert_int_equal(ask(g, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask(g, ATTEMPT_WORK, 0).reason, REASON_GATEWAY); /* a further turn */
    assert_int_equal(gate_counts(g, WEB).reached[CLASS_BULK], 1);
}

/* A retry is paid for once, and by its connection. */
static void a_first_request_takes_no_retry(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    uint32_t *budget = &g->crew.shared->tenants[BULK].retries;

    exchange(g, 1);
    shared_web(g)->advice.shed[CLASS_BULK] = 1; /* overload, that hits nobody */
    admission_refuse(g->crew.workers[0], &a, REASON_CAPACITY, g->now_ns);
    assert_int_equal(ask_as(g, &a, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(retry_tenths(budget), RETRY_CAP - RETRY_COST);
    assert_int_equal(ask_as(g, &a, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(retry_tenths(budget), RETRY_CAP - RETRY_COST);
    assert_int_equal(gate_counts(g, WEB).served_late, 1);
}

/* A connection needs no slot, so its tenant may have none left; its first request is told so. */
static void a_tenant_without_a_slot_may_connect(void **state)
{
    struct gate *g = *state;

    g->tenants[BULK].window = 0;
    exchange(g, 9);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask(g, ATTEMPT_FIRST, 0).reason, REASON_SHARE);
}

/* What tries whether the service is there does not wait for a slot. */
static void the_first_request_of_a_trial_does_not_wait(void **state)
{
    struct gate *g = *state;

    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    exchange(g, 1);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(ask(g, ATTEMPT_FIRST, SLOT_TRIAL).reason, REASON_CAPACITY);
    assert_int_equal(ask(g, ATTEMPT_FIRST, 0).verdict, VERDICT_WAIT);
    g->unstarted = -2; /* of connections that were never let in */
}

static struct decision ask_metered(struct gate *g)
{
    assert_int_equal(admission_meter(g->crew.workers[0], BULK, 60, g->now_ns).verdict,
                     VERDICT_ADMIT);
    return ask(g, ATTEMPT_FIRST, 0);
}

/* Its bits are taken before it is asked about: it counts as a packet when it is let in, and has
 * them back when it is not. */
static void a_first_request_that_waited_is_one_packet(void **state)
{
    struct gate *g = *state;
    const struct admission_tenant_counters *t = admission_tenant_counters(g->crew.workers[0], BULK);
    struct released r;
    unsigned passed = 0;

    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = 100 * CORE_MS};
    g->tenants[BULK].bits = core_rate(8, 1, 600);
    exchange(g, 1);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask(g, ATTEMPT_CONNECT, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_metered(g).verdict, VERDICT_WAIT);
    assert_int_equal(t->packets[DIRECTION_IN], 2);
    gate_done(g, NORMAL, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT);
    assert_int_equal(t->packets[DIRECTION_IN], 3);
    assert_int_equal(t->bytes[DIRECTION_IN], 3 * 60);
    assert_int_equal(ask_metered(g).verdict, VERDICT_WAIT);
    g->now_ns += 100 * CORE_MS;
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_CAPACITY);
    while (admission_charge(g->crew.workers[0], BULK, 60, g->now_ns).verdict == VERDICT_ADMIT)
        passed++;
    assert_int_equal(passed, 7); /* of ten, less the two connections' and the one request's */
}

/* A health check's connection has a place however many there are; it has its token from its SYN,
 * and that is spent, whatever becomes of its request. */
static void a_health_check_connects_on_one_token(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->probes = (struct policy_network){core_address("10.0.0.0"), 120};
    g->services[WEB].probes =
        (struct policy_probes){.prefixes = &g->probes, .n = 1, .attempts = core_rate(1, 86400, 1)};
    g->services[WEB].connections = 0;
    exchange(g, 0);
    a.flags = ATTEMPT_HEALTH;
    assert_int_equal(ask_as(g, &a, ATTEMPT_CONNECT, 0).held, SLOT_HEALTH);
    assert_int_equal(window_used(&shared_web(g)->connections), 1);
    assert_int_equal(ask_as(g, &a, ATTEMPT_FIRST, SLOT_HEALTH).held, SLOT_HEALTH | SLOT_RESERVED);
    assert_int_equal(ask_as(g, &a, ATTEMPT_CONNECT, 0).held, SLOT_HEALTH); /* the other token */
    assert_int_equal(ask_as(g, &a, ATTEMPT_FIRST, SLOT_HEALTH).reason, REASON_CAPACITY);
    assert_int_equal(ask_as(g, &a, ATTEMPT_CONNECT, 0).reason, REASON_CONNECTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(a_connection_is_shed_once_or_not_at_all),
        OVERLOAD_TEST(a_first_request_takes_no_retry),
        OVERLOAD_TEST(a_tenant_without_a_slot_may_connect),
        OVERLOAD_TEST(the_first_request_of_a_trial_does_not_wait),
        OVERLOAD_TEST(a_first_request_that_waited_is_one_packet),
        OVERLOAD_TEST(a_health_check_connects_on_one_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
