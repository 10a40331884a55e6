/* SPDX-License-Identifier: BSD-3-Clause */
/* When arrivals come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/scenario/real.h"
#include "tools/scenario/draw.h"

/* Computed by the FaxRx model's own function, to the last bit. */
static void decaying_rates_are_those_of_the_model(void **state)
{
    static const struct {
        double factor, t_s, rate_per_s;
    } golden[] = {
        {1.5, 0., 0x1.0ae147ae147aep+2},
        {1.5, 1234.5, 0x1.83df5b7519fc2p+1},
        {5., 0., 0x1.bccccccccccccp+3},
        {5., .36692816089021624, 0x1.bc9e63439a68dp+3},
        {5., 1234.5, 0x1.320cc9fd5db32p+2},
        {5., 3599.999, 0x1.6d6e37b5a7560p+1},
        {5., 3600., 2.78},
        {5., 43201.25, 0x1.bc2ec93d6b399p+3},
        {10., 1234.5, 0x1.d2366013ac6c8p+2},
        {1., 1234.5, 2.78},
    };
    struct scenario_arrivals a = {.shape = ARRIVE_DECAY,
                                  .rate_per_s = 2.78,
                                  .decay = 5.,
                                  .width_s = 3600.,
                                  .every_s = 43200.};

    (void)state;
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        a.factor = golden[i].factor;
        assert_same(arrivals_rate(&a, golden[i].t_s), golden[i].rate_per_s);
    }
    a.factor = 10.;
    a.from_s = 100.;
    assert_same(arrivals_rate(&a, 99.), 2.78);
    assert_same(arrivals_rate(&a, 100.), 27.799999999999997);
}

/* The model's at ten times the load. */
static void poisson_arrivals_are_those_of_the_model(void **state)
{
    static const double golden_s[] = {.036692816089021627, .03760396719691594, .049173721956511,
                                      .05826011446902335, .10623456752761237};
    const struct scenario_arrivals a = {.shape = ARRIVE_DECAY,
                                        .poisson = true,
                                        .rate_per_s = 2.78,
                                        .factor = 10.,
                                        .decay = 5.,
                                        .width_s = 3600.,
                                        .every_s = 43200.,
                                        .stop_s = 7200.};
    struct random_state r;
    double t_s = 0.;

    (void)state;
    random_seed(&r, 42);
    for (uint64_t n = 0; n < 5; n++) {
        t_s = draw_next_arrival_s(&r, &a, t_s, n);
        assert_same(t_s, golden_s[n]);
    }
}

static double even_s(const struct scenario_arrivals *arrivals, uint64_t n)
{
    return draw_next_arrival_s(NULL, arrivals, NAN, n); /* by its number alone */
}

/* 130/s, and 200/s from 10 s to 20 s. */
static const struct scenario_arrivals burst = {.shape = ARRIVE_STEP,
                                               .rate_per_s = 130.,
                                               .factor = 200. / 130.,
                                               .from_s = 10.,
                                               .for_s = 10.,
                                               .stop_s = 25.};

static void even_arrivals_follow_a_step(void **state)
{
    (void)state;
    assert_same(arrivals_rate(&burst, 9.999), 130.);
    assert_same(arrivals_rate(&burst, 10.), 200.);
    assert_same(arrivals_rate(&burst, 20.), 130.);
    assert_same(even_s(&burst, 0), 0.);
    assert_same(even_s(&burst, 1), 1. / 130.);
    assert_same(even_s(&burst, 1300), 10.); /* its first, and it comes when it begins */
    assert_same(even_s(&burst, 1301), 10. + 1. / 200.);
    assert_same(even_s(&burst, 3300), 20.); /* the first behind it */
    assert_same(even_s(&burst, 3301), 20. + 1. / 130.);
    assert_same(even_s(&burst, 3300 + 649), 20. + 649. / 130.);
    assert_same(even_s(&burst, 3300 + 650), INFINITY); /* it would come at the stop */
}

/* Four servers of 4/170 s and a queue: the figures of the model with these arrivals. */
static void burst_of_even_arrivals(void **state)
{
    static const unsigned golden[][2] = {{17, 283}, {16, 284}, {40, 260}};

    (void)state;
    for (int g = 0; g < 3; g++) {
        double ends_s[4] = {0};    /* of those that were served last, by turns */
        double begins_s[64] = {0}; /* of those that were admitted last */
        unsigned refused = 0, served = 0;
        double t_s;

        for (uint64_t n = 0; (t_s = even_s(&burst, n)) < INFINITY; n++) {
            unsigned waiting = 0;

            while (waiting < served && waiting < 64 && begins_s[(served - 1 - waiting) % 64] > t_s)
                waiting++;
            if (waiting == golden[g][0]) {
                refused++;
                continue;
            }
            begins_s[served % 64] = fmax(t_s, ends_s[served % 4]);
            ends_s[served % 4] = begins_s[served % 64] + 4. / 170.;
            served++;
        }
        assert_int_equal(refused, golden[g][1]);
    }
}

static void on_and_off(void **state)
{
    struct scenario_arrivals a = {.shape = ARRIVE_ON_OFF,
                                  .rate_per_s = 5.,
                                  .factor = 2.,
                                  .from_s = 1.,
                                  .on_s = 1.,
                                  .off_s = 3.,
                                  .stop_s = 1e6};

    (void)state;
    assert_same(arrivals_rate(&a, .5), 5.);
    assert_same(arrivals_rate(&a, 1.), 10.);
    assert_same(arrivals_rate(&a, 2.), 0.);
    assert_same(arrivals_rate(&a, 5.), 10.);
    assert_same(even_s(&a, 4), .8);
    assert_same(even_s(&a, 5), 1.);
    assert_same(even_s(&a, 14), 1.9);
    assert_same(even_s(&a, 15), 5.);
    assert_same(even_s(&a, 5 + 10 * 1000 + 3), 4001.3); /* a thousand periods later */
    a.rest = .2;
    assert_same(even_s(&a, 15), 2.);
    assert_same(even_s(&a, 17), 4.);
    assert_same(even_s(&a, 18), 5.);
}

static uint64_t count_until(const struct scenario_arrivals *arrivals, double *t_s, uint64_t *n,
                            struct random_state *r, double until_s)
{
    uint64_t before = *n;

    while (*t_s < until_s) {
        *t_s = draw_next_arrival_s(r, arrivals, *t_s, *n);
        ++*n;
    }
    return *n - before;
}

/* Sparse arrivals before a burst must not sleep through it. */
static void poisson_arrivals_follow_the_rate_exactly(void **state)
{
    const struct scenario_arrivals a = {.shape = ARRIVE_ON_OFF,
                                        .poisson = true,
                                        .rate_per_s = 1.,
                                        .factor = 100.,
                                        .rest = .01,
                                        .on_s = 1.,
                                        .off_s = 9.,
                                        .stop_s = 1e9};
    struct random_state r;
    uint64_t n = 0;
    double t_s = 0.;

    (void)state;
    random_seed(&r, 1);
    /* 1000 periods of 100.09 each: four standard deviations are 1266. */
    assert_in_range(count_until(&a, &t_s, &n, &r, 10000.), 100090 - 1266, 100090 + 1266);
}

static void listed_limited_and_blocked(void **state)
{
    static const double times_s[] = {.5, .5, 2.};
    struct scenario_arrivals trace = {
        .shape = ARRIVE_TRACE, .n_trace = 3, .trace_s = times_s, .stop_s = 9.};
    struct scenario_arrivals a = {.rate_per_s = 4., .start_s = 2., .stop_s = 9., .count = 3};

    (void)state;
    assert_same(even_s(&trace, 1), .5);
    assert_same(even_s(&trace, 2), 2.);
    assert_same(even_s(&trace, 3), INFINITY);
    assert_same(even_s(&a, 0), 2.);
    assert_same(even_s(&a, 2), 2.5);
    assert_same(even_s(&a, 3), INFINITY);
    a.blocks = true; /* the one before came late */
    assert_same(draw_next_arrival_s(NULL, &a, 2.875, 2), 3.125);
}

static void the_last_burst(void **state)
{
    struct scenario_arrivals a[2] = {
        {.shape = ARRIVE_STEP, .factor = 5., .from_s = 10., .for_s = 30., .stop_s = 60.},
        {.shape = ARRIVE_DECAY,
         .factor = 5.,
         .width_s = 2.,
         .every_s = 20.,
         .from_s = 3.,
         .stop_s = 60.},
    };
    const struct scenario scenario = {.n_arrivals = 2, .arrivals = a};

    (void)state;
    assert_same(scenario_burst_end_s(&scenario), 45.); /* 3, 23, 43; the next would be 63 */
    a[1].stop_s = 44.;
    assert_same(scenario_burst_end_s(&scenario), 44.);
    a[1].factor = 1.;
    assert_same(scenario_burst_end_s(&scenario), 40.);
    a[0].from_s = 60.;
    assert_same(scenario_burst_end_s(&scenario), 0.);
    a[0] =
        (struct scenario_arrivals){.shape = ARRIVE_ON_OFF, .on_s = 1., .off_s = 4., .stop_s = 10.};
    assert_same(scenario_burst_end_s(&scenario), 6.);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decaying_rates_are_those_of_the_model),
        cmocka_unit_test(poisson_arrivals_are_those_of_the_model),
        cmocka_unit_test(even_arrivals_follow_a_step),
        cmocka_unit_test(burst_of_even_arrivals),
        cmocka_unit_test(on_and_off),
        cmocka_unit_test(poisson_arrivals_follow_the_rate_exactly),
        cmocka_unit_test(listed_limited_and_blocked),
        cmocka_unit_test(the_last_burst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
