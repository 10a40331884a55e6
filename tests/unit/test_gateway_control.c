/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/gateway_control.h"

#define MS 1000000ull

struct gateway {
    struct gateway_control control;
    uint64_t now_ns;
    uint32_t p[CLASS_MAX];
};

static void run(struct gateway *g, double fill, uint64_t missed, unsigned steps, uint64_t period_ns)
{
    struct gateway_sample sample = {fill, missed};

    for (unsigned i = 0; i < steps; i++) {
        g->now_ns += period_ns;
        gateway_control_step(&g->control, &sample, g->now_ns, g->p);
    }
}

static double share(const struct gateway *g, enum policy_class c)
{
    return g->p[c] / 4294967296.0;
}

static void half_full_sheds_nothing(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 0.5, 0, 1000, 100 * MS);
    for (int c = 0; c < CLASS_MAX; c++)
        assert_int_equal(g.p[c], 0);
}

static void one_burst_sheds_nothing(void **state)
{
    struct gateway g = {0};

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        run(&g, 1, 1000, 1, 100 * MS);
        assert_int_equal(g.p[CLASS_BULK], 0);
        run(&g, 0.1, 0, 1, 100 * MS);
        assert_int_equal(g.p[CLASS_BULK], 0);
    }
}

/* Full rings raise the level by one class a second; the first sample of two does not count. */
static void classes_go_lowest_first(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 0, 0, 1, 100 * MS);
    run(&g, 1, 0, 6, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.5 * 0.98, 1e-6);
    assert_int_equal(g.p[CLASS_NORMAL], 0);
    run(&g, 1, 0, 10, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.98, 1e-6);
    assert_float_equal(share(&g, CLASS_NORMAL), 0.5 * 0.98, 1e-6);
    assert_int_equal(g.p[CLASS_CRITICAL], 0);
    run(&g, 1, 0, 10, 100 * MS);
    assert_float_equal(share(&g, CLASS_NORMAL), 0.98, 1e-6);
    assert_float_equal(share(&g, CLASS_CRITICAL), 0.25, 1e-6);
    run(&g, 1, 0, 1000, 100 * MS);
    assert_float_equal(share(&g, CLASS_CRITICAL), 0.5, 1e-6);
}

/* Three quarters full is half as urgent as full. */
static void the_level_follows_the_depth(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 0.75, 0, 12, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.5 * 0.98, 1e-6);
    run(&g, 0.5, 0, 100, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.5 * 0.98, 1e-6);
    run(&g, 0.25, 0, 1, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.3 * 0.98, 1e-6);
}

static void missed_packets_count_as_full(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 0, 1, 12, 100 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.98, 1e-6);
    assert_float_equal(share(&g, CLASS_NORMAL), 0, 1e-6);
}

static void calm_restores_quickly(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 1, 0, 1000, 100 * MS);
    run(&g, 0, 0, 74, 10 * MS);
    assert_true(g.p[CLASS_BULK] > 0);
    assert_int_equal(g.p[CLASS_NORMAL], 0);
    run(&g, 0, 0, 2, 10 * MS);
    assert_int_equal(g.p[CLASS_BULK], 0);
}

/* A control thread that slept for a minute has not seen a minute of overload. */
static void a_late_step_counts_as_a_long_period(void **state)
{
    struct gateway g = {0};

    (void)state;
    run(&g, 1, 0, 2, 10 * MS);
    run(&g, 1, 0, 1, 60000 * MS);
    assert_float_equal(share(&g, CLASS_BULK), 0.1 * 0.98, 1e-6);
}

static void the_same_time_changes_nothing(void **state)
{
    struct gateway g = {0};
    uint32_t before;

    (void)state;
    run(&g, 1, 0, 5, 100 * MS);
    before = g.p[CLASS_BULK];
    g.p[CLASS_BULK] = 0;
    run(&g, 1, 0, 3, 0);
    assert_true(before > 0);
    assert_int_equal(g.p[CLASS_BULK], before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_full_sheds_nothing),
        cmocka_unit_test(one_burst_sheds_nothing),
        cmocka_unit_test(classes_go_lowest_first),
        cmocka_unit_test(the_level_follows_the_depth),
        cmocka_unit_test(missed_packets_count_as_full),
        cmocka_unit_test(calm_restores_quickly),
        cmocka_unit_test(a_late_step_counts_as_a_long_period),
        cmocka_unit_test(the_same_time_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
