/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/answered.h"

#define S     1000000000ull
#define LINES 256u

/* Keys of one line (their low eight bits agree) that differ above. */
#define KEY(n) ((uint64_t)(n) << 8 | 7)

static struct answered *start(void)
{
    size_t bytes = answered_bytes(LINES);
    void *memory = aligned_alloc(64, bytes);

    assert_non_null(memory);
    return answered_init(memset(memory, 0, bytes), LINES);
}

static void four_answers_take_a_line(void **state)
{
    (void)state;
    assert_int_equal(answered_bytes(2 * LINES) - answered_bytes(LINES), 64 * LINES);
}

/* A Windows client that asks again after each RST, and a silent refusal repeated by a SYN timer. */
static void a_repeat_gets_the_first_answer(void **state)
{
    struct answered *answered = start();

    (void)state;
    assert_int_equal(answered_find(answered, KEY(1), 5 * S), REASON_NONE);
    answered_note(answered, KEY(1), REASON_CAPACITY, 5 * S);
    assert_int_equal(answered_find(answered, KEY(1), 5 * S), REASON_CAPACITY);
    answered_note(answered, KEY(1), REASON_RATE, 6 * S); /* the first stands, and its time */
    assert_int_equal(answered_find(answered, KEY(1), 7 * S), REASON_CAPACITY);
    assert_int_equal(answered_find(answered, KEY(1), 8 * S - 1), REASON_CAPACITY);
    assert_int_equal(answered_find(answered, KEY(1), 8 * S), REASON_NONE);
    answered_note(answered, KEY(1), REASON_RATE, 8 * S); /* new work, a new answer */
    assert_int_equal(answered_find(answered, KEY(1), 11 * S - 1), REASON_RATE);
    assert_int_equal(answered_find(answered, KEY(1), 11 * S), REASON_NONE);
    answered_note(answered, KEY(1), REASON_SHED, 11 * S);
    answered_forget(answered, KEY(1)); /* with all that was left of it */
    assert_int_equal(answered_find(answered, KEY(1), 11 * S), REASON_NONE);
    assert_int_equal(answered_find(answered, KEY(1), 9 * S), REASON_NONE);
    free(answered);
}

static void every_reason_comes_back(void **state)
{
    struct answered *answered = start();

    (void)state;
    for (unsigned r = 1; r < REASON_MAX; r++)
        answered_note(answered, r, (enum reason)r, S); /* a line each */
    for (unsigned r = 1; r < REASON_MAX; r++)
        assert_int_equal(answered_find(answered, r, 2 * S), r);
    free(answered);
}

static void the_oldest_makes_room(void **state)
{
    struct answered *answered = start();

    (void)state;
    for (unsigned n = 0; n < 4; n++)
        answered_note(answered, KEY(n), REASON_SHED, S + n);
    answered_note(answered, KEY(0) + 1, REASON_SHED, S); /* in the next line */
    for (unsigned n = 0; n < 4; n++)
        assert_int_equal(answered_find(answered, KEY(n), 2 * S), REASON_SHED);
    answered_note(answered, KEY(4), REASON_RATE, 2 * S);
    assert_int_equal(answered_find(answered, KEY(0), 2 * S), REASON_NONE);
    for (unsigned n = 1; n < 4; n++)
        assert_int_equal(answered_find(answered, KEY(n), 2 * S), REASON_SHED);
    assert_int_equal(answered_find(answered, KEY(4), 2 * S), REASON_RATE);
    assert_int_equal(answered_find(answered, KEY(0) + 1, 2 * S), REASON_SHED);
    free(answered);
}

static void forgotten_is_unknown_and_makes_room_first(void **state)
{
    struct answered *answered = start();

    (void)state;
    answered_forget(answered, KEY(1)); /* never known */
    for (unsigned n = 0; n < 4; n++)
        answered_note(answered, KEY(n), REASON_SHED, S + n);
    answered_forget(answered, KEY(2));
    assert_int_equal(answered_find(answered, KEY(2), S), REASON_NONE);
    answered_note(answered, KEY(5), REASON_SHED, 2 * S);
    for (unsigned n = 0; n < 4; n++)
        assert_int_equal(answered_find(answered, KEY(n), 2 * S),
                         n == 2 ? REASON_NONE : REASON_SHED);
    assert_int_equal(answered_find(answered, KEY(5), 2 * S), REASON_SHED);
    free(answered);
}

/* Empty ways hold no key, not even 0 in the first second; neither 2^32 ms nor a year bring one
 * back.
 */
static void time_does_not_wrap_around(void **state)
{
    static const uint64_t later_ns[] = {(1ull << 32) * 1000000, 1ull << 32, 365 * 86400 * S,
                                        1ull << 62};
    struct answered *answered = start();

    (void)state;
    assert_int_equal(answered_find(answered, 0, 0), REASON_NONE);
    answered_note(answered, 0, REASON_SHARE, 0);
    assert_int_equal(answered_find(answered, 0, 0), REASON_SHARE);
    answered_note(answered, UINT64_MAX, REASON_SHARE, S);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(answered_find(answered, UINT64_MAX, S + later_ns[i]), REASON_NONE);
        assert_int_equal(answered_find(answered, 0, later_ns[i]), REASON_NONE);
    }
    free(answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_answers_take_a_line),
        cmocka_unit_test(a_repeat_gets_the_first_answer),
        cmocka_unit_test(every_reason_comes_back),
        cmocka_unit_test(the_oldest_makes_room),
        cmocka_unit_test(forgotten_is_unknown_and_makes_room_first),
        cmocka_unit_test(time_does_not_wrap_around),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
