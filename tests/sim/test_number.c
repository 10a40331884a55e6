/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as Python's repr() prints them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/sim/number.h"

static void doubles_print_as_in_python(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {290.7555070590058, "290.7555070590058"},
        {3600, "3600.0"},
        {1, "1.0"},
        {1.5, "1.5"},
        {0, "0.0"},
        {-0.0, "-0.0"},
        {-2.25, "-2.25"},
        {.1, "0.1"},
        {.1 + .2, "0.30000000000000004"},
        {1. / 3, "0.3333333333333333"},
        {.0001, "0.0001"},
        {.00001, "1e-05"},
        {.000012345, "1.2345e-05"},
        {123456789012345680., "1.2345678901234568e+17"},
        {1e15, "1000000000000000.0"},
        {9007199254740993., "9007199254740992.0"},
        {9999999999999998., "9999999999999998.0"},
        {1e16, "1e+16"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {NAN, ""},
        {INFINITY, "inf"},
    };
    char text[NUMBER_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_exact(cases[i].value, text), cases[i].text);
}

static void counts_print_as_counts(void **state)
{
    char text[NUMBER_BYTES];

    (void)state;
    assert_string_equal(number_metric(19953, true, text), "19953");
    assert_string_equal(number_metric(19953, false, text), "19953.0");
}

static void numbers_are_read_whole(void **state)
{
    uint64_t value = 0;

    (void)state;
    assert_true(number_parse("18446744073709551615", UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_true(number_parse("256", 256, &value));
    assert_false(number_parse("257", 256, &value));
    assert_false(number_parse("18446744073709551616", UINT64_MAX, &value));
    assert_false(number_parse("-1", UINT64_MAX, &value));
    assert_false(number_parse(" 1", UINT64_MAX, &value));
    assert_false(number_parse("1x", UINT64_MAX, &value));
    assert_false(number_parse("", UINT64_MAX, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_print_as_in_python),
        cmocka_unit_test(counts_print_as_counts),
        cmocka_unit_test(numbers_are_read_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
