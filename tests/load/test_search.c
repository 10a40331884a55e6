/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/load/search.h"

/* Every rate up to `limit` holds. The trials, in order, and the answer after them. */
static void assert_trials(struct search search, uint64_t limit, const uint64_t *trials, size_t n,
                          uint64_t answer)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(search_next(&search), trials[i]);
        search_learn(&search, trials[i], trials[i] <= limit ? FINDING_HOLDS : FINDING_LATE);
    }
    assert_int_equal(search_next(&search), 0);
    assert_int_equal(search.low, answer);
}

#define ASSERT_TRIALS(search, limit, answer, ...)                                                  \
    assert_trials(search, limit, (const uint64_t[]){__VA_ARGS__},                                  \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), answer)

static void the_bracket_doubles_and_is_then_halved(void **state)
{
    const struct search search = {.min = 10, .max = 1000, .precision_percent = 2};

    (void)state;
    ASSERT_TRIALS(search, 170, 170, 10, 20, 40, 80, 160, 320, 240, 200, 180, 170, 175, 172);
    ASSERT_TRIALS(search, 10, 10, 10, 20, 15, 12, 11);
    ASSERT_TRIALS(search, 9, 0, 10);
    ASSERT_TRIALS(search, 9999, 1000, 10, 20, 40, 80, 160, 320, 640, 1000);
}

static void precision_ends_it_early(void **state)
{
    const struct search search = {.min = 10, .max = 200, .precision_percent = 50};

    (void)state;
    /* 120 to 160 is within half. */
    ASSERT_TRIALS(search, 130, 120, 10, 20, 40, 80, 160, 120);
    ASSERT_TRIALS(search, 90, 80, 10, 20, 40, 80, 160, 120);
}

static void one_rate_is_one_trial(void **state)
{
    const struct search search = {.min = 7, .max = 7, .precision_percent = 2};

    (void)state;
    ASSERT_TRIALS(search, 7, 7, 7);
    ASSERT_TRIALS(search, 6, 0, 7);
}

struct trial {
    uint64_t rate;
    enum finding finding;
};

/* Plays them, each of which is to be the next, and what comes after them. */
static struct search play(const struct trial *trials, size_t n, uint64_t next)
{
    struct search search = {.min = 10, .max = 1000, .precision_percent = 50};

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(search_next(&search), trials[i].rate);
        search_learn(&search, trials[i].rate, trials[i].finding);
    }
    assert_int_equal(search_next(&search), next);
    return search;
}

static void what_the_generator_missed_is_tried_again(void **state)
{
    const struct trial missed_twice[] = {
        {10, FINDING_HOLDS}, {20, FINDING_GENERATOR}, {20, FINDING_GENERATOR},
        {20, FINDING_HOLDS}, {40, FINDING_GENERATOR}, {40, FINDING_GENERATOR},
        {40, FINDING_LATE},  {30, FINDING_GENERATOR}, {30, FINDING_HOLDS},
    };
    struct search search = play(missed_twice, 9, 0);

    (void)state;
    assert_int_equal(search.low, 30);
    assert_int_equal(search.high, 40);
    assert_int_equal(search.limit, FINDING_LATE);
}

static void a_rate_fails_when_the_generator_missed_it_three_times(void **state)
{
    const struct trial missed[] = {
        {10, FINDING_HOLDS},     {20, FINDING_HOLDS},     {40, FINDING_GENERATOR},
        {40, FINDING_GENERATOR}, {40, FINDING_GENERATOR}, {30, FINDING_GENERATOR},
        {30, FINDING_GENERATOR}, {30, FINDING_HOLDS},
    };
    const struct trial always[] = {
        {10, FINDING_GENERATOR}, {10, FINDING_GENERATOR}, {10, FINDING_GENERATOR}};
    struct search search = play(missed, 8, 0);

    (void)state;
    assert_int_equal(search.low, 30);
    assert_int_equal(search.high, 40);
    assert_int_equal(search.limit, FINDING_GENERATOR);
    search = play(always, 3, 0);
    assert_int_equal(search.low, 0);
    assert_int_equal(search.limit, FINDING_GENERATOR);
}

/* The reason is that of the lowest rate that fails. */
static void the_limit_is_why_the_last_rate_failed(void **state)
{
    const struct trial trials[] = {{10, FINDING_HOLDS},
                                   {20, FINDING_HOLDS},
                                   {40, FINDING_HOLDS},
                                   {80, FINDING_REFUSED},
                                   {60, FINDING_LATE}};

    (void)state;
    assert_int_equal(play(trials, 5, 0).limit, FINDING_LATE);
}

static enum finding judge(uint64_t useful, uint64_t late, uint64_t unfinished, uint64_t refused,
                          unsigned int percentile)
{
    struct results results = {.offered = useful + late + unfinished + refused,
                              .attempts = useful + late + unfinished + refused,
                              .effective.n = useful + late + unfinished};

    results.outcomes[OUTCOME_USEFUL] = useful;
    results.outcomes[OUTCOME_LATE] = late;
    results.outcomes[OUTCOME_UNFINISHED] = unfinished;
    results.outcomes[OUTCOME_REFUSED_SERVFAIL] = refused;
    return search_judge(&results, percentile);
}

static void a_percentile_and_one_percent_of_refusals(void **state)
{
    (void)state;
    assert_int_equal(judge(1000, 0, 0, 0, 99), FINDING_HOLDS);
    assert_int_equal(judge(990, 5, 5, 0, 99), FINDING_HOLDS);
    assert_int_equal(judge(989, 5, 6, 0, 99), FINDING_LATE);
    /* Of 60 the 99th percentile is the last but one, of 50 the last. */
    assert_int_equal(judge(59, 1, 0, 0, 99), FINDING_HOLDS);
    assert_int_equal(judge(58, 2, 0, 0, 99), FINDING_LATE);
    assert_int_equal(judge(49, 1, 0, 0, 99), FINDING_LATE);
    assert_int_equal(judge(49, 1, 0, 0, 98), FINDING_HOLDS);
    assert_int_equal(judge(999, 0, 1, 0, 100), FINDING_LATE);
    assert_int_equal(judge(990, 0, 0, 10, 99), FINDING_HOLDS);
    assert_int_equal(judge(989, 0, 0, 11, 99), FINDING_REFUSED);
    assert_int_equal(judge(0, 0, 0, 0, 99), FINDING_LATE);
}

static void a_generator_that_falls_behind_says_nothing_of_the_service(void **state)
{
    struct results results = {.offered = 1000, .attempts = 1000, .effective.n = 1000};

    (void)state;
    results.outcomes[OUTCOME_USEFUL] = 1000;
    results.behind = 10;
    assert_int_equal(search_judge(&results, 99), FINDING_HOLDS);
    results.behind = 11;
    assert_int_equal(search_judge(&results, 99), FINDING_GENERATOR);
    results.behind = 0;
    results.outcomes[OUTCOME_NOT_SENT] = 1;
    assert_int_equal(search_judge(&results, 99), FINDING_GENERATOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bracket_doubles_and_is_then_halved),
        cmocka_unit_test(precision_ends_it_early),
        cmocka_unit_test(one_rate_is_one_trial),
        cmocka_unit_test(what_the_generator_missed_is_tried_again),
        cmocka_unit_test(a_rate_fails_when_the_generator_missed_it_three_times),
        cmocka_unit_test(the_limit_is_why_the_last_rate_failed),
        cmocka_unit_test(a_percentile_and_one_percent_of_refusals),
        cmocka_unit_test(a_generator_that_falls_behind_says_nothing_of_the_service),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
