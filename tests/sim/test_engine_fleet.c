/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances that are lost, stopped, slow, restarted and added; and the order of queues. */
#include "tests/sim/model.h"

static void happens(struct model *m, struct scenario_event event)
{
    m->events[m->scenario.n_events++] = event;
}

/* Ten take turns at 50/s; each has work for .1 s of .2. */
static void start_ten(struct model *m)
{
    model_start(m, 50, 10, 1);
    m->stages[0].instances = 10;
    model_step(m, 0, 0, model_fixed(.1));
}

static void one_of_ten_is_lost_with_its_work(void **state)
{
    static struct model m;

    (void)state;
    start_ten(&m);
    happens(&m, (struct scenario_event){.kind = EVENT_LOSE, .at_s = 5.05, .count = 1, .for_s = 2});
    model_play(&m);
    assert_metric(&m, "offered", 1, 500);
    assert_metric(&m, "unfinished", 1, 1);
    assert_metric(&m, "max_queue", 1, 0);
    assert_int_equal(m.record.rows[4].instances, 10);
    assert_int_equal(m.record.rows[5].instances, 9);
    assert_int_equal(m.record.rows[7].instances, 10);
    m.scenario.clients.tries = 2;
    model_play(&m);
    assert_metric(&m, "useful", 1, 500);
    assert_metric(&m, "attempts", 1, 501);
    model_stop(&m);
}

/* The call that kept a server there is made again, elsewhere. */
static void callers_of_a_lost_instance_call_again(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 1, .5, 1);
    m.scenario.n_stages = 2;
    m.stages[0].instances = 2;
    model_step(&m, 0, 0, model_fixed(.1));
    model_step(&m, 0, 1, model_fixed(1));
    m.kinds[0].steps[0].holds = true;
    m.kinds[0].steps[0].tries = 2;
    happens(&m, (struct scenario_event){.kind = EVENT_LOSE, .at_s = .6, .count = 1});
    model_play(&m);
    assert_metric(&m, "useful", 1, 1);
    assert_metric(&m, "executed", 1, 2);
    assert_metric(&m, "max_s", .001, 1700);
    m.kinds[0].steps[0].tries = 1;
    model_play(&m);
    assert_metric(&m, "unfinished", 1, 1);
    model_stop(&m);
}

/* 10/s of .05 s. */
static void start_one(struct model *m)
{
    model_start(m, 10, 4, 1);
    model_step(m, 0, 0, model_fixed(.05));
}

static void stopped_work_goes_on_where_it_was(void **state)
{
    static struct model m;

    (void)state;
    start_one(&m);
    happens(&m, (struct scenario_event){.kind = EVENT_STOP, .at_s = 1.02, .for_s = 1});
    model_play(&m);
    assert_metric(&m, "max_s", .001, 1050);
    assert_metric(&m, "max_queue", 1, 10);
    assert_metric(&m, "useful", 1, 40);
    model_stop(&m);
}

static void slow_work_is_slow_for_a_while(void **state)
{
    static struct model m;

    (void)state;
    start_one(&m);
    happens(&m, (struct scenario_event){.kind = EVENT_SLOW, .at_s = .99, .factor = 10, .for_s = 1});
    model_play(&m);
    assert_metric(&m, "max_s", .001, 900); /* of 1.1 s, which began at 1.5 */
    assert_metric(&m, "useful", 1, 40);
    model_stop(&m);
}

/* Twice what it can do: its checks wait a second and more, the second one that fails ends it. In
 * 2.25 s it has done 22, and so again after its restart. */
static void overload_restarts_what_is_checked(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 20, 6, 1);
    model_step(&m, 0, 0, model_fixed(.1));
    m.stages[0].liveness =
        (struct scenario_liveness){.every_s = 1, .timeout_s = .25, .failures = 2, .restart_s = 1};
    model_play(&m);
    assert_metric(&m, "restarts", 1, 2);
    assert_metric(&m, "useful", 1, 44);
    assert_metric(&m, "unfinished", 1, 76);
    model_stop(&m);
}

static void play_scaler(struct model *m, bool by_demand, const uint32_t instances[6])
{
    model_start(m, 15, 6, 1);
    model_step(m, 0, 0, model_fixed(.1));
    m->scenario.scaler = (struct scenario_scaler){
        .every_s = 1, .delay_s = 1.5, .target = .5, .by_demand = by_demand, .min = 1, .max = 8};
    model_play(m);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(m->record.rows[i].instances, instances[i]);
}

/* Busy servers say no more than that they are busy; what is asked for says how many are needed. */
static void scaler_adds_after_its_delay(void **state)
{
    static struct model m;

    (void)state;
    play_scaler(&m, false, (const uint32_t[]){1, 1, 2, 2, 3, 4});
    play_scaler(&m, true, (const uint32_t[]){1, 1, 3, 3, 3, 3});
    model_stop(&m);
}

/* Two at once, of which the gate takes one, and the other when it comes again: 80/s of 10 ms, for
 * which one server is enough. 120 tries a second would need another. */
static void scaler_counts_what_comes_again_once(void **state)
{
    static double times_s[240];
    static struct model m;

    (void)state;
    for (unsigned i = 0; i < 240; i++)
        times_s[i] = (i / 2 + .2) / 40;
    model_start(&m, 1, 3, 1);
    m.arrivals[0].shape = ARRIVE_TRACE;
    m.arrivals[0].trace_s = times_s;
    m.arrivals[0].n_trace = 240;
    model_step(&m, 0, 0, model_fixed(.01));
    model_gate(&m, 1, 0, 100 * CORE_MS);
    m.scenario.clients =
        (struct scenario_clients){.tries = 2, .backoff_s = .0125, .backoff_max_s = 1};
    m.scenario.scaler =
        (struct scenario_scaler){.every_s = 1, .target = 1, .by_demand = true, .min = 1, .max = 8};
    model_play(&m);
    assert_metric(&m, "refused_capacity", 1, 120);
    assert_metric(&m, "useful", 1, 240);
    /* The gate has to see some clients before it knows one again. */
    assert_int_equal(m.counters.served_late, 106);
    assert_metric(&m, "max_instances", 1, 1);
    model_stop(&m);
}

static void scaler_takes_away_what_is_idle(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 15, 3, 1);
    m.stages[0].instances = 8;
    model_step(&m, 0, 0, model_fixed(.1));
    m.scenario.scaler = (struct scenario_scaler){.every_s = 1, .target = .5, .min = 1, .max = 8};
    model_play(&m);
    assert_metric(&m, "useful", 1, 45);
    assert_int_equal(m.record.rows[0].instances, 8);
    assert_int_equal(m.record.rows[1].instances, 3);
    model_stop(&m);
}

/* Four at once for one server of a second, the last one in the greatest hurry. */
static void play_order(struct model *m, enum stage_order order)
{
    static const double times_s[] = {0, .1, .2}, urgent_s[] = {.3};

    model_start(m, 1, 1, 1);
    m->scenario.n_arrivals = m->scenario.n_kinds = 2;
    for (unsigned i = 0; i < 2; i++) {
        m->arrivals[i].shape = ARRIVE_TRACE;
        m->arrivals[i].trace_s = i ? urgent_s : times_s;
        m->arrivals[i].n_trace = i ? 1 : 3;
        m->arrivals[i].kinds[0] = i;
        m->kinds[i].deadline_s = i ? 10 : 20;
        model_step(m, i, 0, model_fixed(1));
    }
    m->stages[0].order = order;
    model_play(m);
}

static void queues_have_an_order(void **state)
{
    static const double latency_s[][4] = {
        [STAGE_FIFO] = {1, 1.9, 2.8, 3.7},
        [STAGE_LIFO] = {1, 1.7, 2.8, 3.9},
        [STAGE_DEADLINE] = {1, 1.7, 2.9, 3.8},
    };
    static struct model m;

    (void)state;
    for (unsigned order = STAGE_FIFO; order <= STAGE_DEADLINE; order++) {
        play_order(&m, (enum stage_order)order);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(llround(m.record.latency.s[i] * 1000),
                             llround(latency_s[order][i] * 1000));
        model_stop(&m);
    }
}

static void who_waited_too_long_is_dropped(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 10, 1, 1);
    model_step(&m, 0, 0, model_fixed(.4));
    m.stages[0].age_s = .5;
    model_play(&m);
    /* Those of 0, .1, .3 and .7 begin at 0, .4, .8 and 1.2: no more than .5 old. */
    assert_metric(&m, "useful", 1, 4);
    assert_metric(&m, "dropped_aged", 1, 6);
    assert_metric(&m, "max_wait_s", .001, 500);
    model_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_ten_is_lost_with_its_work),
        cmocka_unit_test(callers_of_a_lost_instance_call_again),
        cmocka_unit_test(stopped_work_goes_on_where_it_was),
        cmocka_unit_test(slow_work_is_slow_for_a_while),
        cmocka_unit_test(overload_restarts_what_is_checked),
        cmocka_unit_test(scaler_adds_after_its_delay),
        cmocka_unit_test(scaler_counts_what_comes_again_once),
        cmocka_unit_test(scaler_takes_away_what_is_idle),
        cmocka_unit_test(queues_have_an_order),
        cmocka_unit_test(who_waited_too_long_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
