/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/load/results.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static uint64_t percentile(const struct latencies *latencies, unsigned int percent)
{
    uint64_t ns = 0;

    assert_true(results_percentile(latencies, percent, &ns));
    return ns;
}

static void add(struct results *results, enum outcome outcome, uint64_t intended_ns,
                uint64_t latency_ns)
{
    results_add(results, &(struct ending){outcome, 0, intended_ns, latency_ns, NS_PER_S});
}

/* Number round_half_even(p (n - 1)), from 0: of 100 values 49.5, 94.05 and 98.01; of 3 1 and 1.98.
 */
static void percentiles_are_exact(void **state)
{
    struct results results;
    uint64_t ns;

    (void)state;
    assert_int_equal(results_init(&results, 103, NS_PER_S, NS_PER_S), 0);
    assert_false(results_percentile(&results.effective, 50, &ns));
    for (uint64_t i = 0; i < 100; i++)
        add(&results, OUTCOME_USEFUL, 0, (i * 37 % 100 + 1) * NS_PER_MS);
    add(&results, OUTCOME_REFUSED_RST, 0, 30);
    add(&results, OUTCOME_REFUSED_503, 0, 10);
    add(&results, OUTCOME_REFUSED_TIMEOUT, 0, 20);
    results_finish(&results);
    assert_int_equal(percentile(&results.effective, 50), 51 * NS_PER_MS);
    assert_int_equal(percentile(&results.effective, 95), 95 * NS_PER_MS);
    assert_int_equal(percentile(&results.effective, 99), 99 * NS_PER_MS);
    assert_int_equal(percentile(&results.refusal, 50), 20);
    assert_int_equal(percentile(&results.refusal, 99), 30);
    results_free(&results);
}

static void ranks_are_those_of_the_simulator(void **state)
{
    (void)state;
    assert_int_equal(results_rank(1, 99), 0);
    assert_int_equal(results_rank(2, 50), 0);   /* .5 */
    assert_int_equal(results_rank(4, 50), 2);   /* 1.5 */
    assert_int_equal(results_rank(6, 50), 2);   /* 2.5 */
    assert_int_equal(results_rank(11, 95), 10); /* 9.5 */
    assert_int_equal(results_rank(60, 99), 58); /* 58.41, where the nearest rank is the last */
    assert_int_equal(results_rank(51, 100), 50);
}

/* Late and unfinished work stands at the deadline, refused and unsent work outside. */
static void broken_promises_cost_the_deadline(void **state)
{
    struct results results;

    (void)state;
    assert_int_equal(results_init(&results, 6, 2 * NS_PER_S, NS_PER_S), 0);
    add(&results, OUTCOME_USEFUL, 0, 5 * NS_PER_MS);
    add(&results, OUTCOME_LATE, NS_PER_S - 1, 1500 * NS_PER_MS);
    add(&results, OUTCOME_UNFINISHED, NS_PER_S, 400 * NS_PER_MS);
    add(&results, OUTCOME_REFUSED_429, NS_PER_S, 1);
    add(&results, OUTCOME_REFUSED_OTHER, NS_PER_S, 2);
    add(&results, OUTCOME_NOT_SENT, NS_PER_S, 0);
    results_finish(&results);
    assert_int_equal(results.effective.n, 3);
    assert_int_equal(results.effective.list[0].ns, 5 * NS_PER_MS);
    assert_int_equal(results.effective.list[1].ns, NS_PER_S);
    assert_int_equal(results.effective.list[2].ns, NS_PER_S);
    assert_int_equal(results.answered.n, 2);
    assert_int_equal(results.answered.list[0].ns, 5 * NS_PER_MS);
    assert_int_equal(results.answered.list[1].ns, 1500 * NS_PER_MS);
    assert_int_equal(results.refusal.n, 2);
    assert_int_equal(results.offered, 6);
    assert_int_equal(results_refused(results.outcomes), 2);
    assert_int_equal(results.n_seconds, 2);
    assert_int_equal(results.seconds[0].offered, 2);
    assert_int_equal(results.seconds[0].outcomes[OUTCOME_LATE], 1);
    assert_int_equal(results.seconds[1].offered, 4);
    assert_int_equal(results.seconds[1].outcomes[OUTCOME_NOT_SENT], 1);
    results_free(&results);
}

/* By the second in which work was intended, and each piece by its own deadline, if it has one. */
static void seconds_have_percentiles_of_their_own(void **state)
{
    struct results results;

    (void)state;
    assert_int_equal(results_init(&results, 5, 3 * NS_PER_S, NS_PER_S), 0);
    add(&results, OUTCOME_USEFUL, 2 * NS_PER_S, 7);
    add(&results, OUTCOME_USEFUL, 1, 9);
    add(&results, OUTCOME_USEFUL, 0, 5);
    results_add(&results, &(struct ending){OUTCOME_UNFINISHED, 1, 0, 600, 500});
    results_add(&results, &(struct ending){OUTCOME_UNFINISHED, 1, 2 * NS_PER_S, 800, UINT64_MAX});
    results_sent(&results, 2 * NS_PER_S, 9 * NS_PER_S, 9 * NS_PER_S);
    results_admitted(&results, 2 * NS_PER_S);
    results_finish(&results);
    assert_int_equal(results.by_kind[0][OUTCOME_USEFUL], 3);
    assert_int_equal(results.by_kind[1][OUTCOME_UNFINISHED], 2);
    assert_int_equal(results.seconds[0].p50_ns, 5);
    assert_int_equal(results.seconds[0].p99_ns, 9);
    assert_int_equal(results.seconds[0].eff_p99_ns, 500);
    assert_true(results.seconds[1].p50_ns == LATENCY_NONE);
    assert_true(results.seconds[1].eff_p95_ns == LATENCY_NONE);
    assert_int_equal(results.seconds[2].p99_ns, 7);
    assert_int_equal(results.seconds[2].eff_p95_ns, 800);
    assert_int_equal(results.seconds[2].attempts, 1);
    assert_int_equal(results.seconds[2].admitted, 1);
    assert_int_equal(percentile(&results.answered, 99), 9);
    assert_int_equal(percentile(&results.effective, 50), 9);
    results_free(&results);
}

static void send_rate_and_worst_lag(void **state)
{
    struct results results;

    (void)state;
    assert_int_equal(results_init(&results, 3, NS_PER_S, NS_PER_S), 0);
    assert_true(results_sent_per_s(&results) < 1e-9);
    results_sent(&results, 0, 0, 10);
    results_sent(&results, 0, 10 * NS_PER_MS, 17 * NS_PER_MS);
    results_sent(&results, 0, 20 * NS_PER_MS, 20 * NS_PER_MS + 10);
    assert_int_equal(results.attempts, 3);
    assert_int_equal(results.lag_max_ns, 7 * NS_PER_MS);
    assert_true(results_sent_per_s(&results) > 99.999 && results_sent_per_s(&results) < 100.001);
    results_free(&results);
}

/* A tenth of the deadline is not behind yet, and early is not late. */
static void behind_is_more_than_a_tenth_of_the_deadline(void **state)
{
    struct results results;

    (void)state;
    assert_int_equal(results_init(&results, 3, NS_PER_S, NS_PER_S), 0);
    results_sent(&results, 0, 10, 9);
    assert_int_equal(results.lag_max_ns, 0);
    results_sent(&results, 0, 0, NS_PER_S / 10);
    assert_int_equal(results.behind, 0);
    results_sent(&results, 0, 0, NS_PER_S / 10 + 1);
    assert_int_equal(results.behind, 1);
    results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_exact),
        cmocka_unit_test(ranks_are_those_of_the_simulator),
        cmocka_unit_test(broken_promises_cost_the_deadline),
        cmocka_unit_test(seconds_have_percentiles_of_their_own),
        cmocka_unit_test(send_rate_and_worst_lag),
        cmocka_unit_test(behind_is_more_than_a_tenth_of_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
