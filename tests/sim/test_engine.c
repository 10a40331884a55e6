/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine against models whose numbers are known. */
#include "tests/sim/model.h"

/* -- a burst at four cores: 130/s, 200/s for 10 s, of 170/s -- */

static void start_burst(struct model *m)
{
    model_start(m, 130, 40, 4);
    m->arrivals[0].shape = ARRIVE_STEP;
    m->arrivals[0].factor = 200. / 130;
    m->arrivals[0].from_s = 10;
    m->arrivals[0].for_s = 10;
    model_step(m, 0, 0, model_fixed(4. / 170));
}

static void burst_fills_an_unbounded_queue(void **state)
{
    static struct model m;

    (void)state;
    start_burst(&m);
    model_play(&m);
    assert_metric(&m, "max_queue", 1, 300);
    assert_metric(&m, "drain_s", .001, 7469);
    assert_metric(&m, "max_wait_s", .01, 176);
    assert_metric(&m, "useful", 1, 1300 + 2000 + 2600);
    model_stop(&m);
}

/* So long was a slot held by each, not counting what it waited before; to the microsecond. */
static void assert_held(const struct model *m, double each_us)
{
    double useful = (double)m->record.sum.ends[END_USEFUL];
    double held_us = (double)m->counters.ledger.held_us[LEDGER_USEFUL];

    assert_true(held_us <= useful * (each_us + 1) && held_us >= useful * (each_us - 1));
}

static void burst_is_bounded_by_places(void **state)
{
    /* Places; refused; longest wait in ms; drained after so many ms. */
    static const uint32_t golden[][4] = {
        {17, 283, 102, 392}, {16, 284, 94, 369}, {40, 260, 235, 975}};
    static struct model m;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        start_burst(&m);
        model_gate(&m, 4, golden[i][0], 10 * CORE_S);
        model_play(&m);
        assert_metric(&m, "refused", 1, golden[i][1]);
        assert_metric(&m, "refused_capacity", 1, golden[i][1]);
        assert_metric(&m, "max_wait_s", .001, golden[i][2]);
        assert_metric(&m, "drain_s", .001, golden[i][3]);
        assert_metric(&m, "max_waiting", 1, golden[i][0]);
        assert_int_equal(m.slots_most, 4);
        assert_held(&m, 4e6 / 170);
        model_stop(&m);
    }
}

/* -- tries that nobody waits for any more are work all the same -- */

static void abandoned_work_is_done_again(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 10, 2, 1);
    m.arrivals[0].count = 10;
    model_step(&m, 0, 0, model_fixed(1));
    m.kinds[0].deadline_s = 2.5;
    m.scenario.clients = (struct scenario_clients){.tries = 2, .backoff_s = .1, .backoff_max_s = 1};
    model_play(&m);
    assert_metric(&m, "useful", 1, 2);
    assert_metric(&m, "unfinished", 1, 8);
    assert_metric(&m, "attempts", 1, 18);
    assert_metric(&m, "executed", 1, 18);
    assert_metric(&m, "effects", 1, 10);
    assert_metric(&m, "end_s", .001, 18000);
    model_stop(&m);
}

/* What comes as one ends is of the next, also where the sum of intervals would be rounded. */
static void intervals_begin_with_what_happens_then(void **state)
{
    static struct model m;

    (void)state;
    model_start(&m, 40, 10, 1);
    model_step(&m, 0, 0, model_fixed(.01));
    m.scenario.interval_s = .1;
    model_play(&m);
    assert_int_equal(m.record.n_rows, 100);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(m.record.rows[i].counts.offered, 4);
        assert_true(m.record.rows[i].t_s == i * .1);
    }
    model_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_fills_an_unbounded_queue),
        cmocka_unit_test(burst_is_bounded_by_places),
        cmocka_unit_test(abandoned_work_is_done_again),
        cmocka_unit_test(intervals_begin_with_what_happens_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
