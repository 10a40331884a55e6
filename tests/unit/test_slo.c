/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/slo.h"

#define S    1000000000ull
#define MIN  (60 * S)
#define HOUR (60 * MIN)
#define DAY  (24 * HOUR)

#define THREE_NINES 999000u

/* A service at an even rate, looked at every `step_ns`. */
struct feed {
    struct slo slo;
    struct slo_count count;
    uint64_t now_ns;
};

static void start(struct feed *f, uint32_t objective_ppm)
{
    /* Neither time nor counts begin at zero. */
    f->now_ns = 17 * DAY + 12345;
    f->count = (struct slo_count){777, 800};
    slo_init(&f->slo, objective_ppm, f->count, f->now_ns);
}

/* `bad` of `total` in every step. */
static void run(struct feed *f, uint64_t for_ns, uint64_t step_ns, uint64_t bad, uint64_t total)
{
    for (uint64_t ns = 0; ns < for_ns; ns += step_ns) {
        f->now_ns += step_ns;
        f->count.total += total;
        f->count.good += total - bad;
        slo_feed(&f->slo, f->count, f->now_ns);
    }
}

/* 30 days at 1000 in 10 s are 2 592 000 000 pieces of work; 0.1 % of them may be bad: 2 592 000. */
#define BUDGET 2592000u

/* Spends `part` of the month's budget evenly over the window, after three clean days. */
static double burn_of(double part, enum slo_window window, uint64_t window_ns)
{
    static struct feed f;
    uint64_t cell_ns = window_ns / SLO_CELLS, total = cell_ns / S * 1000;

    start(&f, THREE_NINES);
    run(&f, 3 * DAY, 72 * MIN, 0, 72 * 60 * 1000);
    run(&f, window_ns, cell_ns, (uint64_t)(part * BUDGET / SLO_CELLS + .5), total);
    return slo_burn(&f.slo, window);
}

static void published_burn_rates(void **state)
{
    (void)state;
    assert_float_equal(burn_of(.02, SLO_1H, HOUR), 14.4, 1e-12);
    assert_float_equal(burn_of(.05, SLO_6H, 6 * HOUR), 6, 1e-12);
    assert_float_equal(burn_of(.10, SLO_3D, 72 * HOUR), 1, 1e-12);
    assert_float_equal(slo_dry_s(14.4), 50 * 3600, 1e-9);
    assert_float_equal(slo_dry_s(1), 30 * 86400, 1e-9);
    assert_float_equal(slo_budget_s(THREE_NINES, SLO_PERIOD_S), 43.2 * 60, 1e-9);
}

/* At the threshold there is no alarm, one bad piece of work more in each window makes it. */
static void alarms_above_the_threshold_only(void **state)
{
    static struct feed f;

    (void)state;
    start(&f, THREE_NINES);
    run(&f, 3 * DAY, 72 * MIN, 0, 72 * 60 * 1000);
    run(&f, HOUR, 10 * S, 144, 10000);
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 14.4, 1e-12);
    assert_float_equal(slo_burn(&f.slo, SLO_5M), 14.4, 1e-12);
    assert_int_not_equal(slo_alert(&f.slo), SLO_BLAZING);
    run(&f, 10 * S, 10 * S, 145, 10000);
    assert_int_equal(slo_alert(&f.slo), SLO_BLAZING);
}

static void both_windows_must_exceed(void **state)
{
    static struct feed f;

    (void)state;
    start(&f, THREE_NINES);
    run(&f, 3 * DAY, 10 * S, 0, 10000);
    assert_int_equal(slo_alert(&f.slo), SLO_QUIET);
    /* A whole minute bad: 200 in the short window, but 16.7 only in the hour after 60 s. */
    run(&f, 50 * S, 10 * S, 10000, 10000);
    assert_float_equal(slo_burn(&f.slo, SLO_5M), 1000 * 50. / 300, 1e-9);
    /* The hour's window moves by two minutes: these 50 s are in its newest cell, all but full. */
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 1000 * 5. / (29 * 12 + 5), 1e-9);
    assert_int_not_equal(slo_alert(&f.slo), SLO_BLAZING);
    run(&f, 10 * S, 10 * S, 10000, 10000);
    assert_int_equal(slo_alert(&f.slo), SLO_BLAZING);
    /* Clean again for 5 minutes: the hour still burns, the short window is over it. */
    run(&f, 300 * S, 10 * S, 0, 10000);
    assert_true(slo_burn(&f.slo, SLO_1H) > 14.4);
    assert_float_equal(slo_burn(&f.slo, SLO_5M), 0, 0);
    assert_int_equal(slo_alert(&f.slo), SLO_QUIET);
}

static void slower_pairs_have_their_own_alarm(void **state)
{
    static struct feed f;

    (void)state;
    start(&f, THREE_NINES);
    run(&f, 3 * DAY, 10 * S, 0, 10000);
    run(&f, 7 * HOUR, 10 * S, 70, 10000);
    assert_int_equal(slo_alert(&f.slo), SLO_BURNING);
    run(&f, 6 * HOUR, 10 * S, 20, 10000);
    assert_float_equal(slo_burn(&f.slo, SLO_6H), 2, 1e-12);
    /* In three days: 7 h at 7 and 6 h at 2, of 72. */
    assert_float_equal(slo_burn(&f.slo, SLO_3D), (7 * 7 + 6 * 2) / 72., .02);
    assert_int_equal(slo_alert(&f.slo), SLO_QUIET);
    run(&f, 8 * HOUR, 10 * S, 20, 10000);
    assert_int_equal(slo_alert(&f.slo), SLO_CREEPING);
}

static void what_has_not_been_seen_counts_as_good(void **state)
{
    static struct feed f;

    (void)state;
    start(&f, THREE_NINES);
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 0, 0);
    assert_int_equal(slo_alert(&f.slo), SLO_QUIET);
    run(&f, 10 * S, 10 * S, 1, 4); /* a noisy start */
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 250 * 10. / 3600, 1e-12);
    assert_int_equal(slo_alert(&f.slo), SLO_QUIET);
    run(&f, 290 * S, 10 * S, 4, 4); /* and a bad one */
    assert_int_equal(slo_alert(&f.slo), SLO_BLAZING);
}

static void windows_forget_what_is_older(void **state)
{
    static const uint64_t length_ns[] = {5 * MIN, 30 * MIN, HOUR, 6 * HOUR, 3 * DAY};

    (void)state;
    for (unsigned w = 0; w < SLO_WINDOWS; w++) {
        static struct feed f;
        uint64_t cell_ns = length_ns[w] / SLO_CELLS;

        start(&f, 990000);
        run(&f, 3 * DAY, 72 * MIN, 0, 100);
        run(&f, cell_ns, cell_ns, 30, 100); /* one bad cell */
        run(&f, length_ns[w] - cell_ns, cell_ns, 0, 100);
        assert_float_equal(slo_burn(&f.slo, w), 100 * 30. / (SLO_CELLS * 100), 1e-12);
        run(&f, cell_ns, cell_ns, 0, 100);
        assert_float_equal(slo_burn(&f.slo, w), 0, 0);
        assert_int_equal(f.slo.rings[w].sum.total, SLO_CELLS * 100);
        /* After a long silence nothing is left. */
        f.now_ns += 30 * DAY;
        slo_feed(&f.slo, f.count, f.now_ns);
        assert_int_equal(f.slo.rings[w].sum.total, 0);
        assert_float_equal(slo_burn(&f.slo, w), 0, 0);
    }
}

static void counts_and_clocks_that_go_back_do_no_harm(void **state)
{
    static struct feed f;
    struct slo_count less = {3, 5};

    (void)state;
    start(&f, THREE_NINES);
    run(&f, HOUR, MIN, 0, 100);
    slo_feed(&f.slo, less, f.now_ns + MIN);
    assert_int_equal(f.slo.rings[SLO_3D].sum.total, 6000);
    slo_feed(&f.slo, (struct slo_count){3, 15}, f.now_ns); /* earlier than the last */
    assert_int_equal(f.slo.now_ns, f.now_ns + MIN);
    assert_int_equal(f.slo.rings[SLO_3D].sum.total, 6010);
    assert_int_equal(f.slo.rings[SLO_3D].sum.good, 6000);
}

static void indicators_leave_quota_refusals_to_their_tenant(void **state)
{
    struct slo_count service = slo_of_service(1000, 300, 690), tenant = slo_of_tenant(1000, 690);

    (void)state;
    assert_int_equal(service.good, 690);
    assert_int_equal(service.total, 700);
    assert_int_equal(tenant.good, 690);
    assert_int_equal(tenant.total, 1000);
    assert_int_equal(slo_of_service(3, 4, 0).total, 0); /* counters read at different moments */
}

static void objective_changes_act_on_what_was_counted(void **state)
{
    static struct feed f;

    (void)state;
    start(&f, THREE_NINES);
    run(&f, HOUR, 10 * S, 10, 1000);
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 10, 1e-12);
    slo_set_objective(&f.slo, 990000);
    assert_float_equal(slo_burn(&f.slo, SLO_1H), 1, 1e-12);
}

static void windows_and_alerts_have_names(void **state)
{
    (void)state;
    assert_string_equal(slo_window_name(SLO_5M), "5m");
    assert_string_equal(slo_window_name(SLO_30M), "30m");
    assert_string_equal(slo_window_name(SLO_1H), "1h");
    assert_string_equal(slo_window_name(SLO_6H), "6h");
    assert_string_equal(slo_window_name(SLO_3D), "3d");
    assert_string_equal(slo_alert_name(SLO_QUIET), "quiet");
    assert_string_equal(slo_alert_name(SLO_CREEPING), "creeping");
    assert_string_equal(slo_alert_name(SLO_BURNING), "burning");
    assert_string_equal(slo_alert_name(SLO_BLAZING), "blazing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_burn_rates),
        cmocka_unit_test(alarms_above_the_threshold_only),
        cmocka_unit_test(both_windows_must_exceed),
        cmocka_unit_test(slower_pairs_have_their_own_alarm),
        cmocka_unit_test(what_has_not_been_seen_counts_as_good),
        cmocka_unit_test(windows_forget_what_is_older),
        cmocka_unit_test(counts_and_clocks_that_go_back_do_no_harm),
        cmocka_unit_test(indicators_leave_quota_refusals_to_their_tenant),
        cmocka_unit_test(objective_changes_act_on_what_was_counted),
        cmocka_unit_test(windows_and_alerts_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
