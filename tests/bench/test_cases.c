/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cases sluice-bench measures by which options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/policy/policy.h"
#include "tools/bench/cases.h"

static const struct row decision = {.name = "decision", .decision = true};
static const struct row journey = {.name = "journey"};
static const struct row newcomers = {.name = "newcomers", .newcomers = true};

static struct cases cases;

static void assert_cases(const struct options *options, const struct bench_case *expected,
                         uint32_t n)
{
    cases_plan(options, &cases);
    for (uint32_t i = 0; i < n && i < cases.n; i++) {
        assert_ptr_equal(cases.at[i].row, expected[i].row);
        assert_int_equal(cases.at[i].flows, expected[i].flows);
        assert_int_equal(cases.at[i].tenants, expected[i].tenants);
        assert_int_equal(cases.at[i].order, expected[i].order);
    }
    assert_int_equal(cases.n, n);
}

static void default_run_has_many_tenants_and_both_orders(void **state)
{
    const struct options options = {.default_run = true,
                                    .n_flows = 2,
                                    .flows = {1, 10000},
                                    .n_tenants = 1,
                                    .tenants = {100},
                                    .n_orders = 1,
                                    .n_rows = 3,
                                    .rows = {&decision, &journey, &newcomers}};
    const struct bench_case expected[] = {
        {&decision, 1, 1, ORDER_RANDOM},         {&decision, 10000, 10000, ORDER_RANDOM},
        {&journey, 1, 1, ORDER_RANDOM},          {&journey, 10000, 100, ORDER_RANDOM},
        {&journey, 10000, 1, ORDER_RANDOM},      {&journey, 10000, 1000, ORDER_RANDOM},
        {&journey, 10000, 10000, ORDER_RANDOM},  {&journey, 10000, 100, ORDER_ZIPF},
        {&journey, 1000000, 100, ORDER_ZIPF},    {&newcomers, 1, 1, ORDER_RANDOM},
        {&newcomers, 10000, 100, ORDER_RANDOM},  {&newcomers, 10000, 1, ORDER_RANDOM},
        {&newcomers, 10000, 1000, ORDER_RANDOM}, {&newcomers, 10000, 10000, ORDER_RANDOM},
    };

    (void)state;
    assert_cases(&options, expected, RTE_DIM(expected));
}

/* More tenants than flows are as many as flows; and no flow is new twice. */
static void named_lists_are_crossed_and_no_case_comes_twice(void **state)
{
    const struct options options = {.n_flows = 2,
                                    .flows = {5, 100000},
                                    .n_tenants = 2,
                                    .tenants = {10, 20},
                                    .n_orders = 2,
                                    .orders = {ORDER_ZIPF, ORDER_RANDOM},
                                    .n_rows = 4,
                                    .rows = {&journey, &journey, &decision, &newcomers}};
    const struct bench_case expected[] = {
        {&journey, 5, 5, ORDER_ZIPF},
        {&journey, 100000, 10, ORDER_ZIPF},
        {&journey, 100000, 20, ORDER_ZIPF},
        {&journey, 5, 5, ORDER_RANDOM},
        {&journey, 100000, 10, ORDER_RANDOM},
        {&journey, 100000, 20, ORDER_RANDOM},
        {&decision, 5, 5, ORDER_ZIPF},
        {&decision, 100000, POLICY_TENANTS_MAX, ORDER_ZIPF},
        {&decision, 5, 5, ORDER_RANDOM},
        {&decision, 100000, POLICY_TENANTS_MAX, ORDER_RANDOM},
        {&newcomers, 5, 5, ORDER_RANDOM},
        {&newcomers, 100000, 10, ORDER_RANDOM},
        {&newcomers, 100000, 20, ORDER_RANDOM},
    };

    (void)state;
    assert_cases(&options, expected, RTE_DIM(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_run_has_many_tenants_and_both_orders),
        cmocka_unit_test(named_lists_are_crossed_and_no_case_comes_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
