/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/window.h"
#include "tests/unit/threads.h"

static void limit_is_exact(void **state)
{
    static const uint32_t limits[] = {0, 1, 2, 6, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct window w = {0};
        uint32_t limit = limits[i];

        for (uint32_t n = 0; n < limit; n++)
            assert_true(window_acquire(&w, limit));
        for (unsigned again = 0; again < 3; again++)
            assert_false(window_acquire(&w, limit));
        assert_int_equal(window_used(&w), limit); /* a refusal holds nothing */
        assert_int_equal(window_peak(&w), limit);
        for (uint32_t n = 0; n < limit; n++) {
            window_release(&w);
            assert_true(window_acquire(&w, limit));
            window_release(&w);
        }
        assert_int_equal(window_used(&w), 0);
        assert_int_equal(window_peak(&w), limit);
    }
}

/* In the same word, each with a limit of its own. */
static void opening_slots_are_slots(void **state)
{
    struct window w = {0};

    (void)state;
    assert_true(window_acquire(&w, 5));
    assert_int_equal(window_acquire_opening(&w, 5, 2), WINDOW_TAKEN);
    assert_int_equal(window_acquire_opening(&w, 5, 2), WINDOW_TAKEN);
    assert_int_equal(window_acquire_opening(&w, 5, 2), WINDOW_OPENING_FULL);
    assert_int_equal(window_used(&w), 3);
    assert_int_equal(window_opening(&w), 2);
    assert_true(window_acquire(&w, 5));
    assert_true(window_acquire(&w, 5));
    assert_int_equal(window_acquire_opening(&w, 5, 3), WINDOW_FULL);
    assert_false(window_acquire(&w, 5));
    window_confirm(&w);
    assert_int_equal(window_used(&w), 5);
    assert_int_equal(window_opening(&w), 1);
    window_release_opening(&w);
    window_release(&w);
    assert_int_equal(window_used(&w), 3);
    assert_int_equal(window_opening(&w), 0);
    assert_int_equal(window_peak(&w), 5);
}

static void force_makes_debt(void **state)
{
    struct window w = {0};

    (void)state;
    assert_true(window_acquire(&w, 2));
    for (unsigned i = 0; i < 4; i++)
        window_force(&w);
    assert_int_equal(window_used(&w), 5);
    assert_int_equal(window_peak(&w), 5);
    assert_int_equal(window_debt(&w, 2), 3);
    /* Nobody enters until the use is below the limit, not only at it. */
    for (uint32_t used = 5; used >= 2; used--) {
        assert_int_equal(window_debt(&w, 2), used - 2);
        assert_false(window_acquire(&w, 2));
        assert_int_equal(window_used(&w), used);
        window_release(&w);
    }
    assert_true(window_acquire(&w, 2));
    assert_int_equal(window_debt(&w, 2), 0);
    assert_int_equal(window_peak(&w), 5);
}

static void lower_limit_makes_debt(void **state)
{
    struct window w = {0};

    (void)state;
    for (unsigned i = 0; i < 10; i++)
        assert_true(window_acquire(&w, 10));
    assert_int_equal(window_debt(&w, 10), 0);
    assert_int_equal(window_debt(&w, 4), 6);
    assert_false(window_acquire(&w, 4));
    assert_int_equal(window_debt(&w, 0), 10);
    assert_true(window_acquire(&w, 11));
}

#define ROUNDS 200000
#define LIMIT  6

/* `inside` counts the holders on its own, as a backend would. */
struct crowd {
    struct window window;
    uint32_t inside, most_inside;
    uint64_t admitted, refused;
};

/* Holds up to three slots, gives them back in turn. */
static void *hammer(void *arg)
{
    struct crowd *c = arg;
    uint64_t admitted = 0, refused = 0;
    unsigned held = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (held < 3 && window_acquire(&c->window, LIMIT)) {
            threads_count_in(&c->inside, &c->most_inside);
            held++;
            admitted++;
        } else {
            refused += held < 3;
            if (held) {
                threads_count_out(&c->inside);
                window_release(&c->window);
                held--;
            }
        }
        if (i % 64 == 0)
            sched_yield(); /* with slots in hand, so that others find them taken */
    }
    for (; held; held--) {
        threads_count_out(&c->inside);
        window_release(&c->window);
    }
    __atomic_add_fetch(&c->admitted, admitted, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->refused, refused, __ATOMIC_RELAXED);
    return NULL;
}

static void never_over_admits_among_threads(void **state)
{
    static struct crowd c;

    (void)state;
    threads_run(hammer, &c);
    assert_true(c.most_inside <= LIMIT);
    assert_int_equal(window_peak(&c.window), LIMIT); /* contended, and never above */
    assert_int_equal(window_used(&c.window), 0);
    assert_true(c.admitted > 0 && c.refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_is_exact),
        cmocka_unit_test(opening_slots_are_slots),
        cmocka_unit_test(force_makes_debt),
        cmocka_unit_test(lower_limit_makes_debt),
        cmocka_unit_test(never_over_admits_among_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
