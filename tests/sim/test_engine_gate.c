/* SPDX-License-Identifier: BSD-3-Clause */
/* What tries meet at the gate, to the millisecond. */
#include "tests/sim/model.h"

static void start_listed(struct model *m, const double *times_s, uint64_t n, double time_s)
{
    model_start(m, 1, 10, 100);
    m->arrivals[0].shape = ARRIVE_TRACE;
    m->arrivals[0].trace_s = times_s;
    m->arrivals[0].n_trace = n;
    model_step(m, 0, 0, model_fixed(time_s));
}

/* The interval of 1 ms in which a counter of the record first counted something. */
static unsigned first_row(const struct model *m, size_t counter)
{
    unsigned i = 0;

    while (i < m->record.n_rows &&
           !*(const uint64_t *)((const char *)&m->record.rows[i].counts + counter))
        i++;
    return i;
}

/* The first gets its reply after a round trip for the connection and one for the request. The
 * second finds the slot taken when its request comes, and hears of it a round trip later. */
static void exchange_takes_its_slot_with_the_request(void **state)
{
    static const double times_s[] = {0, .01};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 2, .1);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.service.unit = UNIT_EXCHANGE;
    m.service.connections = 2;
    m.scenario.clients = (struct scenario_clients){
        .tries = 2, .backoff_s = .2, .backoff_max_s = 1, .jitter = JITTER_NONE, .rtt_s = .02};
    model_play(&m);
    assert_metric(&m, "attempts", 1, 3);
    assert_metric(&m, "refused_capacity", 1, 1);
    assert_metric(&m, "useful", 1, 2);
    assert_int_equal(m.counters.connected, 3);
    assert_int_equal(m.counters.ledger.held_us[LEDGER_USEFUL], 200000);
    assert_metric(&m, "max_s", .001, 140);
    assert_metric(&m, "first_max_s", .001, 380);
    model_stop(&m);
}

static void connection_that_is_given_up_leaves_nothing(void **state)
{
    static const double times_s[] = {0};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 1, .1);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.service.unit = UNIT_EXCHANGE;
    m.scenario.clients = (struct scenario_clients){.tries = 1, .timeout_s = .01, .rtt_s = .02};
    m.given_up_opening = 1;
    model_play(&m);
    assert_metric(&m, "unfinished", 1, 1);
    assert_int_equal(m.counters.connected, 1);
    model_stop(&m);
}

/* The slot is held from the SYN to the last FIN: a round trip to the request, the work, and one
 * from the reply. Who comes just before it is free is refused. */
static void connection_keeps_its_slot_for_two_round_trips(void **state)
{
    static const double times_s[] = {0, .2234, .2236};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 3, .0235);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.scenario.clients.rtt_s = .1;
    model_play(&m);
    assert_metric(&m, "useful", 1, 2);
    assert_metric(&m, "refused_capacity", 1, 1);
    assert_metric(&m, "max_s", .0001, 2235);
    assert_int_equal(m.counters.ledger.held_us[LEDGER_USEFUL], 2 * 223500);
    assert_int_equal(m.counters.outcomes[OUTCOME_FINISHED], 2);
    model_stop(&m);
}

/* Its reply says that the work failed, and its connection ends as any other. */
static void connection_that_failed_keeps_its_slot_as_well(void **state)
{
    static const double times_s[] = {0, .15, .2236};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 3, .0235);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.scenario.clients.rtt_s = .1;
    m.stages[0].fails = 1;
    model_play(&m);
    assert_metric(&m, "unfinished", 1, 2);
    assert_metric(&m, "refused_capacity", 1, 1);
    assert_metric(&m, "executed", 1, 2);
    assert_int_equal(m.counters.outcomes[OUTCOME_FINISHED], 2);
    assert_int_equal(m.counters.ledger.pieces[LEDGER_USEFUL], 0);
    model_stop(&m);
}

/* 4 / 223.5 ms: 17.9/s, of 400/s, for ten seconds and what waits then. */
static void connections_come_through_at_the_rate_that_is_planned(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 400, 10, 4);
    model_step(&m, 0, 0, model_fixed(.0235));
    model_gate(&m, 4, 16, 10 * CORE_S);
    m.scenario.clients.rtt_s = .1;
    model_play(&m);
    assert_metric(&m, "useful", 1, 4 * 45 + 16);
    assert_int_equal(m.slots_most, 4);
    model_stop(&m);
}

/* Given up before it asks, it leaves at once and unserved; given up later, with the reply. */
static void connection_that_is_given_up_closes_at_once(void **state)
{
    static const double before_s[] = {0, .049, .051}, after_s[] = {0, .199, .201};
    static struct model m;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        start_listed(&m, i ? after_s : before_s, 3, .1);
        model_gate(&m, 1, 0, 100 * CORE_MS);
        m.scenario.clients =
            (struct scenario_clients){.tries = 1, .timeout_s = i ? .15 : .05, .rtt_s = .1};
        model_play(&m);
        /* In the first round the news of the refusal comes too late. */
        assert_metric(&m, "unfinished", 1, i ? 2 : 3);
        assert_metric(&m, "refused_capacity", 1, 1);
        assert_metric(&m, "executed", 1, i ? 2 : 0);
        assert_int_equal(m.counters.outcomes[OUTCOME_ABORTED], i ? 0 : 2);
    }
    model_stop(&m);
}

static void who_waits_is_refused_at_its_age(void **state)
{
    static const double times_s[] = {0, .52}; /* between two steps of the control loop */
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 2, 1);
    model_gate(&m, 1, 1, 100 * CORE_MS);
    m.scenario.interval_s = .001;
    model_play(&m);
    assert_metric(&m, "refused_capacity", 1, 1);
    assert_in_range(first_row(&m, offsetof(struct record_counts, refused[REASON_CAPACITY])), 619,
                    620);
    assert_int_equal(m.counters.waited, 1);
    model_stop(&m);
}

static void who_leaves_gives_its_place_back(void **state)
{
    static const double times_s[] = {0, .5, .56};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 3, .6);
    model_gate(&m, 1, 1, 100 * CORE_MS);
    m.scenario.clients.timeout_s = .05;
    model_play(&m);
    assert_metric(&m, "unfinished", 1, 3); /* the third waits until .6 and is given up at .61 */
    assert_metric(&m, "admitted", 1, 2);
    assert_int_equal(m.counters.cancelled, 1);
    assert_int_equal(m.counters.waited, 2);
    model_stop(&m);
}

static double second_try_s(struct model *m)
{
    model_play(m);
    assert_metric(m, "attempts", 1, 3);
    return model_metric(m, "first_max_s");
}

/* Only the refusal of a request that may be answered by HTTP says when to come again. */
static void clients_obey_retry_after(void **state)
{
    static const double times_s[] = {0, .2};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 2, .3);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.service.unit = UNIT_EXCHANGE;
    m.service.turn = TURN_HTTP;
    m.scenario.clients = (struct scenario_clients){
        .tries = 2, .backoff_s = .25, .backoff_max_s = 1, .retry_after = true};
    assert_int_equal(llround(second_try_s(&m) * 1000), 1300);
    assert_metric(&m, "refused_capacity", 1, 1);
    m.scenario.clients.retry_after = false;
    assert_int_equal(llround(second_try_s(&m) * 1000), 550);
    m.scenario.clients.retry_after = true;
    m.service.turn = TURN_RST;
    assert_int_equal(llround(second_try_s(&m) * 1000), 550);
    m.service.unit = UNIT_CONNECTION;
    m.service.turn = TURN_HTTP;
    assert_int_equal(llround(second_try_s(&m) * 1000), 550);
    model_stop(&m);
}

/* The connection of an exchange that is over its quota is refused by RST, whatever `turn` is. */
static void quota_of_a_connection_says_nothing_of_when(void **state)
{
    static const double times_s[] = {0, .2};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 2, .1);
    model_gate(&m, 4, 0, 100 * CORE_MS);
    m.service.unit = UNIT_EXCHANGE;
    m.service.turn = TURN_HTTP;
    m.tenant.attempts = core_rate(60, 60, 0);
    m.scenario.clients = (struct scenario_clients){
        .tries = 2, .backoff_s = .9, .backoff_max_s = 1, .retry_after = true};
    assert_int_equal(llround(second_try_s(&m) * 1000), 1000); /* 1.1 if told to wait for 1 s */
    assert_metric(&m, "refused_rate", 1, 1);
    assert_metric(&m, "useful", 1, 2);
    model_stop(&m);
}

/* The second of three finds the slot taken, hears nothing and gives up after .25 s. */
static void play_silence(struct model *m, enum policy_unit unit)
{
    static const double times_s[] = {0, .01, 1};

    start_listed(m, times_s, 3, .1);
    model_gate(m, 1, 0, 100 * CORE_MS);
    m->service.unit = unit;
    m->service.refusal = REFUSAL_DROP;
    m->scenario.clients = (struct scenario_clients){
        .tries = 2, .timeout_s = .25, .backoff_s = .05, .backoff_max_s = 1};
}

static void who_is_refused_in_silence_waits_for_its_timeout(void **state)
{
    static struct model m;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        play_silence(&m, (enum policy_unit[]){UNIT_CONNECTION, UNIT_EXCHANGE, UNIT_DATAGRAM}[i]);
        if (i == 2)
            m.service.refusal = REFUSAL_RST; /* which a datagram has not */
        model_play(&m);
        assert_metric(&m, "refused_capacity", 1, 1);
        assert_metric(&m, "attempts", 1, 4);
        assert_metric(&m, "useful", 1, 3);
        assert_metric(&m, "first_max_s", .001, 400); /* .25 + .05 + .1 */
        assert_int_equal(m.counters.unanswered, i < 2 ? 1 : 0);
        m.scenario.clients.tries = 1;
        model_play(&m);
        assert_metric(&m, "unfinished", 1, 1);
        assert_metric(&m, "refused", 1, 0);
        model_stop(&m);
    }
}

/* Of four that are refused at once two are told: they come again after .05 s and are refused once
 * more, in silence as the other two. */
static void refuse_rate_ends_in_silence(void **state)
{
    static const double times_s[] = {0, 0, 0, 0, 0};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 5, .1);
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.service.refuse_rate = core_rate(2, 3600, 1);
    m.scenario.clients = (struct scenario_clients){
        .tries = 2, .timeout_s = .25, .backoff_s = .05, .backoff_max_s = 1};
    model_play(&m);
    assert_int_equal(m.counters.answered, 2);
    assert_metric(&m, "attempts", 1, 9);
    assert_metric(&m, "refused_capacity", 1, 7);
    assert_metric(&m, "useful", 1, 2);
    assert_metric(&m, "unfinished", 1, 3);
    model_stop(&m);
}

static void nobody_begins_after_giving_up(void **state)
{
    static const double times_s[] = {0};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 1, .1);
    m.stages[0].fails = 1;
    m.scenario.clients =
        (struct scenario_clients){.tries = 100, .backoff_s = .5, .backoff_max_s = .5};
    m.scenario.clients.give_up_s = 2;
    model_play(&m);
    assert_metric(&m, "attempts", 1, 4); /* at 0, .6, 1.2, 1.8 s */
    assert_metric(&m, "unfinished", 1, 1);
    model_stop(&m);
}

/* Three of ten reach a service that is not there. */
static void breaker_hears_of_what_is_lost(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 10, 1, 4);
    model_step(&m, 0, 0, model_fixed(.01));
    model_gate(&m, 4, 0, 100 * CORE_MS);
    m.service.breaker = (struct policy_breaker){
        .failures = 3, .open_ns = CORE_S, .open_max_ns = CORE_S, .response_ns = CORE_S};
    m.scenario.n_events = 1;
    m.events[0] = (struct scenario_event){.kind = EVENT_LOSE, .count = 1};
    model_play(&m);
    assert_metric(&m, "unfinished", 1, 3);
    assert_metric(&m, "refused_breaker", 1, 7);
    assert_int_equal(m.counters.bad, 3);
    assert_int_equal(m.counters.outcomes[OUTCOME_RESET], 3);
    model_stop(&m);
}

/* Hanging work is a failure when its first byte is overdue, and is heard of once. */
static void breaker_hears_of_silence(void **state)
{
    static const double times_s[] = {0, 0, 0, 2};
    static struct model m;

    (void)state;
    start_listed(&m, times_s, 4, 5);
    model_gate(&m, 4, 0, 100 * CORE_MS);
    m.service.breaker = (struct policy_breaker){
        .failures = 3, .open_ns = 60 * CORE_S, .open_max_ns = 60 * CORE_S, .response_ns = CORE_S};
    model_play(&m);
    assert_metric(&m, "useful", 1, 3);
    assert_metric(&m, "refused_breaker", 1, 1);
    assert_int_equal(m.counters.bad, 3);
    assert_int_equal(m.counters.good, 0);
    model_stop(&m);
}

static void play_overload(struct model *m, uint64_t seed)
{
    model_start(m, 510, 20, 4);
    m->arrivals[0].poisson = true;
    m->arrivals[0].population = 100;
    m->kinds[0].deadline_s = 1;
    model_step(m, 0, 0, model_exponential(4. / 170));
    model_gate(m, 4, 16, 100 * CORE_MS);
    m->service.unit = UNIT_EXCHANGE; /* whose slot is held for the work alone */
    m->service.turn = TURN_HTTP;
    m->service.deadline_ns = CORE_S;
    m->service.shed.ceiling_ppm = 980000;
    m->service.capacity = core_rate(170, 1, 0);
    m->scenario.workers = 4;
    m->scenario.seed = seed;
    m->scenario.clients = (struct scenario_clients){.tries = 3,
                                                    .backoff_s = .05,
                                                    .backoff_max_s = 1,
                                                    .jitter = JITTER_FULL,
                                                    .retry_after = true,
                                                    .rtt_s = .001};
    model_play(m);
    assert_int_equal(m->slots_most, 4);
    assert_true(m->record.sum.refused[REASON_SHED] > 1000);
    assert_true(model_metric(m, "goodput_per_s") > .92 * 170); /* though most come too soon again */
}

static bool is_same(const struct record *a, const struct record *b)
{
    return memcmp(&a->sum, &b->sum, sizeof(a->sum)) == 0 && a->n_rows == b->n_rows &&
           memcmp(a->rows, b->rows, a->n_rows * sizeof(*a->rows)) == 0 &&
           a->latency.n == b->latency.n &&
           memcmp(a->latency.s, b->latency.s, a->latency.n * sizeof(double)) == 0;
}

static void runs_are_the_same_by_their_seed(void **state)
{
    static struct model a, b, c;

    (void)state;
    play_overload(&a, 42);
    play_overload(&b, 42);
    play_overload(&c, 43);
    assert_true(is_same(&a.record, &b.record));
    assert_false(is_same(&a.record, &c.record));
    model_stop(&a);
    model_stop(&b);
    model_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchange_takes_its_slot_with_the_request),
        cmocka_unit_test(connection_that_is_given_up_leaves_nothing),
        cmocka_unit_test(connection_keeps_its_slot_for_two_round_trips),
        cmocka_unit_test(connection_that_failed_keeps_its_slot_as_well),
        cmocka_unit_test(connections_come_through_at_the_rate_that_is_planned),
        cmocka_unit_test(connection_that_is_given_up_closes_at_once),
        cmocka_unit_test(who_waits_is_refused_at_its_age),
        cmocka_unit_test(who_leaves_gives_its_place_back),
        cmocka_unit_test(clients_obey_retry_after),
        cmocka_unit_test(quota_of_a_connection_says_nothing_of_when),
        cmocka_unit_test(who_is_refused_in_silence_waits_for_its_timeout),
        cmocka_unit_test(refuse_rate_ends_in_silence),
        cmocka_unit_test(nobody_begins_after_giving_up),
        cmocka_unit_test(breaker_hears_of_what_is_lost),
        cmocka_unit_test(breaker_hears_of_silence),
        cmocka_unit_test(runs_are_the_same_by_their_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
