/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients, chains of services and producers against small models whose numbers are known. */
#include "tests/sim/model.h"

/* -- a producer: 100/s for 3 s to two servers of 15 ms each -- */

static void start_producer(struct model *m, double time_s)
{
    model_start(m, 100, 10, 2);
    m->arrivals[0].count = 300;
    model_step(m, 0, 0, model_fixed(time_s));
}

/* At the end of each second. */
static void assert_queues(struct model *m, double time_s, const uint64_t expected[3])
{
    start_producer(m, time_s);
    model_play(m);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(m->record.rows[i].queue, expected[i]);
    assert_metric(m, "useful", 1, 300);
    model_stop(m);
}

static void producer_fills_an_unbounded_queue(void **state)
{
    static struct model m;

    (void)state;
    assert_queues(&m, .03, (const uint64_t[]){33, 66, 99});
    assert_queues(&m, .0313, (const uint64_t[]){36, 72, 108});
}

static void producer_drops(void **state)
{
    static struct model m;

    (void)state;
    start_producer(&m, .03);
    m.stages[0].places = 10;
    model_play(&m);
    assert_metric(&m, "refused_full", 1, 90);
    start_producer(&m, .0313);
    m.stages[0].places = 10;
    model_play(&m);
    assert_metric(&m, "refused_full", 1, 98);
    assert_metric(&m, "max_wait_s", .01, 16);
    model_stop(&m);
}

/* The end of the last interval in which something came. */
static double last_arrival_s(const struct model *m)
{
    double at_s = 0;

    for (uint32_t i = 0; i < m->record.n_rows; i++)
        if (m->record.rows[i].counts.offered)
            at_s = m->record.rows[i].t_s + m->scenario.interval_s;
    return at_s;
}

static void producer_waits(void **state)
{
    static struct model m;

    (void)state;
    start_producer(&m, .0313);
    m.scenario.interval_s = .01;
    m.stages[0].places = 10;
    m.arrivals[0].blocks = true;
    model_play(&m);
    assert_int_equal(llround(last_arrival_s(&m) * 100), 452);
    assert_metric(&m, "useful", 1, 300);
    assert_metric(&m, "max_wait_s", .01, 16);
    assert_metric(&m, "max_queue", 1, 10);
    model_stop(&m);
}

/* Half of what is served fails and is called again: the producer waits with that, too. One is
 * served, two have places, and one waits for one. */
static void producer_waits_with_what_it_calls_again(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 100, 10, 1);
    model_step(&m, 0, 0, model_fixed(.02));
    m.kinds[0].steps[0].tries = 3;
    m.stages[0].fails = .5;
    m.stages[0].places = 2;
    m.arrivals[0].blocks = true;
    model_play(&m);
    assert_metric(&m, "max_open", 1, 4);
    assert_metric(&m, "max_queue", 1, 2);
    assert_metric(&m, "refused_full", 1, 0);
    model_stop(&m);
}

/* -- open and closed loop: four slots, 20 ms, each 25th 200 ms, and a millisecond of overhead -- */

static void start_loop(struct model *m, double rate_per_s)
{
    model_start(m, rate_per_s, 4, 4);
    model_step(m, 0, 0,
               (struct draw){.kind = DRAW_EVERY, .mean_s = .021, .other_s = .201, .every = 25});
}

static void open_loop_shows_the_queue(void **state)
{
    static struct model m;
    static const uint32_t golden[][6] = {{160, 264, 263, 494, 557, 681},
                                         {200, 802, 803, 1536, 1602, 1788}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        start_loop(&m, golden[i][0]);
        model_play(&m);
        assert_metric(&m, "mean_s", .001, golden[i][1]);
        assert_metric(&m, "p50_s", .001, golden[i][2]);
        assert_metric(&m, "p95_s", .001, golden[i][3]);
        assert_metric(&m, "p99_s", .001, golden[i][4]);
        assert_metric(&m, "max_s", .001, golden[i][5]);
        model_stop(&m);
    }
}

static void closed_loop_hides_it(void **state)
{
    static struct model m;

    (void)state;
    start_loop(&m, 0);
    m.arrivals[0].shape = ARRIVE_CLOSED;
    m.arrivals[0].clients = 4;
    m.arrivals[0].think = model_fixed(0);
    model_play(&m);
    assert_metric(&m, "offered", 1, 576); /* 16 server-seconds, of .0282 each, and .2 beyond */
    assert_metric(&m, "p50_s", .001, 21);
    assert_metric(&m, "p99_s", .001, 201);
    assert_metric(&m, "max_s", .001, 201);
    model_stop(&m);
}

/* -- calls that are made again by each service of a chain -- */

static void play_chain(struct model *m, uint32_t depth, uint32_t tries, uint32_t expected)
{
    model_start(m, 1, .5, 1);
    m->scenario.n_stages = 2;
    m->stages[0].servers = 100;
    m->stages[1].fails = 1;
    for (uint32_t i = 0; i < depth; i++) {
        model_step(m, 0, i == depth - 1, model_fixed(.001));
        m->kinds[0].steps[i].tries = tries;
        m->kinds[0].steps[i].holds = i < depth - 1;
    }
    model_play(m);
    assert_metric(m, "executed", 1, expected);
    assert_metric(m, "unfinished", 1, 1);
}

static void retries_multiply(void **state)
{
    static struct model m;

    (void)state;
    play_chain(&m, 3, 2, 8);
    play_chain(&m, 3, 3, 27);
    play_chain(&m, 4, 3, 81);
    m.kinds[0].steps[0].tries = 1;
    model_play(&m);
    assert_metric(&m, "executed", 1, 27);
    m.kinds[0].steps[1].tries = m.kinds[0].steps[3].tries = 1;
    m.kinds[0].steps[2].tries = 2;
    model_play(&m);
    assert_metric(&m, "executed", 1, 2); /* one level alone */
    model_stop(&m);
}

static void retries_of_five_levels(void **state)
{
    static struct model m;

    (void)state;
    play_chain(&m, 5, 3, 243);
    model_stop(&m);
}

static void retries_keep_to_their_budget(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 1000, 1, 100);
    m.stages[0].fails = 1;
    model_step(&m, 0, 0, model_fixed(.001));
    m.kinds[0].steps[0].tries = 3;
    model_play(&m);
    assert_metric(&m, "executed", 1, 3000);
    m.kinds[0].steps[0].budget = .1;
    m.kinds[0].steps[0].reserve = 10;
    model_play(&m);
    assert_metric(&m, "executed", 1, 1109);
    model_stop(&m);
}

/* -- payments: each third answer comes a second late, and who hears nothing for .3 s pays again --
 */

static void play_payments(struct model *m, bool idempotent)
{
    model_start(m, 1, 10, 100);
    m->scenario.clients = (struct scenario_clients){
        .tries = 4, .timeout_s = .3, .backoff_s = .1, .backoff_max_s = 1, .jitter = JITTER_FULL};
    m->stages[0].idempotent = idempotent;
    model_step(m, 0, 0,
               (struct draw){.kind = DRAW_EVERY, .mean_s = .001, .other_s = 1, .every = 3});
    model_play(m);
    assert_metric(m, "useful", 1, 10);
    assert_metric(m, "attempts", 1, 14);
    assert_metric(m, "effects", 1, 10);
}

static void payments_are_made_once(void **state)
{
    static struct model m;

    (void)state;
    play_payments(&m, false);
    assert_metric(&m, "executed", 1, 14);
    play_payments(&m, true);
    assert_metric(&m, "executed", 1, 10);
    model_stop(&m);
}

/* -- a second for work of three, done in parts -- */

static void play_deadline(struct model *m, enum expired expired)
{
    model_start(m, 1, .5, 1);
    m->scenario.n_stages = 2;
    m->scenario.clients.rtt_s = .1;
    m->stages[1].places = 0; /* parts of one work need no place between them */
    m->kinds[0].deadline_s = 1;
    m->kinds[0].expired = expired;
    model_step(m, 0, 0, model_fixed(0));
    m->kinds[0].steps[0].holds = true;
    for (unsigned i = 0; i < 30; i++)
        model_step(m, 0, 1, model_fixed(.1));
    model_play(m);
    assert_metric(m, "unfinished", 1, 1);
}

static void late_work_is_not_gone_on_with(void **state)
{
    static struct model m;

    (void)state;
    play_deadline(&m, EXPIRED_SERVED);
    assert_metric(&m, "executed", 1, 30);
    assert_metric(&m, "end_s", .1, 30);
    play_deadline(&m, EXPIRED_SKIPPED);
    assert_metric(&m, "executed", 1, 10); /* 2 s saved */
    assert_metric(&m, "end_s", .1, 10);
    /* The answer that nobody reads. */
    m.scenario.clients.timeout_s = 10;
    m.kinds[0].expired = EXPIRED_SERVED;
    model_play(&m);
    assert_metric(&m, "late", 1, 1);
    assert_metric(&m, "max_s", .001, 3100);
    model_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(producer_fills_an_unbounded_queue),
        cmocka_unit_test(producer_drops),
        cmocka_unit_test(producer_waits),
        cmocka_unit_test(producer_waits_with_what_it_calls_again),
        cmocka_unit_test(open_loop_shows_the_queue),
        cmocka_unit_test(closed_loop_hides_it),
        cmocka_unit_test(retries_multiply),
        cmocka_unit_test(retries_of_five_levels),
        cmocka_unit_test(retries_keep_to_their_budget),
        cmocka_unit_test(payments_are_made_once),
        cmocka_unit_test(late_work_is_not_gone_on_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
