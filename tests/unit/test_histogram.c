/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/histogram.h"
#include "tests/property/random.h"

#define US 1000ull
#define MS 1000000ull

static void cells_meet_and_are_narrow(void **state)
{
    uint64_t lower_ns = HISTOGRAM_MIN_NS;

    (void)state;
    assert_int_equal(HISTOGRAM_CELLS, 1024);
    for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++) {
        uint64_t upper_ns = histogram_upper_ns(i);

        assert_int_equal(histogram_index(lower_ns), i);
        assert_int_equal(histogram_index(upper_ns - 1), i);
        assert_true((upper_ns - lower_ns) * 32 <= lower_ns);
        lower_ns = upper_ns;
    }
    assert_int_equal(lower_ns, 1ull << 42);
}

static void known_cells(void **state)
{
    (void)state;
    assert_int_equal(histogram_index(1024), 0);
    assert_int_equal(histogram_index(1055), 0);
    assert_int_equal(histogram_index(1056), 1);
    assert_int_equal(histogram_index(2047), 31);
    assert_int_equal(histogram_index(2048), 32);
    assert_int_equal(histogram_index(1 << 20), 320);
    assert_int_equal(histogram_upper_ns(0), 1056);
    assert_int_equal(histogram_upper_ns(320), (1 << 20) + (1 << 15));
}

static void what_is_out_of_range_is_clamped(void **state)
{
    (void)state;
    assert_int_equal(histogram_index(0), 0);
    assert_int_equal(histogram_index(1), 0);
    assert_int_equal(histogram_index(1023), 0);
    assert_int_equal(histogram_index(HISTOGRAM_MAX_NS - 1), 1023);
    assert_int_equal(histogram_index(HISTOGRAM_MAX_NS), 1023);
    assert_int_equal(histogram_index(UINT64_MAX), 1023);
}

static uint64_t quantile_ns(const struct histogram *h, uint32_t ppm)
{
    uint64_t ns = 0;

    assert_true(histogram_quantile_ns(h, ppm, &ns));
    return ns;
}

static void quantiles_are_of_nearest_rank(void **state)
{
    static struct histogram h;
    uint64_t ns = 7;

    (void)state;
    assert_false(histogram_quantile_ns(&h, 500000, &ns));
    assert_int_equal(ns, 7);
    /* 1.024 us, 2.048, 4.096 ...: each starts an octave. */
    for (unsigned i = 0; i < 10; i++)
        histogram_add(&h, HISTOGRAM_MIN_NS << i);
    assert_int_equal(histogram_count(&h), 10);
    assert_int_equal(quantile_ns(&h, 0), 1056);
    assert_int_equal(quantile_ns(&h, 100000), 1056); /* the first of ten, exactly */
    assert_int_equal(quantile_ns(&h, 100001), 2112);
    assert_int_equal(quantile_ns(&h, 500000), 1056 << 4);
    assert_int_equal(quantile_ns(&h, 900000), 1056 << 8);
    assert_int_equal(quantile_ns(&h, 900001), 1056 << 9);
    assert_int_equal(quantile_ns(&h, 1000000), 1056 << 9);
    assert_int_equal(histogram_from(&h, 0), 10);
    assert_int_equal(histogram_from(&h, 1055 << 6), 4);
    assert_int_equal(histogram_from(&h, 1056 << 6), 3);
    assert_int_equal(histogram_from(&h, UINT64_MAX), 0);
}

static void ranks_of_huge_counts_do_not_wrap(void **state)
{
    static struct histogram h;

    (void)state;
    h.cells[5] = 1ull << 61;
    h.cells[6] = 1ull << 61;
    assert_int_equal(quantile_ns(&h, 0), histogram_upper_ns(5)); /* not of an empty cell */
    assert_int_equal(quantile_ns(&h, 500000), histogram_upper_ns(5));
    assert_int_equal(quantile_ns(&h, 500001), histogram_upper_ns(6));
}

static void workers_add_up_and_readings_subtract(void **state)
{
    static struct histogram workers[3], before, after, between;

    (void)state;
    for (unsigned w = 0; w < 3; w++)
        histogram_add(&workers[w], (w + 1) * MS);
    for (unsigned w = 0; w < 3; w++)
        histogram_sum(&before, &workers[w]);
    histogram_add(&workers[1], 2 * MS);
    histogram_add(&workers[2], 77 * MS);
    for (unsigned w = 0; w < 3; w++)
        histogram_sum(&after, &workers[w]);
    assert_int_equal(histogram_count(&before), 3);
    assert_int_equal(histogram_count(&after), 5);
    assert_int_equal(after.cells[histogram_index(2 * MS)], 2);
    histogram_diff(&between, &after, &before);
    assert_int_equal(histogram_count(&between), 2);
    assert_int_equal(between.cells[histogram_index(2 * MS)], 1);
    assert_int_equal(between.cells[histogram_index(77 * MS)], 1);
    histogram_diff(&after, &after, &before); /* in place */
    assert_memory_equal(&after, &between, sizeof(after));
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

#define LATENCIES 10000

/* 96 % of the requests around 20 ms, 4 % around 200: 10 000 draws, in microseconds. */
static void read_latencies(uint64_t ns[LATENCIES])
{
    FILE *file = fopen(SLUICE_GOLDEN "/latency_us.csv", "r");
    unsigned long us;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "latency_us\n"), 0);
    for (unsigned i = 0; i < LATENCIES; i++) {
        assert_int_equal(fscanf(file, "%lu\n", &us), 1);
        ns[i] = us * US;
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

/* Published: mean 26.8, p50 20.1, p95 24.5, p99 203.3, max 215.4 ms. */
static void published_latencies_come_out_within_a_cell(void **state)
{
    static const struct {
        uint32_t ppm;
        double published_ms;
    } rows[] = {{500000, 20.1}, {950000, 24.5}, {990000, 203.3}, {1000000, 215.4}};
    static uint64_t ns[LATENCIES];
    static struct histogram h;
    double sum_ms = 0;

    (void)state;
    read_latencies(ns);
    for (unsigned i = 0; i < LATENCIES; i++) {
        histogram_add(&h, ns[i]);
        sum_ms += (double)ns[i] / 1e6;
    }
    assert_float_equal(sum_ms / LATENCIES, 26.8, .05);
    qsort(ns, LATENCIES, sizeof(ns[0]), ascending);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t got_ns = quantile_ns(&h, rows[i].ppm);
        int published = (int)histogram_index((uint64_t)(rows[i].published_ms * 1e6));

        assert_in_range(abs((int)histogram_index(got_ns - 1) - published), 0, 1);
    }
    for (unsigned percent = 1; percent <= 100; percent++)
        assert_int_equal(quantile_ns(&h, percent * 10000),
                         histogram_upper_ns(histogram_index(ns[LATENCIES / 100 * percent - 1])));
}

static void random_samples_agree_with_sorting(void **state)
{
    static uint64_t ns[500];
    static struct histogram h;
    uint64_t seed = 31;

    (void)state;
    for (unsigned run = 0; run < 50; run++) {
        memset(&h, 0, sizeof(h));
        for (unsigned i = 0; i < 500; i++) {
            ns[i] = HISTOGRAM_MIN_NS + (random_u64(&seed) >> (23 + random_below(&seed, 30)));
            histogram_add(&h, ns[i]);
        }
        qsort(ns, 500, sizeof(ns[0]), ascending);
        for (unsigned rank = 1; rank <= 500; rank++) /* 2000 ppm a rank */
            assert_int_equal(quantile_ns(&h, rank * 2000 - 1),
                             histogram_upper_ns(histogram_index(ns[rank - 1])));
    }
}

#define ADDED 200000

static void *add_many(void *arg)
{
    for (uint64_t i = 0; i < ADDED; i++)
        histogram_add(arg, i * US);
    return NULL;
}

static void is_read_while_a_worker_counts(void **state)
{
    static struct histogram h;
    uint64_t seen = 0;
    pthread_t writer;

    (void)state;
    assert_int_equal(pthread_create(&writer, NULL, add_many, &h), 0);
    while (seen < ADDED) {
        struct histogram reading = {0};
        uint64_t n;

        histogram_sum(&reading, &h);
        n = histogram_count(&reading);
        assert_true(n >= seen);
        seen = n;
    }
    pthread_join(writer, NULL);
    assert_int_equal(histogram_count(&h), ADDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_meet_and_are_narrow),
        cmocka_unit_test(known_cells),
        cmocka_unit_test(what_is_out_of_range_is_clamped),
        cmocka_unit_test(quantiles_are_of_nearest_rank),
        cmocka_unit_test(ranks_of_huge_counts_do_not_wrap),
        cmocka_unit_test(workers_add_up_and_readings_subtract),
        cmocka_unit_test(published_latencies_come_out_within_a_cell),
        cmocka_unit_test(random_samples_agree_with_sorting),
        cmocka_unit_test(is_read_while_a_worker_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
