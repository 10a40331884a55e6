/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/scenario/real.h"
#include "tools/sim/record.h"

#define DEADLINE_S 2.0

static struct scenario_kind kinds[] = {{.name = "plain"}, {.name = "ocr"}};
static struct scenario_arrivals step = {
    .shape = ARRIVE_STEP, .rate_per_s = 1, .factor = 2, .from_s = 10, .for_s = 5, .stop_s = 20};
static struct scenario steady = {
    .path = "steady.conf", .duration_s = 20, .n_kinds = 2, .kinds = kinds};
static struct scenario burst = {.path = "burst.conf",
                                .duration_s = 20,
                                .n_kinds = 2,
                                .kinds = kinds,
                                .n_arrivals = 1,
                                .arrivals = &step};

static void begin(struct record *record, const struct scenario *scenario)
{
    assert_int_equal(record_init(record, scenario), 0);
}

/* A piece of work that took one try. */
static void piece(struct record *record, uint32_t kind, enum record_end end, double latency_s)
{
    record_offered(record);
    record_attempt(record);
    record_end(record, &(struct record_ending){.kind = kind,
                                               .end = end,
                                               .latency_s = latency_s,
                                               .first_s = latency_s + 1,
                                               .deadline_s = DEADLINE_S});
}

static double metric(struct record *record, const char *name)
{
    double value = -1;

    if (!record_metric(record, name, &value))
        fail_msg("no metric %s", name);
    return value;
}

/* Number round_half_even(p (n - 1)): of 0..10 p95 is number 9.5, to the even one 10; of 0..30
 * p95 is number 28.5, to the even one 28. */
static void percentiles_round_half_to_even(void **state)
{
    struct record record;

    (void)state;
    begin(&record, &steady);
    assert_true(isnan(metric(&record, "p50_s")));
    for (uint32_t i = 0; i < 11; i++)
        piece(&record, 0, END_USEFUL, i * 7 % 11 * .125);
    assert_same(metric(&record, "p95_s"), 10 * .125);
    assert_same(metric(&record, "p50_s"), 5 * .125);
    assert_same(metric(&record, "p999_s"), 10 * .125);
    assert_same(metric(&record, "mean_s"), 5 * .125);
    assert_same(metric(&record, "max_s"), 10 * .125);
    for (uint32_t i = 11; i < 31; i++)
        piece(&record, 0, END_USEFUL, i * .125);
    assert_same(metric(&record, "p95_s"), 28 * .125);
    assert_same(metric(&record, "first_p95_s"), 28 * .125 + 1);
    record_free(&record);
}

/* Late and unfinished work stands at the deadline, refused work nowhere. */
static void broken_promises_cost_the_deadline(void **state)
{
    struct record record;

    (void)state;
    begin(&record, &steady);
    piece(&record, 0, END_USEFUL, .5);
    piece(&record, 0, END_LATE, 5);
    piece(&record, 1, END_UNFINISHED, 7);
    piece(&record, 1, END_REFUSED, 0);
    assert_int_equal(record.latency.n, 2);
    assert_int_equal(record.effective.n, 3);
    assert_same(metric(&record, "p99_s"), 5);
    assert_same(metric(&record, "eff_mean_s"), (.5 + 2 * DEADLINE_S) / 3);
    assert_same(metric(&record, "eff_max_s"), DEADLINE_S);
    /* Without a deadline it stands where it was given up. */
    record_end(&record, &(struct record_ending){.kind = 0, .end = END_UNFINISHED, .latency_s = 9});
    assert_same(metric(&record, "eff_max_s"), 9);
    record_free(&record);
}

static void every_piece_ends_once_or_is_open(void **state)
{
    struct record record;

    (void)state;
    begin(&record, &steady);
    piece(&record, 0, END_USEFUL, 1);
    piece(&record, 1, END_USEFUL, 1);
    piece(&record, 1, END_LATE, 3);
    piece(&record, 1, END_UNFINISHED, 3);
    record_offered(&record); /* refused twice, by two */
    record_attempt(&record);
    record_refused(&record, REASON_SHED);
    record_attempt(&record);
    record_stage_full(&record);
    record_end(&record, &(struct record_ending){.kind = 0, .end = END_REFUSED});
    for (int i = 0; i < 3; i++) { /* have not ended */
        record_offered(&record);
        record_attempt(&record);
        record_admitted(&record);
    }
    assert_same(metric(&record, "offered"), 8);
    assert_same(metric(&record, "attempts"), 9);
    assert_same(metric(&record, "admitted"), 3);
    assert_same(metric(&record, "useful"), 2);
    assert_same(metric(&record, "useful.plain"), 1);
    assert_same(metric(&record, "useful.ocr"), 1);
    assert_same(metric(&record, "late.ocr"), 1);
    assert_same(metric(&record, "refused.plain"), 1);
    assert_same(metric(&record, "refused"), 1);
    assert_same(metric(&record, "open"), 3);
    assert_same(metric(&record, "refused_shed"), 1);
    assert_same(metric(&record, "refused_full"), 1);
    assert_same(metric(&record, "refused_rate"), 0);
    assert_same(metric(&record, "refusals"), 2);
    assert_same(metric(&record, "refusal_share"), 2. / 9);
    assert_same(metric(&record, "goodput_per_s"), .1);
    assert_same(metric(&record, "attempts_per_offered"), 9. / 8);
    record_end(&record, &(struct record_ending){.kind = 0, .end = END_UNFINISHED});
    assert_same(metric(&record, "open"), 2);
    assert_same(metric(&record, "max_open"), 3);
    record_free(&record);
}

static void names_that_are_none(void **state)
{
    static const char *const none[] = {"",
                                       "nonsense",
                                       "useful.",
                                       "useful.fax",
                                       "use.plain",
                                       "p5_s",
                                       "p95",
                                       "p95_ms",
                                       "px5_s",
                                       "p00_s",
                                       "eff_",
                                       "eff_p_s",
                                       "refused_",
                                       "late_p95_s",
                                       "useful_per_s",
                                       "useful_per_s@1",
                                       "useful_per_s@2-1",
                                       "useful_per_s@1-2s",
                                       "p95_s_per_s@1-2",
                                       "_per_s@1-2"};
    struct record record;
    double value;

    (void)state;
    begin(&record, &steady);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        if (record_metric(&record, none[i], &value))
            fail_msg("%s is a metric", none[i]);
    }
    for (const char *const *name = record_metrics; *name; name++)
        metric(&record, *name);
    assert_true(record_metric_counts("refused_capacity"));
    assert_true(record_metric_counts("useful.ocr"));
    assert_false(record_metric_counts("eff_p95_s"));
    assert_false(record_metric_counts("useful_per_s@0.5-2"));
    record_free(&record);
}

static void an_interval_has_its_own_counts_and_percentiles(void **state)
{
    const struct record_levels levels = {.shed = .25, .age_s = .5, .instances = 3};
    struct record record;

    (void)state;
    begin(&record, &steady);
    piece(&record, 0, END_USEFUL, .25);
    piece(&record, 0, END_LATE, 4);
    record_queues(&record, .5, 7, 9);
    record_queues(&record, .75, 2, 5);
    record_interval(&record, 1, &levels);
    record_refused(&record, REASON_CAPACITY);
    piece(&record, 0, END_USEFUL, 1);
    record_interval(&record, 2, &(struct record_levels){0});
    record_interval(&record, 2.5, &(struct record_levels){0});
    record_finish(&record, 2.5);

    assert_int_equal(record.n_rows, 3);
    assert_same(record.rows[0].t_s, 0);
    assert_int_equal(record.rows[0].counts.offered, 2);
    assert_int_equal(record.rows[0].counts.ends[END_LATE], 1);
    assert_same(record.rows[0].p50_s, .25); /* number .5, to the even one 0 */
    assert_same(record.rows[0].p99_s, 4);
    assert_same(record.rows[0].eff_p99_s, DEADLINE_S);
    assert_same(record.rows[0].shed, .25);
    assert_same(record.rows[0].age_s, .5);
    assert_int_equal(record.rows[0].instances, 3);
    assert_int_equal(record.rows[0].waiting, 2);
    assert_int_equal(record.rows[0].queue, 5);
    assert_same(record.rows[1].t_s, 1);
    assert_int_equal(record.rows[1].counts.offered, 1);
    assert_int_equal(record.rows[1].counts.refused[REASON_CAPACITY], 1);
    assert_same(record.rows[1].p99_s, 1);
    assert_same(record.rows[2].t_s, 2);
    assert_true(isnan(record.rows[2].p50_s));
    assert_true(isnan(record.rows[2].eff_p95_s));
    assert_same(metric(&record, "max_waiting"), 7);
    assert_same(metric(&record, "max_queue"), 9);
    assert_same(metric(&record, "max_shed"), .25);
    assert_same(metric(&record, "max_instances"), 3);
    assert_same(metric(&record, "end_s"), 2.5);
    assert_same(metric(&record, "useful_per_s@0-1"), 1);
    assert_same(metric(&record, "useful_per_s@0.5-2.5"), .5);
    assert_same(metric(&record, "late_per_s@0-0.5"), 2);
    assert_same(metric(&record, "late_per_s@1-9"), 0);
    assert_same(metric(&record, "refused_capacity_per_s@1-3"), .5);
    record_free(&record);
}

/* The burst ends at 15 s. */
static void drain_counts_from_the_end_of_the_burst(void **state)
{
    struct record record;

    (void)state;
    begin(&record, &burst);
    record_queues(&record, 11, 0, 0);
    record_queues(&record, 14, 3, 1);
    record_queues(&record, 16, 1, 0); /* what is in any queue counts */
    record_queues(&record, 16.5, 0, 1);
    assert_true(isnan(metric(&record, "drain_s")));
    record_queues(&record, 17.5, 0, 0);
    record_queues(&record, 18, 1, 0);
    record_queues(&record, 19, 0, 0);
    assert_same(metric(&record, "drain_s"), 2.5);
    record_free(&record);

    begin(&record, &burst); /* nobody queued when it ended, only later */
    record_queues(&record, 14, 0, 0);
    record_queues(&record, 16, 1, 0);
    record_queues(&record, 17, 0, 0);
    assert_same(metric(&record, "drain_s"), 0);
    record_free(&record);

    begin(&record, &burst); /* never anybody */
    record_finish(&record, 20);
    assert_same(metric(&record, "drain_s"), 0);
    record_free(&record);

    begin(&record, &steady); /* no burst */
    record_queues(&record, 16, 1, 0);
    record_queues(&record, 17, 0, 0);
    record_finish(&record, 20);
    assert_true(isnan(metric(&record, "drain_s")));
    record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_round_half_to_even),
        cmocka_unit_test(broken_promises_cost_the_deadline),
        cmocka_unit_test(every_piece_ends_once_or_is_open),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(an_interval_has_its_own_counts_and_percentiles),
        cmocka_unit_test(drain_counts_from_the_end_of_the_burst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
