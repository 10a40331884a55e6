/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/config/units.h"

static void rate(const char *text, uint64_t amount, uint32_t period_s)
{
    struct quota_rate r = {.burst = 7, .unlimited = true};

    assert_int_equal(units_rate(text, &r), UNITS_OK);
    assert_int_equal(r.amount, amount);
    assert_int_equal(r.period_s, period_s);
    assert_false(r.unlimited);
    assert_int_equal(r.burst, 7);
}

static void bits(const char *text, uint64_t amount)
{
    struct quota_rate r = {.burst = 7, .unlimited = true};

    assert_int_equal(units_bit_rate(text, &r), UNITS_OK);
    assert_true(r.amount == amount);
    assert_int_equal(r.period_s, 1);
    assert_false(r.unlimited);
    assert_int_equal(r.burst, 7);
}

static void rates_keep_their_period(void **state)
{
    (void)state;
    rate("20/s", 20, 1);
    rate("90/min", 90, 60);
    rate("5/h", 5, 3600);
    rate("1/day", 1, 86400);
    rate("20.0/s", 20, 1);
    rate("1000000000/s", 1000000000, 1);
    rate("0", 0, 1);
    rate("0/day", 0, 86400);
}

static void unlimited_is_a_word(void **state)
{
    struct quota_rate r = {.amount = 5, .period_s = 60};

    (void)state;
    assert_int_equal(units_rate("unlimited", &r), UNITS_OK);
    assert_true(r.unlimited);
    assert_int_equal(r.amount, 0);
    assert_int_equal(r.period_s, 1);
    r.unlimited = false;
    assert_int_equal(units_bit_rate("unlimited", &r), UNITS_OK);
    assert_true(r.unlimited);
}

static void wrong_rates_change_nothing(void **state)
{
    static const char *const wrong[] = {"",          "20/",    "/s",    "20/fortnight", "20 /s",
                                        "-1/s",      "+1/s",   "1e9/s", "0x10/s",       "20/s ",
                                        " 20/s",     "20/S",   ".5/s",  "5./s",         "1.2.3/s",
                                        "Unlimited", "20bit/s"};
    struct quota_rate r = {.amount = 5, .period_s = 60};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(units_rate(wrong[i], &r), UNITS_SYNTAX);
    assert_int_equal(units_rate("20", &r), UNITS_BARE);
    assert_int_equal(units_rate("1.5", &r), UNITS_BARE);
    assert_int_equal(units_rate("00", &r), UNITS_BARE);
    assert_int_equal(units_rate("0.5/s", &r), UNITS_INEXACT);
    assert_int_equal(units_rate("1000000001/s", &r), UNITS_RANGE);
    assert_int_equal(units_rate("18446744073709551616/s", &r), UNITS_RANGE);
    assert_int_equal(units_rate("18446744073709551621/s", &r), UNITS_RANGE);
    assert_int_equal(r.amount, 5);
    assert_int_equal(r.period_s, 60);
}

static void case_E03_bit_rates_above_32_bits_are_exact(void **state)
{
    struct quota_rate r = {.amount = 5};

    (void)state;
    bits("4.29Gbit/s", 4290000000);
    bits("4.30Gbit/s", 4300000000);
    bits("34.4Gbit/s", 34400000000);
    bits("40Gbit/s", 40000000000);
    bits("69Gbit/s", 69000000000);
    bits("400Gbit/s", 400000000000);
    bits("400000Mbit/s", 400000000000);
    bits("399.999999992Gbit/s", 399999999992);
    assert_int_equal(units_bit_rate("400.000000008Gbit/s", &r), UNITS_RANGE);
    assert_int_equal(units_bit_rate("401Gbit/s", &r), UNITS_RANGE);
    assert_int_equal(units_bit_rate("18446744074Gbit/s", &r), UNITS_RANGE);
    assert_int_equal(units_bit_rate("99999999999999999999Gbit/s", &r), UNITS_RANGE);
    assert_int_equal(r.amount, 5);
}

static void bit_rates_are_whole_bytes(void **state)
{
    struct quota_rate r = {0};

    (void)state;
    bits("8bit/s", 8);
    bits("2.5Gbit/s", 2500000000);
    bits("0.008kbit/s", 8);
    bits("1.6000000000000000000000kbit/s", 1600);
    bits("0", 0);
    assert_int_equal(units_bit_rate("4bit/s", &r), UNITS_INEXACT);
    assert_int_equal(units_bit_rate("2.5kbit/s", &r), UNITS_INEXACT);
    assert_int_equal(units_bit_rate("0.5bit/s", &r), UNITS_INEXACT);
    assert_int_equal(units_bit_rate("200Mbit", &r), UNITS_SYNTAX);
    assert_int_equal(units_bit_rate("200Mbit/min", &r), UNITS_SYNTAX);
    assert_int_equal(units_bit_rate("200mbit/s", &r), UNITS_SYNTAX);
    assert_int_equal(units_bit_rate("200", &r), UNITS_BARE);
}

static void sizes_are_binary(void **state)
{
    uint64_t bytes = 1;

    (void)state;
    assert_int_equal(units_bytes("1500B", &bytes), UNITS_OK);
    assert_int_equal(bytes, 1500);
    assert_int_equal(units_bytes("256KiB", &bytes), UNITS_OK);
    assert_int_equal(bytes, 262144);
    assert_int_equal(units_bytes("2.5MiB", &bytes), UNITS_OK);
    assert_int_equal(bytes, 2621440);
    assert_int_equal(units_bytes("6GiB", &bytes), UNITS_OK);
    assert_true(bytes == 6442450944);
    assert_int_equal(units_bytes("18446744073709551615B", &bytes), UNITS_OK);
    assert_true(bytes == UINT64_MAX);
    assert_int_equal(units_bytes("17179869184GiB", &bytes), UNITS_RANGE);
    assert_int_equal(units_bytes("0.3KiB", &bytes), UNITS_INEXACT);
    assert_int_equal(units_bytes("1KB", &bytes), UNITS_SYNTAX);
    assert_int_equal(units_bytes("0", &bytes), UNITS_BARE);
    assert_true(bytes == UINT64_MAX);
}

static void durations_are_nanoseconds(void **state)
{
    uint64_t duration_ns = 1;

    (void)state;
    assert_int_equal(units_duration("50ms", &duration_ns), UNITS_OK);
    assert_int_equal(duration_ns, 50000000);
    assert_int_equal(units_duration("1.5s", &duration_ns), UNITS_OK);
    assert_int_equal(duration_ns, 1500000000);
    assert_int_equal(units_duration("2us", &duration_ns), UNITS_OK);
    assert_int_equal(duration_ns, 2000);
    assert_int_equal(units_duration("3min", &duration_ns), UNITS_OK);
    assert_true(duration_ns == 180000000000);
    assert_int_equal(units_duration("24h", &duration_ns), UNITS_OK);
    assert_true(duration_ns == 86400000000000);
    assert_int_equal(units_duration("5124096h", &duration_ns), UNITS_RANGE);
    assert_int_equal(units_duration("0.0001us", &duration_ns), UNITS_INEXACT);
    assert_int_equal(units_duration("2d", &duration_ns), UNITS_SYNTAX);
    assert_int_equal(units_duration("2", &duration_ns), UNITS_BARE);
}

static void decimals_are_scaled_exactly(void **state)
{
    uint64_t value = 7;

    (void)state;
    assert_int_equal(units_decimal("x", 1000, &value), UNITS_SYNTAX);
    assert_int_equal(units_decimal("1s", 1000, &value), UNITS_SYNTAX);
    assert_int_equal(units_decimal("1e3", 1000, &value), UNITS_SYNTAX);
    assert_int_equal(units_decimal(".5", 1000, &value), UNITS_SYNTAX);
    assert_int_equal(units_decimal("0.0005", 1000, &value), UNITS_INEXACT);
    assert_int_equal(units_decimal("18446744073709551616", 1, &value), UNITS_RANGE);
    assert_int_equal(value, 7);
    assert_int_equal(units_decimal("0.98", 1000000, &value), UNITS_OK);
    assert_int_equal(value, 980000);
    assert_int_equal(units_decimal("2.5000000", 1000, &value), UNITS_OK);
    assert_int_equal(value, 2500);
}

static void integers_are_digits(void **state)
{
    uint64_t value = 1;

    (void)state;
    assert_int_equal(units_integer("18446744073709551615", &value), UNITS_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(units_integer("18446744073709551616", &value), UNITS_RANGE);
    assert_int_equal(units_integer("1.0", &value), UNITS_SYNTAX);
    assert_int_equal(units_integer("-1", &value), UNITS_SYNTAX);
    assert_int_equal(units_integer("", &value), UNITS_SYNTAX);
    assert_int_equal(units_integer("1k", &value), UNITS_SYNTAX);
    assert_true(value == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_keep_their_period),
        cmocka_unit_test(unlimited_is_a_word),
        cmocka_unit_test(wrong_rates_change_nothing),
        cmocka_unit_test(case_E03_bit_rates_above_32_bits_are_exact),
        cmocka_unit_test(bit_rates_are_whole_bytes),
        cmocka_unit_test(sizes_are_binary),
        cmocka_unit_test(durations_are_nanoseconds),
        cmocka_unit_test(decimals_are_scaled_exactly),
        cmocka_unit_test(integers_are_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
