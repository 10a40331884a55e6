/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attempt is told under overload, in which order, and what it costs. */
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

/* What the control thread would publish. */
static void shed(struct gate *g, uint32_t p)
{
    shared_web(g)->advice.shed[CLASS_BULK] = p;
    shared_web(g)->advice.stamped_ns = g->now_ns;
}

static void promise(struct gate *g, uint64_t interval_ns, uint64_t service_ns)
{
    shared_web(g)->advice.promise = (struct promise){interval_ns, service_ns, 0};
}

static void no_samples(struct gate *g)
{
    shared_web(g)->advice.promise.sample_after_ns = UINT64_MAX;
}

static uint32_t *budget(struct gate *g, uint32_t tenant)
{
    return &g->crew.shared->tenants[tenant].retries;
}

/* Its client tried before, in vain. */
static void remember(struct gate *g, const struct attempt *a)
{
    admission_refuse(g->crew.workers[0], a, REASON_TABLE, g->now_ns);
}

/* -- order -- */

static const enum reason order[] = {
    REASON_GATEWAY, REASON_DEADLINE, REASON_BREAKER,  REASON_ERLANGS,
    REASON_RATE,    REASON_PACKETS,  REASON_BITS,     REASON_SHARE,
    REASON_RETRIES, REASON_SHED,     REASON_CAPACITY, REASON_NONE,
};

/* Takes the cause of a refusal away. */
static void lift(struct gate *g, enum reason reason)
{
    struct policy_tenant *t = &g->tenants[BULK];

    switch (reason) {
    case REASON_GATEWAY:
        g->crew.shared->gateway.shed[CLASS_BULK] = 0;
        break;
    case REASON_DEADLINE:
        promise(g, 0, 0);
        break;
    case REASON_BREAKER:
        g->services[WEB].breaker.mode = POLICY_BREAKER_AUTO;
        shared_web(g)->breaker.word = 0;
        break;
    case REASON_ERLANGS:
        t->milli_erlangs = POLICY_ERLANGS_UNLIMITED;
        break;
    case REASON_RATE:
        t->attempts = CORE_UNLIMITED;
        break;
    case REASON_PACKETS:
        t->packets = CORE_UNLIMITED;
        break;
    case REASON_BITS:
        t->bits = CORE_UNLIMITED;
        break;
    case REASON_SHARE:
        t->window = 1;
        break;
    case REASON_RETRIES:
        *budget(g, BULK) = RETRY_COST;
        break;
    case REASON_SHED:
        shed(g, 0);
        break;
    default:
        g->services[WEB].window = 1;
    }
    gate_adopt(g);
}

/* All causes at once; each one taken away shows the next. */
static void reasons_come_in_the_order_of_decisions(void **state)
{
    struct gate *g = *state;
    struct policy_tenant *t = &g->tenants[BULK];
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->crew.shared->gateway =
        (struct gateway_advice){.shed[CLASS_BULK] = UINT32_MAX, .stamped_ns = g->now_ns};
    g->services[WEB].deadline_ns = CORE_S;
    promise(g, 0, 2 * CORE_S);
    no_samples(g);
    g->services[WEB].breaker.mode = POLICY_BREAKER_OPEN;
    t->milli_erlangs = 0;
    t->attempts = t->packets = t->bits = core_rate(0, 1, 0);
    t->window = 0;
    shed(g, UINT32_MAX);
    g->services[WEB].window = 0;
    gate_adopt(g);
    *budget(g, BULK) = RETRY_COST - 1;
    remember(g, &a);
    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        assert_int_equal(gate_offer(g, 0, &a).reason, order[i]);
        lift(g, order[i]);
    }
    assert_int_equal(gate_used(g, WEB), 1);
    assert_int_equal(gate_counts(g, WEB).offered, 1); /* all the same work */
    assert_int_equal(gate_counts(g, WEB).attempts, 1 + sizeof(order) / sizeof(order[0]));
}

/* Load that came as far as shedding is the service's: not what its tenants' limits kept away. */
static void quota_refusals_are_no_load(void **state)
{
    struct gate *g = *state;

    g->tenants[BULK].window = 2;
    gate_adopt(g);
    gate_fill(g, BULK, 2);
    for (unsigned i = 0; i < 18; i++)
        assert_int_equal(gate_ask(g, BULK).reason, REASON_SHARE);
    assert_int_equal(gate_counts(g, WEB).reached[CLASS_BULK], 2);
    assert_int_equal(gate_counts(g, WEB).refused_unique, 0);
}

/* -- a refusal spends nothing -- */

/* Has the tenant all it had: tokens for ten attempts, ten packets and ten frames of 60 bytes? */
static void assert_nothing_spent(struct gate *g)
{
    unsigned passed = 0;

    assert_int_equal(gate_tokens(g, BULK), 10);
    assert_int_equal(gate_share_used(g, BULK), 0);
    assert_int_equal(gate_waiting(g, WEB), 0);
    while (admission_charge(g->crew.workers[0], BULK, 60, g->now_ns).verdict == VERDICT_ADMIT)
        passed++;
    assert_int_equal(passed, 10);
}

static void limit_bulk(struct gate *g)
{
    g->tenants[BULK].attempts = core_rate(1, 86400, 9);
    g->tenants[BULK].packets = core_rate(1, 86400, 9);
    g->tenants[BULK].bits = core_rate(8, 1, 600);
    gate_adopt(g);
}

static void refusal_by_shedding_spends_nothing(void **state)
{
    struct gate *g = *state;

    limit_bulk(g);
    shed(g, UINT32_MAX);
    for (unsigned i = 0; i < 31; i++)
        assert_int_equal(gate_ask(g, BULK).reason, REASON_SHED);
    assert_nothing_spent(g);
}

static void refusal_for_want_of_room_spends_nothing(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->services[WEB].window = 0;
    limit_bulk(g);
    remember(g, &a);
    for (unsigned i = 0; i < 31; i++)
        assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    assert_int_equal(retry_tenths(budget(g, BULK)), RETRY_CAP);
    assert_nothing_spent(g);
}

/* A waiter has paid; it gets all back when its time is over, when it leaves, and when it is told to
 * go. */
static void waiting_in_vain_spends_nothing(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct released r;
    struct decision d;

    g->services[WEB].window = 0;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = 100 * CORE_MS};
    limit_bulk(g);
    remember(g, &a);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    assert_int_equal(gate_tokens(g, BULK), 9);
    assert_int_equal(retry_tenths(budget(g, BULK)), RETRY_CAP - RETRY_COST);
    g->now_ns += 100 * CORE_MS - 1;
    assert_false(gate_poll(g, 0, &r));
    g->now_ns++;
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_CAPACITY);
    assert_int_equal(r.cookie, a.cookie);
    assert_int_equal(r.waited_ns, 100 * CORE_MS);
    assert_int_equal(retry_tenths(budget(g, BULK)), RETRY_CAP);

    d = gate_offer(g, 0, &a);
    assert_int_equal(d.verdict, VERDICT_WAIT);
    assert_true(gate_cancel(g, 0, d.waiter, &a));
    assert_false(gate_cancel(g, 0, d.waiter, &a));
    assert_int_equal(gate_counts(g, WEB).cancelled, 1);

    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    assert_int_equal(admission_dismiss(g->crew.workers[0], g->now_ns, &r, 1), 1);
    assert_int_equal(r.decision.reason, REASON_GATEWAY);
    assert_int_equal(retry_tenths(budget(g, BULK)), RETRY_CAP);
    assert_int_equal(gate_counts(g, WEB).waited, 3);
    assert_nothing_spent(g);
}

/* A first request's packet is metered as its connection's; refused at once, after a wait or while
 * its client leaves it was not forwarded, and costs nothing. Its SYN was. */
static void first_request_in_vain_spends_nothing(void **state)
{
    struct gate *g = *state;
    struct admission *adm = g->crew.workers[0];
    struct attempt a = gate_attempt(g, BULK, WEB);
    const uint64_t *forwarded = admission_tenant_counters(adm, BULK)->packets;
    struct released r;
    struct decision d;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 0;
    limit_bulk(g);
    a.kind = ATTEMPT_CONNECT;
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_int_equal(forwarded[DIRECTION_IN], 1);
    a.kind = ATTEMPT_FIRST;
    for (unsigned i = 0; i < 31; i++) {
        g->services[WEB].wait.places = i % 3;
        g->services[WEB].wait.age_ns = 100 * CORE_MS;
        gate_adopt(g);
        assert_int_equal(admission_meter(adm, BULK, a.ip_bytes, g->now_ns).reason, REASON_NONE);
        d = gate_offer(g, 0, &a);
        assert_int_equal(d.verdict, i % 3 ? VERDICT_WAIT : VERDICT_REFUSE);
        g->unstarted--;
        if (i % 3 == 1)
            assert_true(gate_cancel(g, 0, d.waiter, &a));
        g->now_ns += 100 * CORE_MS;
        assert_int_equal(gate_poll(g, 0, &r), i % 3 == 2);
    }
    g->unstarted++; /* its connection */
    assert_int_equal(forwarded[DIRECTION_IN], 1);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(admission_charge(adm, BULK, 60, g->now_ns).verdict, VERDICT_ADMIT);
    assert_int_equal(admission_charge(adm, BULK, 60, g->now_ns).reason, REASON_PACKETS);
    assert_int_equal(forwarded[DIRECTION_IN], 10);
}

/* One that is let in is counted once, at once or when its turn comes. */
static void first_request_is_forwarded_once(void **state)
{
    struct gate *g = *state;
    struct admission *adm = g->crew.workers[0];
    const struct admission_tenant_counters *t = admission_tenant_counters(adm, BULK);
    struct released r;

    g->services[WEB].unit = UNIT_EXCHANGE;
    g->services[WEB].window = 1;
    g->services[WEB].wait = (struct policy_wait){.places = 1, .age_ns = CORE_S};
    limit_bulk(g);
    for (unsigned i = 0; i < 2; i++) {
        struct attempt a = gate_attempt(g, BULK, WEB);

        a.kind = ATTEMPT_CONNECT;
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        a.kind = ATTEMPT_FIRST;
        assert_int_equal(admission_meter(adm, BULK, a.ip_bytes, g->now_ns).reason, REASON_NONE);
        assert_int_equal(gate_offer(g, 0, &a).verdict, i ? VERDICT_WAIT : VERDICT_ADMIT);
        assert_int_equal(t->packets[DIRECTION_IN], 2 + i);
    }
    gate_done(g, BULK, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(t->packets[DIRECTION_IN], 4);
    assert_int_equal(t->bytes[DIRECTION_IN], 240);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(admission_charge(adm, BULK, 60, g->now_ns).verdict, VERDICT_ADMIT);
    assert_int_equal(admission_charge(adm, BULK, 60, g->now_ns).reason, REASON_PACKETS);
}

/* -- the same attempt, the same work -- */

/* SYN at 0, 1 and 3 s, of which the first two are refused: one piece of work, two attempts, three
 * packets, one slot. */
static void case_B01_refused_syn_that_comes_again(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct admission_service_counters s;

    a.flags = ATTEMPT_SYN;
    g->services[WEB].window = 0;
    limit_bulk(g);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    g->services[WEB].window = 1;
    gate_adopt(g);
    g->now_ns += CORE_S;
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY); /* the same answer */
    assert_int_equal(gate_tokens(g, BULK), 10);
    s = gate_counts(g, WEB);
    assert_int_equal(s.attempts, 1);
    assert_int_equal(s.attempt_packets, 2);
    assert_int_equal(s.refused[REASON_CAPACITY], 1);
    g->now_ns += 2 * CORE_S;
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    s = gate_counts(g, WEB);
    assert_int_equal(s.offered, 1);
    assert_int_equal(s.attempts, 2);
    assert_int_equal(s.attempt_packets, 3);
    assert_int_equal(s.admitted, 1);
    assert_int_equal(s.refused_unique, 1);
    assert_int_equal(s.served_late, 1);
    assert_int_equal(gate_used(g, WEB), 1);
    assert_int_equal(gate_tokens(g, BULK), 9);
    assert_int_equal(admission_tenant_counters(g->crew.workers[0], BULK)->offered, 1);
}

/* The ports of a refused attempt are soon another's: its SYN has a number of its own. */
static void a_new_connection_of_the_same_ports_is_an_attempt_of_its_own(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    a.flags = ATTEMPT_SYN;
    a.isn = 7;
    g->services[WEB].window = 0;
    gate_adopt(g);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    g->services[WEB].window = 1;
    gate_adopt(g);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    a.isn = 8;
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_int_equal(gate_counts(g, WEB).attempts, 2);
    assert_int_equal(gate_counts(g, WEB).attempt_packets, 3);
}

/* 1000 calls of three tries against a backend that fails all of them. */
static uint64_t tries_that_reach_the_backend(struct gate *g)
{
    uint64_t reached = 0;

    for (unsigned call = 0; call < 1000; call++) {
        struct attempt a = gate_attempt(g, NORMAL, WEB);

        for (unsigned try = 0; try < 3; try++) {
            struct decision d = gate_offer(g, 0, &a);
            const struct slot slot = {NORMAL, WEB, 0, d.held};
            const struct ending ending = {.outcome = OUTCOME_RESET, .client = a.client};

            if (d.verdict == VERDICT_ADMIT) {
                reached++;
                admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
            } else {
                assert_int_equal(d.reason, REASON_RETRIES);
            }
        }
        g->now_ns += CORE_MS;
    }
    assert_int_equal(gate_counts(g, WEB).offered, 1000);
    assert_int_equal(gate_counts(g, WEB).attempts, 3000);
    return reached;
}

static void retries_are_bounded_while_overloaded(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    shed(g, 1); /* hits nobody of class normal */
    assert_int_equal(tries_that_reach_the_backend(g), 1109);
    assert_int_equal(gate_counts(g, WEB).refused[REASON_RETRIES], 1891);
}

static void retries_are_free_while_there_is_room(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    assert_int_equal(tries_that_reach_the_backend(g), 3000);
    assert_int_equal(retry_tenths(budget(g, NORMAL)), RETRY_CAP);
}

/* -- erlangs -- */

/* One erlang, ten seconds of it at once: debited when work ends, refused while nothing is left. */
static void erlangs_are_debited_when_work_ends(void **state)
{
    struct gate *g = *state;
    const struct slot slot = {.tenant = BULK, .service = WEB};
    struct ending ending = {.outcome = OUTCOME_FINISHED, .held_ns = 10 * CORE_S - 1};

    g->tenants[BULK].milli_erlangs = 1000;
    limit_bulk(g);
    gate_fill(g, BULK, 3);
    admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
    gate_fill(g, BULK, 1); /* a nanosecond is left */
    ending.held_ns = 1;
    admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_ERLANGS);
    assert_int_equal(gate_tokens(g, BULK), 6);
    assert_int_equal(gate_share_used(g, BULK), 2);
    assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_ADMIT);
    ending.held_ns = 2 * CORE_S;
    admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
    g->now_ns += 2 * CORE_S;
    assert_int_equal(gate_ask(g, BULK).reason, REASON_ERLANGS);
    g->now_ns++;
    gate_fill(g, BULK, 1);
}

/* -- deadline -- */

/* What is left of a deadline counts from the first try. */
static void deadline_counts_from_the_first_try(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->services[WEB].deadline_ns = CORE_S;
    gate_adopt(g);
    promise(g, 100 * CORE_MS, 500 * CORE_MS);
    no_samples(g);
    remember(g, &a);
    g->now_ns += 398 * CORE_MS; /* the memory is exact to 1.05 ms */
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    g->now_ns += 3 * CORE_MS;
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_DEADLINE);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_ADMIT); /* another's is whole */
    promise(g, 500 * CORE_MS, 500 * CORE_MS);
    no_samples(g);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_ADMIT);
    promise(g, 500 * CORE_MS + 1, 500 * CORE_MS);
    no_samples(g);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_DEADLINE);
}

static void one_hopeless_attempt_a_second_is_a_sample(void **state)
{
    struct gate *g = *state;
    unsigned passed = 0;

    g->services[WEB].deadline_ns = CORE_S;
    gate_adopt(g);
    promise(g, 0, 2 * CORE_S);
    for (unsigned i = 0; i < 1000; i++) {
        passed += gate_ask(g, BULK).verdict == VERDICT_ADMIT;
        g->now_ns += 10 * CORE_MS;
    }
    assert_int_equal(passed, 10);
    assert_int_equal(gate_counts(g, WEB).refused[REASON_DEADLINE], 990);
}

/* A waiter that could not be done in time any more is told so when a slot comes free. */
static void waiter_that_is_too_late_gets_no_slot(void **state)
{
    struct gate *g = *state;
    struct released r;

    g->services[WEB].deadline_ns = 200 * CORE_MS;
    g->services[WEB].window = 1;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = 10 * CORE_S};
    gate_adopt(g);
    promise(g, 0, 50 * CORE_MS);
    gate_fill(g, BULK, 1);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    g->now_ns += CORE_MS;
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    g->now_ns += 150 * CORE_MS;
    assert_false(gate_poll(g, 0, &r));
    gate_done(g, BULK, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_DEADLINE); /* 151 + 50 ms */
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT); /* 150 + 50 ms */
    assert_int_equal(r.slot.held, 0);
    assert_false(gate_poll(g, 0, &r));
}

/* A retry cannot be told from other work where few addresses are all there is. */
static void behind_few_addresses_nobody_retries(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->services[WEB].window = 0;
    gate_adopt(g);
    g->crew.shared->services[WEB].advice.by_attempt = 1;
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    assert_int_equal(gate_counts(g, WEB).offered, 200);
    g->crew.shared->services[WEB].advice.by_attempt = 0;
    for (unsigned i = 0; i < 11; i++)
        assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    assert_int_equal(gate_counts(g, WEB).offered, 200);
}

/* Also when it waits: its deadline is that of its first try. */
static void waiting_retry_has_what_is_left(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct released r;

    g->services[WEB].deadline_ns = 200 * CORE_MS;
    g->services[WEB].window = 1;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    remember(g, &a);
    gate_fill(g, NORMAL, 1);
    g->now_ns += 150 * CORE_MS;
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    g->now_ns += 51 * CORE_MS;
    gate_done(g, NORMAL, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.reason, REASON_DEADLINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(reasons_come_in_the_order_of_decisions),
        OVERLOAD_TEST(quota_refusals_are_no_load),
        OVERLOAD_TEST(refusal_by_shedding_spends_nothing),
        OVERLOAD_TEST(refusal_for_want_of_room_spends_nothing),
        OVERLOAD_TEST(waiting_in_vain_spends_nothing),
        OVERLOAD_TEST(first_request_in_vain_spends_nothing),
        OVERLOAD_TEST(first_request_is_forwarded_once),
        OVERLOAD_TEST(case_B01_refused_syn_that_comes_again),
        OVERLOAD_TEST(a_new_connection_of_the_same_ports_is_an_attempt_of_its_own),
        OVERLOAD_TEST(retries_are_bounded_while_overloaded),
        OVERLOAD_TEST(retries_are_free_while_there_is_room),
        OVERLOAD_TEST(erlangs_are_debited_when_work_ends),
        OVERLOAD_TEST(deadline_counts_from_the_first_try),
        OVERLOAD_TEST(one_hopeless_attempt_a_second_is_a_sample),
        OVERLOAD_TEST(waiter_that_is_too_late_gets_no_slot),
        OVERLOAD_TEST(waiting_retry_has_what_is_left),
        OVERLOAD_TEST(behind_few_addresses_nobody_retries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
