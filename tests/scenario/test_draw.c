/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers against CPython's `random`, and distributions against their moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/scenario/real.h"
#include "tools/scenario/draw.h"

static void uniform_is_that_of_python(void **state)
{
    struct random_state r;

    (void)state;
    random_seed(&r, 42);
    assert_same(random_uniform(&r), .6394267984578837);
    assert_same(random_uniform(&r), .025010755222666936);
    for (int i = 2; i < 999; i++)
        random_uniform(&r); /* generates the words anew, three times */
    assert_same(random_uniform(&r), .8554501933059546);

    random_seed(&r, 0);
    assert_same(random_uniform(&r), .8444218515250481);
    random_seed(&r, (1ull << 40) + 5); /* two digits */
    assert_same(random_uniform(&r), .5043802970418443);
    assert_same(random_uniform(&r), .2686044399723282);
}

/* The first draws of the FaxRx model: gap, gap, kind, call. */
static void draws_come_in_the_order_of_the_model(void **state)
{
    const struct draw call = {.kind = DRAW_EXPONENTIAL, .mean_s = 90., .rate_per_s = 1. / 90.};
    struct random_state r;

    (void)state;
    random_seed(&r, 42);
    assert_same(random_exponential(&r, 2.78), .36692816089021624);
    assert_same(random_exponential(&r, 2.78), .009111093180841329);
    assert_same(random_uniform(&r), .27502931836911926);
    assert_same(draw_time_s(&r, &call, 0), 22.732756710310216);
}

static void times_follow_their_formulas(void **state)
{
    const struct draw fixed = {.kind = DRAW_FIXED, .mean_s = .02};
    const struct draw lognormal = {.kind = DRAW_LOGNORMAL, .mean_s = .02, .cv = 1.5};
    const struct draw pareto = {.kind = DRAW_PARETO, .mean_s = .02, .shape = 1.5};
    struct random_state r;

    (void)state;
    random_seed(&r, 7);
    assert_same(draw_time_s(&r, &fixed, 0), .02); /* and draws no number */
    assert_near(draw_time_s(&r, &lognormal, 0), .01942935574100009, 1e-15);
    assert_near(draw_time_s(&r, &pareto, 0), .013447372452428797, 1e-15);
}

static double mean_of(const struct draw *draw, double *square)
{
    struct random_state r;
    double sum = 0., squares = 0.;
    const int n = 400000;

    random_seed(&r, 1);
    for (int i = 0; i < n; i++) {
        double t_s = draw_time_s(&r, draw, (uint64_t)i);

        sum += t_s;
        squares += t_s * t_s;
    }
    *square = squares / n;
    return sum / n;
}

/* Four standard deviations of the mean of 400,000 are .0063 cv of it. */
static void means_and_spreads_are_those_asked_for(void **state)
{
    const struct draw lognormal = {.kind = DRAW_LOGNORMAL, .mean_s = 2., .cv = 1.};
    const struct draw pareto = {.kind = DRAW_PARETO, .mean_s = 2., .shape = 3.};
    const struct draw two = {.kind = DRAW_TWO_POINT, .mean_s = 1., .other_s = 11., .share = .1};
    double square, mean;

    (void)state;
    mean = mean_of(&lognormal, &square);
    assert_near(mean, 2., .0126);
    assert_near(sqrt(square - mean * mean) / mean, 1., .03);
    assert_near(mean_of(&pareto, &square), 2., .0126 / sqrt(3.));
    assert_near(mean_of(&two, &square), 2., .0126 * 1.5);
}

static void every_third_is_the_other(void **state)
{
    const struct draw draw = {.kind = DRAW_EVERY, .mean_s = 1., .other_s = 5., .every = 3};
    struct random_state r;

    (void)state;
    random_seed(&r, 1);
    for (uint64_t n = 0; n < 9; n++)
        assert_same(draw_time_s(&r, &draw, n), n == 2 || n == 5 || n == 8 ? 5. : 1.);
    assert_int_equal(r.next, RANDOM_WORDS); /* no number was drawn */
}

static void backoff_doubles_up_to_its_maximum(void **state)
{
    struct scenario_clients clients = {.backoff_s = 60., .backoff_max_s = 600.};
    struct random_state r, same;

    (void)state;
    random_seed(&r, 3);
    same = r;
    assert_same(draw_backoff_s(&r, &clients, 0), 60.);
    assert_same(draw_backoff_s(&r, &clients, 3), 480.);
    assert_same(draw_backoff_s(&r, &clients, 4), 600.);
    assert_same(draw_backoff_s(&r, &clients, UINT32_MAX), 600.);
    clients.jitter = JITTER_FULL;
    assert_same(draw_backoff_s(&r, &clients, 1), 120. * random_uniform(&same));
    clients.jitter = JITTER_HALF;
    assert_same(draw_backoff_s(&r, &clients, 1), 120. * (.5 + .5 * random_uniform(&same)));
}

static void kinds_come_by_their_weights(void **state)
{
    struct scenario_kind kinds[] = {{.weight = 9.}, {.weight = 1.}, {.weight = 5.}, {.weight = 3.}};
    const struct scenario scenario = {.n_kinds = 4, .kinds = kinds};
    const struct scenario_arrivals one = {.n_kinds = 1, .kinds = {2}};
    const struct scenario_arrivals three = {.n_kinds = 3, .kinds = {1, 2, 3}};
    struct random_state r;

    (void)state;
    random_seed(&r, 42); /* .639, .025, .275, .223, .736 */
    assert_int_equal(draw_kind(&r, &scenario, &one), 2);
    assert_int_equal(r.next, RANDOM_WORDS);
    /* Reached at 1/9, 6/9, 1. */
    assert_int_equal(draw_kind(&r, &scenario, &three), 2);
    assert_int_equal(draw_kind(&r, &scenario, &three), 1);
    assert_int_equal(draw_kind(&r, &scenario, &three), 2);
    assert_int_equal(draw_kind(&r, &scenario, &three), 2);
    assert_int_equal(draw_kind(&r, &scenario, &three), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_is_that_of_python),
        cmocka_unit_test(draws_come_in_the_order_of_the_model),
        cmocka_unit_test(times_follow_their_formulas),
        cmocka_unit_test(means_and_spreads_are_those_asked_for),
        cmocka_unit_test(every_third_is_the_other),
        cmocka_unit_test(backoff_doubles_up_to_its_maximum),
        cmocka_unit_test(kinds_come_by_their_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
