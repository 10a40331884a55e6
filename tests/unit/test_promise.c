/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/promise.h"
#include "tests/unit/threads.h"

#define S  1000000000ull
#define MS 1000000ull

static void work_is_promised_up_to_the_nanosecond(void **state)
{
    struct promise p = {.interval_ns = 6 * MS, .service_ns = 100 * MS};

    (void)state;
    assert_true(promise_kept(&p, 0, 106 * MS));
    assert_false(promise_kept(&p, 0, 106 * MS - 1));
    assert_true(promise_kept(&p, 149, S));
    assert_false(promise_kept(&p, 150, S));
    assert_false(promise_kept(&p, 0, 0));
}

static void what_is_unknown_refuses_nobody(void **state)
{
    struct promise p = {0};

    (void)state;
    assert_true(promise_kept(&p, (1u << 24) - 1, 0));
    p.service_ns = 100 * MS; /* only the wait is unknown */
    assert_true(promise_kept(&p, 1000, 100 * MS));
    assert_false(promise_kept(&p, 0, 100 * MS - 1));
    p = (struct promise){.interval_ns = MS};
    assert_true(promise_kept(&p, 9, 10 * MS));
    assert_false(promise_kept(&p, 10, 10 * MS));
}

static void the_largest_figures_do_not_wrap(void **state)
{
    struct promise p = {PROMISE_INTERVAL_MAX_NS, HISTOGRAM_MAX_NS, 0};

    (void)state;
    assert_false(promise_kept(&p, (1u << 24) - 1, 1ull << 61));
    assert_true(promise_kept(&p, (1u << 24) - 1, UINT64_MAX)); /* no deadline */
}

static void one_sample_passes_a_second(void **state)
{
    struct promise p = {0};

    (void)state;
    assert_true(promise_sample(&p, 5 * S));
    assert_false(promise_sample(&p, 5 * S));
    assert_false(promise_sample(&p, 6 * S - 1));
    assert_true(promise_sample(&p, 6 * S));
    assert_false(promise_sample(&p, 4 * S)); /* a clock that went back */
    assert_true(promise_sample(&p, 100 * S));
    assert_false(promise_sample(&p, 100 * S + S / 2));
}

#define SECONDS 5000u

struct crowd {
    struct promise promise;
    unsigned won; /* by all, atomic */
};

static void *ask_every_second(void *arg)
{
    struct crowd *c = arg;

    for (uint64_t s = 1; s <= SECONDS; s++)
        if (promise_sample(&c->promise, s * S))
            __atomic_add_fetch(&c->won, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void a_sample_has_one_winner(void **state)
{
    static struct crowd c;

    (void)state;
    threads_run(ask_every_second, &c);
    /* Each thread asks once in every second: it is won there, or the time has moved past it. */
    assert_in_range(c.won, 1, SECONDS);
    assert_int_equal(c.promise.sample_after_ns, (SECONDS + 1ull) * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_promised_up_to_the_nanosecond),
        cmocka_unit_test(what_is_unknown_refuses_nobody),
        cmocka_unit_test(the_largest_figures_do_not_wrap),
        cmocka_unit_test(one_sample_passes_a_second),
        cmocka_unit_test(a_sample_has_one_winner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
