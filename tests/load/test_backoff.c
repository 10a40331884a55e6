/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/load/backoff.h"
#include "tools/load/random.h"

#define NS_PER_MS UINT64_C(1000000)

static void waits_double_up_to_the_longest(void **state)
{
    static const uint64_t expected_ms[] = {50, 100, 200, 400, 800, 1000, 1000};
    const struct backoff backoff = {.base_ns = 50 * NS_PER_MS, .max_ns = 1000 * NS_PER_MS};

    (void)state;
    for (uint32_t n = 0; n < 7; n++)
        assert_int_equal(backoff_wait_ns(&backoff, n, 0.5), expected_ms[n] * NS_PER_MS);
    /* No shift leaves 64 bits. */
    assert_int_equal(backoff_wait_ns(&backoff, 63, 0.5), 1000 * NS_PER_MS);
    assert_int_equal(backoff_wait_ns(&backoff, 64, 0.5), 1000 * NS_PER_MS);
    assert_int_equal(backoff_wait_ns(&backoff, UINT32_MAX, 0.5), 1000 * NS_PER_MS);
}

static void full_jitter_takes_a_part(void **state)
{
    const struct backoff backoff = {
        .base_ns = 50 * NS_PER_MS, .max_ns = 1000 * NS_PER_MS, .jitter = true};

    (void)state;
    assert_int_equal(backoff_wait_ns(&backoff, 0, 1), 50 * NS_PER_MS);
    assert_int_equal(backoff_wait_ns(&backoff, 2, 0.25), 50 * NS_PER_MS);
    assert_int_equal(backoff_wait_ns(&backoff, 9, 0.5), 500 * NS_PER_MS);
    assert_int_equal(backoff_wait_ns(&backoff, 0, 0x1p-53), 0);
}

/* The reference values of splitmix64 for the seed 1234567, and where they lie in (0, 1]. */
static void random_numbers_are_those_of_splitmix64(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    uint64_t random = 1234567;

    (void)state;
    for (unsigned int i = 0; i < 5; i++)
        assert_int_equal(random_next(&random), expected[i]);
    random = 1234567;
    assert_int_equal((uint64_t)(random_uniform(&random) * 0x1p53), (expected[0] >> 11) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_the_longest),
        cmocka_unit_test(full_jitter_takes_a_part),
        cmocka_unit_test(random_numbers_are_those_of_splitmix64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
