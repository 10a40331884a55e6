/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that fails, that is checked, whose unit is the exchange, and whose slots get lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

static const struct breaker *breaker(struct gate *g)
{
    return &g->crew.shared->services[WEB].breaker;
}

static enum breaker_state state_of(struct gate *g)
{
    return breaker_view(breaker(g), &g->crew.workers[0]->services[WEB].rules.breaker, g->now_ns)
        .state;
}

static void with_breaker(struct gate *g)
{
    g->services[WEB].breaker.failures = 3;
    gate_adopt(g);
}

static void no_answer(struct gate *g, uint8_t held)
{
    const struct slot slot = {.tenant = BULK, .service = WEB, .held = held};

    admission_no_answer(g->crew.workers[0], &slot, 0x80000000, g->now_ns);
    admission_complete(g->crew.workers[0], &slot, &(struct ending){.outcome = OUTCOME_AGED},
                       g->now_ns);
}

static void answer(struct gate *g, uint8_t held)
{
    const struct slot slot = {.tenant = BULK, .service = WEB, .held = held};

    admission_first_byte(g->crew.workers[0], &slot, g->now_ns);
    admission_complete(g->crew.workers[0], &slot, &(struct ending){.held_ns = 1}, g->now_ns);
}

/* Opens the breaker: three failures without jitter. */
static void fail_thrice(struct gate *g)
{
    gate_fill(g, BULK, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(state_of(g), BREAKER_CLOSED);
        no_answer(g, 0);
    }
    assert_int_equal(state_of(g), BREAKER_OPEN);
}

/* -- breaker -- */

static void failures_in_a_row_open_it(void **state)
{
    struct gate *g = *state;

    with_breaker(g);
    for (unsigned i = 0; i < 10; i++) { /* two in a row do not */
        gate_fill(g, BULK, 3);
        no_answer(g, 0);
        no_answer(g, 0);
        answer(g, 0);
    }
    fail_thrice(g);
    assert_int_equal(gate_ask(g, CRITICAL).reason, REASON_BREAKER);
    assert_int_equal(gate_counts(g, WEB).refused[REASON_BREAKER], 1);
    assert_int_equal(gate_counts(g, WEB).bad, 23);
    assert_int_equal(gate_counts(g, WEB).good, 10);
    assert_int_equal(gate_used(g, WEB), 0);
}

static void one_trial_decides_for_all(void **state)
{
    struct gate *g = *state;
    unsigned passed = 0;

    with_breaker(g);
    fail_thrice(g);
    g->now_ns += CORE_S;
    assert_int_equal(gate_ask(g, BULK).held, SLOT_TRIAL);
    assert_int_equal(state_of(g), BREAKER_HALF_OPEN);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_BREAKER);
    no_answer(g, SLOT_TRIAL);
    assert_int_equal(state_of(g), BREAKER_OPEN);
    g->now_ns += 2 * CORE_S - CORE_MS;
    assert_int_equal(gate_ask(g, BULK).reason, REASON_BREAKER); /* twice as long */
    g->now_ns += CORE_MS;
    assert_int_equal(gate_ask(g, BULK).held, SLOT_TRIAL);
    answer(g, SLOT_TRIAL);
    assert_int_equal(state_of(g), BREAKER_RAMPING);
    for (unsigned i = 0; i < 1000; i++)
        passed += gate_ask(g, BULK).verdict == VERDICT_ADMIT;
    assert_in_range(passed, 70, 130); /* a tenth, by hash */
    g->now_ns += 5 * CORE_S;
    gate_fill(g, BULK, 100);
}

/* The trial is claimed last: whatever is in its way, another may try. */
static void trial_that_finds_no_room_is_none(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 4;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    g->tenants[NORMAL].attempts = core_rate(0, 1, 0);
    g->tenants[CRITICAL].window = 0;
    g->tenants[BULK].attempts = core_rate(1, 86400, 9);
    with_breaker(g);
    fail_thrice(g);
    g->now_ns += CORE_S;
    assert_int_equal(gate_ask(g, NORMAL).reason, REASON_RATE);
    assert_int_equal(gate_ask(g, CRITICAL).reason, REASON_SHARE);
    g->services[WEB].window = 0;
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY); /* it does not wait, either */
    assert_int_equal(gate_tokens(g, BULK), 7);
    assert_int_equal(state_of(g), BREAKER_OPEN);
    g->services[WEB].window = 4;
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).held, SLOT_TRIAL);
    assert_int_equal(gate_tokens(g, BULK), 6);
}

static void waiters_do_not_go_to_a_failed_backend(void **state)
{
    struct gate *g = *state;
    struct released r;

    g->services[WEB].window = 3;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    with_breaker(g);
    gate_fill(g, BULK, 3);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    for (unsigned i = 0; i < 3; i++)
        no_answer(g, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_BREAKER);
    assert_int_equal(gate_used(g, WEB), 0);
}

static void operator_holds_it_open_or_closed(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    g->services[WEB].breaker.mode = POLICY_BREAKER_OPEN; /* also without one of its own */
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_BREAKER);
    g->services[WEB].breaker.failures = 3;
    g->services[WEB].breaker.mode = POLICY_BREAKER_CLOSED;
    gate_adopt(g);
    gate_fill(g, BULK, 9);
    for (unsigned i = 0; i < 9; i++)
        no_answer(g, 0);
    gate_fill(g, BULK, 1);
    g->services[WEB].breaker.mode = POLICY_BREAKER_OPEN;
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_BREAKER);
    g->services[WEB].breaker.mode = POLICY_BREAKER_AUTO;
    gate_adopt(g);
    assert_int_equal(gate_ask(g, BULK).held, SLOT_TRIAL);
}

/* -- health checks -- */

static struct attempt health_check(struct gate *g)
{
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.flags = ATTEMPT_HEALTH;
    return a;
}

static void with_probes(struct gate *g, uint64_t burst)
{
    g->probes = (struct policy_network){core_address("10.0.0.0"), 120};
    g->services[WEB].probes =
        (struct policy_probes){.prefixes = &g->probes, .n = 1, .attempts = core_rate(1, 1, burst)};
}

static uint32_t checks_used(const struct gate *g)
{
    return window_used(&g->crew.shared->services[WEB].health);
}

/* Everything at once is in the way of anybody else. */
static void health_check_passes_at_full_overload(void **state)
{
    struct gate *g = *state;
    struct attempt a;
    struct decision d;

    g->services[WEB].window = 2;
    with_probes(g, 1);
    with_breaker(g);
    gate_fill(g, BULK, 2);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    g->tenants[BULK].window = 0;
    g->tenants[BULK].attempts = core_rate(0, 1, 0);
    g->services[WEB].breaker.mode = POLICY_BREAKER_OPEN;
    gate_adopt(g);
    g->crew.shared->gateway.shed[CLASS_BULK] = UINT32_MAX;
    g->crew.shared->gateway.stamped_ns = g->now_ns;
    g->crew.shared->services[WEB].advice.shed[CLASS_BULK] = UINT32_MAX;
    g->crew.shared->services[WEB].advice.stamped_ns = g->now_ns;
    assert_int_equal(gate_ask(g, BULK).reason, REASON_GATEWAY);
    a = health_check(g);
    d = gate_offer(g, 0, &a);
    assert_int_equal(d.verdict, VERDICT_ADMIT);
    assert_int_equal(d.held, SLOT_HEALTH | SLOT_RESERVED);
    assert_int_equal(gate_used(g, WEB), 2); /* the slot of the checks is none of the window */
    assert_int_equal(checks_used(g), 1);
    no_answer(g, d.held);
    a = health_check(g);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    no_answer(g, d.held);
    a = health_check(g); /* over its tokens it is like any other */
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_GATEWAY);
    assert_int_equal(gate_used(g, WEB), 2);
    assert_int_equal(gate_share_used(g, BULK), 2);
}

/* Neither as work nor to the breaker, whichever slot they have. */
static void health_checks_never_count(void **state)
{
    struct gate *g = *state;
    struct decision d[4];

    g->services[WEB].window = 8;
    with_probes(g, 3);
    with_breaker(g);
    for (unsigned i = 0; i < 4; i++) {
        struct attempt a = health_check(g);

        d[i] = gate_offer(g, 0, &a);
        assert_int_equal(d[i].held, i ? SLOT_HEALTH : SLOT_HEALTH | SLOT_RESERVED);
    }
    for (unsigned i = 0; i < 4; i++)
        no_answer(g, d[i].held);
    assert_int_equal(state_of(g), BREAKER_CLOSED);
    assert_int_equal(gate_counts(g, WEB).health, 4);
    assert_int_equal(gate_counts(g, WEB).admitted, 4);
    assert_int_equal(gate_counts(g, WEB).offered, 0);
    assert_int_equal(gate_counts(g, WEB).bad, 0);
    assert_int_equal(gate_counts(g, WEB).ledger.pieces[LEDGER_UNFINISHED], 0);
    assert_int_equal(gate_used(g, WEB), 0);
    assert_int_equal(checks_used(g), 0);
}

static void refused_health_check_keeps_its_token(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 0;
    with_probes(g, 1);
    gate_adopt(g);
    for (unsigned i = 0; i < 10; i++) {
        struct attempt a = health_check(g);

        assert_int_equal(gate_offer(g, 0, &a).reason, i ? REASON_CAPACITY : REASON_NONE);
    }
    gate_done(g, BULK, SLOT_HEALTH | SLOT_RESERVED);
    gate_offer(g, 0, &(struct attempt){.tenant = BULK, .service = WEB, .flags = ATTEMPT_HEALTH});
    assert_int_equal(checks_used(g), 1);
}

/* -- exchange -- */

static struct decision ask_kind(struct gate *g, enum attempt_kind kind, uint8_t held)
{
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.kind = (uint8_t)kind;
    a.held = held;
    return gate_offer(g, 0, &a);
}

static void disconnect(struct gate *g)
{
    const struct slot slot = {.tenant = BULK, .service = WEB};

    admission_disconnect(g->crew.workers[0], &slot);
}

/* A connection takes a place among connections, its first request a slot; or waits, or is refused.
 */
static void exchange_takes_its_slot_with_the_first_request(void **state)
{
    struct gate *g = *state;
    struct admission_service_counters s;
    struct released r;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 1;
    g->services[WEB].connections = 4;
    g->services[WEB].wait = (struct policy_wait){.places = 1, .age_ns = CORE_S};
    g->tenants[BULK].attempts = core_rate(1, 86400, 9);
    gate_adopt(g);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, i < 4 ? 0 : REASON_CONNECTIONS);
    assert_int_equal(gate_used(g, WEB), 0);
    assert_int_equal(gate_share_used(g, BULK), 0);
    assert_int_equal(window_used(&g->crew.shared->services[WEB].connections), 4);
    assert_int_equal(gate_tokens(g, BULK), 6);

    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).verdict, VERDICT_ADMIT);
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).verdict, VERDICT_WAIT);
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).reason, REASON_CAPACITY);
    assert_int_equal(gate_tokens(g, BULK), 7); /* has the token of its connection back */
    g->unstarted = 1;
    gate_check(g);
    gate_done(g, BULK, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.slot.held, 0);
    assert_int_equal(ask_kind(g, ATTEMPT_WORK, 0).verdict, VERDICT_WAIT); /* a further turn */
    s = gate_counts(g, WEB);
    assert_int_equal(s.attempts, 6);
    assert_int_equal(s.offered, 6);
    assert_int_equal(s.connected, 4);
    assert_int_equal(s.admitted, 2);
    assert_int_equal(s.refused[REASON_CAPACITY], 1);
    assert_int_equal(s.refused[REASON_CONNECTIONS], 1);
    for (unsigned i = 0; i < 4; i++)
        disconnect(g);
    assert_int_equal(window_used(&g->crew.shared->services[WEB].connections), 0);
}

/* The trial is the connection with its first request: its first byte closes the breaker. */
static void trial_of_an_exchange_is_its_first_request(void **state)
{
    struct gate *g = *state;
    struct decision d;

    with_breaker(g);
    fail_thrice(g);
    g->services[WEB].unit = UNIT_EXCHANGE;
    gate_adopt(g);
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, REASON_BREAKER);
    g->now_ns += CORE_S;
    assert_int_equal(ask_kind(g, ATTEMPT_FIRST, 0).reason, REASON_BREAKER); /* of an older one */
    d = ask_kind(g, ATTEMPT_CONNECT, 0);
    assert_int_equal(d.held, SLOT_TRIAL);
    assert_int_equal(ask_kind(g, ATTEMPT_CONNECT, 0).reason, REASON_BREAKER);
    d = ask_kind(g, ATTEMPT_FIRST, d.held);
    assert_int_equal(d.held, SLOT_TRIAL);
    answer(g, d.held);
    assert_int_equal(state_of(g), BREAKER_RAMPING);
    g->unstarted = -1; /* the first request of a connection that was never let in */
}

/* The second try of a client is the same work with an exchange, too. */
static void retry_of_an_exchange_counts_once(void **state)
{
    struct gate *g = *state;
    struct attempt connect = gate_attempt(g, BULK, WEB), first = connect;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 0;
    gate_adopt(g);
    connect.kind = ATTEMPT_CONNECT;
    first.kind = ATTEMPT_FIRST;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(gate_offer(g, 0, &connect).verdict, VERDICT_ADMIT);
        assert_int_equal(gate_offer(g, 0, &first).reason, REASON_CAPACITY);
        disconnect(g);
        g->now_ns += CORE_S;
    }
    assert_int_equal(gate_counts(g, WEB).offered, 1);
    assert_int_equal(gate_counts(g, WEB).refused_unique, 1);
    g->services[WEB].window = 1;
    gate_adopt(g);
    assert_int_equal(gate_offer(g, 0, &connect).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_offer(g, 0, &first).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_counts(g, WEB).served_late, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(failures_in_a_row_open_it),
        OVERLOAD_TEST(one_trial_decides_for_all),
        OVERLOAD_TEST(trial_that_finds_no_room_is_none),
        OVERLOAD_TEST(waiters_do_not_go_to_a_failed_backend),
        OVERLOAD_TEST(operator_holds_it_open_or_closed),
        OVERLOAD_TEST(health_check_passes_at_full_overload),
        OVERLOAD_TEST(health_checks_never_count),
        OVERLOAD_TEST(refused_health_check_keeps_its_token),
        OVERLOAD_TEST(exchange_takes_its_slot_with_the_first_request),
        OVERLOAD_TEST(trial_of_an_exchange_is_its_first_request),
        OVERLOAD_TEST(retry_of_an_exchange_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
