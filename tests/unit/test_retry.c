/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/retry.h"
#include "tests/property/random.h"
#include "tests/unit/threads.h"

static void a_retry_costs_ten_attempts(void **state)
{
    uint32_t tenths = 0;

    (void)state;
    retry_init(&tenths);
    for (unsigned n = 0; n < 10; n++)
        assert_true(retry_take(&tenths)); /* the reserve */
    assert_false(retry_take(&tenths));
    assert_int_equal(retry_tenths(&tenths), 0);
    for (unsigned n = 1; n <= 9; n++) {
        retry_unique(&tenths);
        assert_int_equal(retry_tenths(&tenths), n);
        assert_false(retry_take(&tenths)); /* and takes nothing */
    }
    retry_unique(&tenths);
    assert_true(retry_take(&tenths));
    assert_int_equal(retry_tenths(&tenths), 0);
    retry_untake(&tenths);
    assert_int_equal(retry_tenths(&tenths), 10);
}

static void quiet_days_are_not_saved_up(void **state)
{
    uint32_t tenths = 0;

    (void)state;
    retry_init(&tenths);
    assert_true(retry_take(&tenths));
    for (unsigned n = 0; n < 1000; n++)
        retry_unique(&tenths);
    assert_int_equal(retry_tenths(&tenths), 100);
    assert_true(retry_take(&tenths));
    for (unsigned n = 0; n < 5; n++)
        retry_unique(&tenths);
    retry_untake(&tenths); /* 95 + 10 */
    assert_int_equal(retry_tenths(&tenths), 100);
}

/* 1000 calls, up to three attempts each, all of which fail. */
static unsigned outage(uint32_t *tenths)
{
    unsigned attempts = 0;

    for (unsigned call = 0; call < 1000; call++) {
        attempts++;
        if (tenths)
            retry_unique(tenths);
        for (unsigned n = 0; n < 2 && (!tenths || retry_take(tenths)); n++)
            attempts++;
    }
    return attempts;
}

static void an_outage_is_asked_1109_times(void **state)
{
    uint32_t tenths = 0;

    (void)state;
    retry_init(&tenths);
    assert_int_equal(outage(NULL), 3000);
    assert_int_equal(outage(&tenths), 1109);
}

/* In any interval, whatever came before: with S = 10 retries - unique, S never rises by more than
 * the reserve above its lowest. */
static void no_interval_passes_more_than_the_budget(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint64_t random = seed, share = random_below(&random, 100);
        int64_t spent = 0, lowest = 0, steepest = 0;
        uint32_t tenths = 0;

        retry_init(&tenths);
        for (unsigned i = 0; i < 5000; i++) {
            if (i % 500 == 0) /* calm and outage in turn */
                share = random_below(&random, 101);
            if (random_below(&random, 100) < share) {
                retry_unique(&tenths);
                spent--;
            } else if (retry_take(&tenths)) {
                spent += 10;
                if (random_below(&random, 4) == 0) {
                    retry_untake(&tenths);
                    spent -= 10;
                }
            }
            lowest = spent < lowest ? spent : lowest;
            steepest = spent - lowest > steepest ? spent - lowest : steepest;
            assert_in_range(retry_tenths(&tenths), 0, 100);
        }
        assert_in_range(steepest, 0, 100);
    }
}

/* -- threads -- */

#define ROUNDS 300000

struct crowd {
    uint32_t tenths;
    int64_t unique, retries, wrong; /* atomic */
};

/* Three retries are tried for each unique attempt: the budget hovers at nothing. */
static void *hammer(void *arg)
{
    struct crowd *c = arg;
    int64_t unique = 0, retries = 0, wrong = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i % 4 == 0) {
            retry_unique(&c->tenths);
            unique++;
        } else if (retry_take(&c->tenths)) {
            retries++;
            if (i % 5 == 0) {
                retry_untake(&c->tenths);
                retries--;
            }
        }
        wrong += retry_tenths(&c->tenths) > RETRY_CAP; /* or below zero */
        if (i % 256 == 0)
            sched_yield();
    }
    __atomic_add_fetch(&c->unique, unique, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->retries, retries, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->wrong, wrong, __ATOMIC_RELAXED);
    return NULL;
}

static void threads_lose_and_gain_nothing(void **state)
{
    static struct crowd c;

    (void)state;
    threads_run(hammer, &c);
    assert_int_equal(c.wrong, 0);
    assert_int_equal(c.unique, THREADS * ROUNDS / 4);
    assert_int_equal(c.unique, 10 * c.retries + retry_tenths(&c.tenths));
    assert_in_range(c.retries, c.unique / 10 - 10, c.unique / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_costs_ten_attempts),
        cmocka_unit_test(quiet_days_are_not_saved_up),
        cmocka_unit_test(an_outage_is_asked_1109_times),
        cmocka_unit_test(no_interval_passes_more_than_the_budget),
        cmocka_unit_test(threads_lose_and_gain_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
