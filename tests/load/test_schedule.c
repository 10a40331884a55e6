/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/load/schedule.h"
#include "tools/scenario/draw.h"

#define NS_PER_S UINT64_C(1000000000)

static void even_spacing_is_exact(void **state)
{
    struct schedule_request request = {
        .count = 850, .period_ns = NS_PER_S, .duration_ns = 12 * NS_PER_S, .n_kinds = 1};
    struct schedule schedule;

    (void)state;
    assert_int_equal(schedule_make(&request, &schedule), 0);
    assert_int_equal(schedule.n, 10200);
    assert_int_equal(schedule.arrivals[0].at_ns, 0);
    assert_int_equal(schedule.arrivals[1].at_ns, 1176470);
    assert_int_equal(schedule.arrivals[849].at_ns, 998823529);
    assert_int_equal(schedule.arrivals[850].at_ns, NS_PER_S);
    assert_int_equal(schedule.arrivals[10199].at_ns, 11998823529);
    schedule_free(&schedule);
}

static void slow_rate_over_a_short_time(void **state)
{
    struct schedule_request request = {
        .count = 2, .period_ns = 3600 * NS_PER_S, .duration_ns = NS_PER_S, .n_kinds = 1};
    struct schedule schedule;

    (void)state;
    assert_int_equal(schedule_make(&request, &schedule), 0);
    assert_int_equal(schedule.n, 1);
    schedule_free(&schedule);
}

/* 100 s at 1000/s: the number has standard deviation 316; and a seed gives one schedule. */
static void poisson_has_its_mean_and_follows_its_seed(void **state)
{
    struct schedule_request request = {.count = 1000,
                                       .period_ns = NS_PER_S,
                                       .duration_ns = 100 * NS_PER_S,
                                       .poisson = true,
                                       .seed = 1,
                                       .n_kinds = 1};
    struct schedule one, again, other;
    uint64_t close_together = 0;

    (void)state;
    assert_int_equal(schedule_make(&request, &one), 0);
    assert_int_equal(schedule_make(&request, &again), 0);
    request.seed = 2;
    assert_int_equal(schedule_make(&request, &other), 0);
    assert_in_range(one.n, 100000 - 4 * 316, 100000 + 4 * 316);
    assert_int_equal(one.n, again.n);
    assert_memory_equal(one.arrivals, again.arrivals, one.n * sizeof(*one.arrivals));
    assert_int_not_equal(one.arrivals[0].at_ns, other.arrivals[0].at_ns);
    for (uint64_t i = 1; i < one.n; i++) {
        assert_true(one.arrivals[i].at_ns >= one.arrivals[i - 1].at_ns);
        close_together += one.arrivals[i].at_ns - one.arrivals[i - 1].at_ns < NS_PER_S / 1000;
    }
    /* P(gap < mean) = 1 - 1/e = .632 */
    assert_in_range(close_together * 1000 / one.n, 626, 638);
    schedule_free(&one);
    schedule_free(&again);
    schedule_free(&other);
}

/* Two tenants and three kinds: each tenant asks for each kind. */
static void sources_and_kinds_take_turns(void **state)
{
    static const uint32_t sources[] = {0, 1, 0, 1, 0, 1, 0}, kinds[] = {0, 0, 1, 1, 2, 2, 0};
    struct schedule_request request = {
        .count = 7, .period_ns = NS_PER_S, .duration_ns = NS_PER_S, .n_sources = 2, .n_kinds = 3};
    struct schedule schedule;

    (void)state;
    assert_int_equal(schedule_make(&request, &schedule), 0);
    assert_int_equal(schedule.n, 7);
    for (unsigned int i = 0; i < 7; i++) {
        assert_int_equal(schedule.arrivals[i].source, sources[i]);
        assert_int_equal(schedule.arrivals[i].kind, kinds[i]);
    }
    schedule_free(&schedule);
}

static void too_many_are_refused(void **state)
{
    struct schedule_request request = {
        .count = 4000001, .period_ns = NS_PER_S, .duration_ns = NS_PER_S, .n_kinds = 1};
    struct schedule schedule;

    (void)state;
    assert_int_equal(schedule_make(&request, &schedule), -E2BIG);
}

/* The same rate per minute, too; the first gap is what Python's random.seed(7) and
 * expovariate(340) give. */
static void poisson_is_that_of_a_scenario(void **state)
{
    const struct scenario_arrivals arrivals = {
        .shape = ARRIVE_STEADY, .rate_per_s = 340, .poisson = true, .stop_s = 30};
    struct schedule_request request = {.count = 340 * 60,
                                       .period_ns = 60 * NS_PER_S,
                                       .duration_ns = 30 * NS_PER_S,
                                       .poisson = true,
                                       .seed = 7,
                                       .n_kinds = 1};
    struct random_state draws;
    struct schedule schedule;
    double at_s = 0;

    (void)state;
    assert_int_equal(schedule_make(&request, &schedule), 0);
    random_seed(&draws, 7);
    assert_int_equal(schedule.arrivals[0].at_ns, 1150926);
    for (uint64_t n = 0; n <= schedule.n; n++) {
        at_s = draw_next_arrival_s(&draws, &arrivals, at_s, n);
        if (n < schedule.n)
            assert_int_equal(schedule.arrivals[n].at_ns, (uint64_t)(at_s * 1e9 + 0.5));
    }
    assert_true(at_s > 1e9); /* none: it ends where the scenario does */
    schedule_free(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_spacing_is_exact),
        cmocka_unit_test(slow_rate_over_a_short_time),
        cmocka_unit_test(poisson_has_its_mean_and_follows_its_seed),
        cmocka_unit_test(sources_and_kinds_take_turns),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(poisson_is_that_of_a_scenario),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
