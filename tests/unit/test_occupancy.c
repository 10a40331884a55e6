/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/occupancy.h"
#include "tests/property/random.h"
#include "tests/unit/threads.h"

#define MS   1000000ull
#define S    1000000000ull
#define RATE 2500 /* milli-erlangs: 2.5 slots on average */

static void a_debit_is_paid_off_at_the_rate(void **state)
{
    struct occupancy o = {0};

    (void)state;
    occupancy_set(&o, RATE, 100 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 100 * S), 25000); /* 10 s of the rate */
    assert_int_equal(occupancy_level_ms(&o, RATE, 999 * S), 25000); /* and no more */
    occupancy_debit(&o, RATE, 24 * S, 100 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 100 * S), 1000);
    assert_true(occupancy_allows(&o, RATE, 100 * S));
    occupancy_debit(&o, RATE, 1 * S, 100 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 100 * S), 0);
    assert_false(occupancy_allows(&o, RATE, 100 * S));
    assert_true(occupancy_allows(&o, RATE, 100 * S + 1));
    occupancy_debit(&o, RATE, 5 * S, 100 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 100 * S), -5000);
    assert_false(occupancy_allows(&o, RATE, 102 * S)); /* 2 s at 2.5 */
    assert_true(occupancy_allows(&o, RATE, 102 * S + 1));
    /* The debit comes after what time has earned: 10 s of silence do not hide it. */
    occupancy_debit(&o, RATE, 1 * S, 112 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 112 * S), 24000);
    assert_int_equal(occupancy_level_ms(&o, RATE, 112 * S + 100 * MS), 24250);
    assert_int_equal(occupancy_level_ms(&o, RATE, 113 * S), 25000);
}

static void a_question_changes_nothing(void **state)
{
    struct occupancy o = {0}, before;

    (void)state;
    occupancy_set(&o, RATE, S);
    occupancy_debit(&o, RATE, 40 * S, S);
    before = o;
    for (uint64_t now_ns = 0; now_ns < 20 * S; now_ns += S / 3)
        assert_int_equal(occupancy_allows(&o, RATE, now_ns), now_ns > 7 * S);
    assert_memory_equal(&o, &before, sizeof(o));
    /* A time that lies back earns nothing, and is not earned twice. */
    occupancy_debit(&o, RATE, 0, 2 * S);
    occupancy_debit(&o, RATE, 0, S);
    assert_int_equal(o.last_ns, 2 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 2 * S), -12500);
    occupancy_debit(&o, RATE, 0, 2 * S);
    assert_int_equal(occupancy_level_ms(&o, RATE, 2 * S), -12500);
}

static void debt_is_an_hour_at_most(void **state)
{
    struct occupancy o = {0};

    (void)state;
    occupancy_set(&o, RATE, S);
    for (unsigned i = 0; i < 100; i++)
        occupancy_debit(&o, RATE, 3600 * S, S);
    assert_int_equal(occupancy_level_ms(&o, RATE, S), -3600 * 2500);
    assert_false(occupancy_allows(&o, RATE, 3601 * S));
    assert_true(occupancy_allows(&o, RATE, 3601 * S + 1));
}

static void nothing_overflows(void **state)
{
    static const uint32_t rates[] = {1, 1000, 1111111, 1111112, OCCUPANCY_RATE_MAX};
    static const int64_t least_ms[] = {-3600, -3600000, -3999999600, -4000000000, -4000000000};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct occupancy o = {0};

        occupancy_set(&o, rates[i], 0);
        assert_int_equal(occupancy_level_ms(&o, rates[i], UINT64_MAX), rates[i] * 10ll);
        o.level = 0; /* after 2^45 ns at the highest rate, the product is a multiple of 2^64 */
        assert_int_equal(occupancy_level_ms(&o, rates[i], 1ull << 45), rates[i] * 10ll);
        for (unsigned n = 0; n < 5; n++)
            occupancy_debit(&o, rates[i], UINT64_MAX, 1);
        assert_int_equal(occupancy_level_ms(&o, rates[i], 1), least_ms[i]);
        assert_false(occupancy_allows(&o, rates[i], 1));
        assert_true(occupancy_allows(&o, rates[i], UINT64_MAX));
        occupancy_debit(&o, rates[i], 0, UINT64_MAX);
        assert_int_equal(occupancy_level_ms(&o, rates[i], UINT64_MAX), rates[i] * 10ll);
    }
}

static void a_change_keeps_what_was_earned_and_owed(void **state)
{
    struct occupancy o = {0};

    (void)state;
    occupancy_set(&o, RATE, 0);
    occupancy_debit(&o, RATE, 10 * S, 0);
    occupancy_change(&o, RATE, 10000, S); /* a second at the old rate */
    assert_int_equal(occupancy_level_ms(&o, 10000, S), 17500);
    assert_int_equal(occupancy_level_ms(&o, 10000, 2 * S), 27500);
    occupancy_change(&o, 10000, 1000, 2 * S);
    assert_int_equal(occupancy_level_ms(&o, 1000, 2 * S), 10000); /* the new capacity */
    occupancy_debit(&o, 1000, 3000 * S, 2 * S);
    occupancy_change(&o, 1000, 100, 2 * S);
    assert_int_equal(occupancy_level_ms(&o, 100, 2 * S), -360000); /* an hour of the new rate */
    /* Without a limit for an hour: no burst is bought, and no debt is lost. */
    occupancy_change(&o, 0, 100, 3602 * S);
    assert_int_equal(occupancy_level_ms(&o, 100, 3602 * S), -360000);
    assert_int_equal(occupancy_level_ms(&o, 100, 3603 * S), -359900);
    o = (struct occupancy){0};
    occupancy_change(&o, 0, 1000, 100 * S);
    assert_int_equal(occupancy_level_ms(&o, 1000, 100 * S), 0);
    assert_int_equal(occupancy_level_ms(&o, 1000, 101 * S), 1000);
}

/* -- threads -- */

#define ROUNDS  100000
#define HELD_NS (100 * MS) /* longest */
#define STEP_NS 100000

struct crowd {
    struct occupancy occupancy;
    uint64_t now_ns, debited_ns, refused, seeds; /* atomic */
};

static void *hammer(void *arg)
{
    struct crowd *c = arg;
    uint64_t debited_ns = 0, refused = 0, seed = __atomic_fetch_add(&c->seeds, 1, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t now_ns = __atomic_add_fetch(&c->now_ns, STEP_NS, __ATOMIC_RELAXED), held_ns;

        if (occupancy_allows(&c->occupancy, RATE, now_ns)) {
            held_ns = random_below(&seed, HELD_NS);
            occupancy_debit(&c->occupancy, RATE, held_ns, now_ns);
            debited_ns += held_ns;
        } else {
            refused++;
        }
        if (i % 64 == 0)
            sched_yield();
    }
    __atomic_add_fetch(&c->debited_ns, debited_ns, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->refused, refused, __ATOMIC_RELAXED);
    return NULL;
}

/* 2.5 slots are earned, up to 4 threads x 50 ms in 100 us asked for: the level stays about zero,
 * far from its bounds, so that every nanosecond must be accounted for. */
static void threads_lose_and_gain_nothing(void **state)
{
    static struct crowd c;
    int64_t expected;

    (void)state;
    threads_run(hammer, &c);
    expected = (int64_t)(c.occupancy.last_ns * RATE) - (int64_t)c.debited_ns * 1000;
    assert_int_equal(c.now_ns, (uint64_t)THREADS * ROUNDS * STEP_NS);
    assert_int_equal(c.occupancy.level, expected);
    assert_true(c.occupancy.level >= -(int64_t)(THREADS * HELD_NS * 1000));
    assert_true(c.refused > ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_debit_is_paid_off_at_the_rate),
        cmocka_unit_test(a_question_changes_nothing),
        cmocka_unit_test(debt_is_an_hour_at_most),
        cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(a_change_keeps_what_was_earned_and_owed),
        cmocka_unit_test(threads_lose_and_gain_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
