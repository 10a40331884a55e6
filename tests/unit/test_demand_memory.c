/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/demand_memory.h"
#include "tests/unit/threads.h"

#define S      1000000000ull
#define TICK   DEMAND_TICK_NS
#define WITHIN (1000 * TICK) /* the deadline, about 1 s */
#define LINES  64u

/* Keys of one line that differ in their tags. */
#define KEY(n) ((uint64_t)(n) << 44 | 7)

static struct demand_memory *start(void)
{
    size_t bytes = demand_bytes(LINES);
    void *memory = aligned_alloc(64, bytes);

    assert_non_null(memory);
    return demand_init(memset(memory, 0, bytes), LINES);
}

/* Since when, or UINT64_MAX. */
static uint64_t since_within(const struct demand_memory *m, uint64_t hash, uint64_t within_ns,
                             uint64_t now_ns)
{
    uint64_t first_ns = 0;

    return demand_find(m, hash, within_ns, now_ns, &first_ns) ? first_ns : UINT64_MAX;
}

static uint64_t since(const struct demand_memory *m, uint64_t hash, uint64_t now_ns)
{
    return since_within(m, hash, WITHIN, now_ns);
}

static void eight_keys_take_a_line(void **state)
{
    (void)state;
    assert_int_equal(demand_bytes(2 * LINES) - demand_bytes(LINES), 64 * LINES);
}

static void the_first_time_is_kept_inside_the_deadline(void **state)
{
    struct demand_memory *m = start();

    (void)state;
    assert_int_equal(since(m, KEY(1), 5000 * TICK), UINT64_MAX);
    demand_note(m, KEY(1), WITHIN, 5000 * TICK);
    assert_int_equal(since(m, KEY(1), 5000 * TICK), 5000 * TICK);
    demand_note(m, KEY(1), WITHIN, 5999 * TICK);
    assert_int_equal(since(m, KEY(1), 6000 * TICK - 1), 5000 * TICK);
    assert_int_equal(since(m, KEY(1), 6000 * TICK), UINT64_MAX);
    demand_note(m, KEY(1), WITHIN, 6000 * TICK); /* given up: this is new work */
    assert_int_equal(since(m, KEY(1), 6999 * TICK), 6000 * TICK);
    /* Rounded down to a tick; a clock behind by a little sees no age. */
    demand_note(m, KEY(2), WITHIN, 6000 * TICK + 777);
    assert_int_equal(since(m, KEY(2), 5999 * TICK), 6000 * TICK);
    assert_int_equal(since(m, KEY(2), 7000 * TICK), UINT64_MAX);
    demand_forget(m, KEY(1), 6001 * TICK);
    assert_int_equal(since(m, KEY(1), 6000 * TICK), UINT64_MAX);
    assert_int_equal(since(m, KEY(2), 6000 * TICK), 6000 * TICK);
    free(m);
}

/* Work of a service whose clients wait for long is not forgotten because another's do not. */
static void the_longest_patience_counts(void **state)
{
    struct demand_memory *m = start();

    (void)state;
    demand_note(m, KEY(1), 5000 * TICK, 100 * TICK);
    demand_note(m, KEY(2), TICK, 200 * TICK);
    assert_int_equal(since_within(m, KEY(1), 5000 * TICK, 5100 * TICK - 1), 100 * TICK);
    demand_forget(m, KEY(1), 5100 * TICK - 1);
    assert_int_equal(since_within(m, KEY(1), 5000 * TICK, 5100 * TICK - 1), UINT64_MAX);
    free(m);
}

static void the_oldest_makes_room(void **state)
{
    struct demand_memory *m = start();

    (void)state;
    for (unsigned n = 0; n < 8; n++)
        demand_note(m, KEY(n), WITHIN, (100 + (n ^ 5)) * TICK); /* the fifth is the oldest */
    demand_note(m, KEY(5) + 1, WITHIN, TICK);                   /* in the next line */
    demand_note(m, KEY(8), WITHIN, 200 * TICK);
    for (unsigned n = 0; n < 8; n++)
        assert_int_equal(since(m, KEY(n), 200 * TICK),
                         n == 5 ? UINT64_MAX : (100 + (n ^ 5)) * TICK);
    assert_int_equal(since(m, KEY(8), 200 * TICK), 200 * TICK);
    assert_int_equal(since(m, KEY(5) + 1, 200 * TICK), TICK);
    /* One that gave up and comes again has its own way, though it is the youngest. */
    demand_note(m, KEY(8), TICK, 300 * TICK);
    assert_int_equal(since(m, KEY(4), 300 * TICK), 101 * TICK);
    assert_int_equal(since(m, KEY(8), 300 * TICK), 300 * TICK);
    /* A way that was freed is taken before any other. */
    demand_forget(m, KEY(0), 300 * TICK);
    demand_note(m, KEY(9), WITHIN, 300 * TICK);
    assert_int_equal(since(m, KEY(4), 300 * TICK), 101 * TICK);
    free(m);
}

static unsigned met(struct demand_memory *m, uint64_t hash)
{
    unsigned n = 0;

    while (demand_met(m, hash))
        n++;
    return n;
}

/* Each piece is unmet once and met once; a retry is unmet if nothing of its work is. */
static void unmet_demand_is_counted_and_met(void **state)
{
    struct demand_memory *m = start();

    (void)state;
    assert_int_equal(met(m, KEY(1)), 0);
    demand_note(m, KEY(1), WITHIN, 10 * TICK);
    assert_int_equal(met(m, KEY(1)), 0);
    assert_true(demand_note_unmet(m, KEY(1), true, WITHIN, 20 * TICK));
    assert_false(demand_note_unmet(m, KEY(1), true, WITHIN, 30 * TICK));
    assert_int_equal(met(m, KEY(1)), 1);
    assert_int_equal(since(m, KEY(1), 30 * TICK), 10 * TICK); /* its age is that of the first */
    for (unsigned i = 0; i < 9; i++)
        assert_true(demand_note_unmet(m, KEY(1), false, WITHIN, 40 * TICK));
    demand_note(m, KEY(1), WITHIN, 50 * TICK);
    assert_int_equal(met(m, KEY(1)), 7);
    assert_int_equal(since(m, KEY(1), 50 * TICK), 10 * TICK);
    assert_true(demand_note_unmet(m, KEY(2), true, WITHIN, 50 * TICK));    /* forgotten early */
    assert_true(demand_note_unmet(m, KEY(2), false, WITHIN, 2000 * TICK)); /* given up: new */
    assert_int_equal(since(m, KEY(2), 2000 * TICK), 2000 * TICK);
    assert_int_equal(met(m, KEY(2)), 1);
    assert_true(demand_note_unmet(m, KEY(2), false, WITHIN, 2000 * TICK));
    demand_forget(m, KEY(2), 2000 * TICK); /* one piece was served, not this one */
    assert_int_equal(since(m, KEY(2), 2000 * TICK), 2000 * TICK);
    assert_int_equal(met(m, KEY(2)), 1);
    demand_forget(m, KEY(2), 2000 * TICK);
    assert_int_equal(since(m, KEY(2), 2000 * TICK), UINT64_MAX);
    free(m);
}

static void time_does_not_wrap_around(void **state)
{
    static const uint64_t later_ns[] = {(1ull << 32) * 1000000, 1ull << 52, 365 * 86400 * S,
                                        (1ull << 59) - 3 * TICK};
    struct demand_memory *m = start();

    (void)state;
    assert_int_equal(since(m, 0, 0), UINT64_MAX); /* an empty way is nobody's */
    demand_note(m, 0, WITHIN, 0);
    assert_int_equal(since(m, 0, 0), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(since(m, 0, later_ns[i]), UINT64_MAX);
        demand_note(m, UINT64_MAX, WITHIN, later_ns[i]);
        assert_int_equal(since(m, UINT64_MAX, later_ns[i] + TICK), later_ns[i] & ~(TICK - 1));
        assert_int_equal(since(m, 0, later_ns[i]), UINT64_MAX);
    }
    free(m);
}

/* Ten operations, each third reply late: 14 attempts, 10 of them unique. */
static void a_late_reply_is_asked_for_again(void **state)
{
    struct demand_memory *m = start();
    unsigned attempts = 0, unique = 0;

    (void)state;
    for (unsigned op = 0; op < 10; op++) {
        bool late;

        do {
            uint64_t now_ns = S + attempts++ * 100 * TICK;

            unique += since(m, KEY(1), now_ns) == UINT64_MAX;
            late = attempts % 3 == 0;
            if (late)
                demand_note(m, KEY(1), WITHIN, now_ns);
            else
                demand_forget(m, KEY(1), now_ns);
        } while (late);
    }
    assert_int_equal(attempts, 14);
    assert_int_equal(unique, 10);
    free(m);
}

/* -- threads -- */

#define ROUNDS 2000

struct party {
    struct demand_memory *memory;
    uint64_t known, missed; /* of keys just noted */
    uint64_t wrong;         /* times that were never noted, and keys that were forgotten */
    unsigned id;
};

/* Each has a key of its own in every line, and they share one: tag THREADS + 1. */
static void *hammer(void *arg)
{
    struct party *p = arg;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t now_ns = (round * THREADS + p->id) * TICK, first_ns;

        for (uint64_t line = 0; line < LINES; line++) {
            uint64_t key = (p->id + 1ull) << 44 | line;

            demand_note(p->memory, key, UINT64_MAX, now_ns);
            demand_note(p->memory, (THREADS + 1ull) << 44 | line, UINT64_MAX, now_ns);
            if (demand_find(p->memory, key, UINT64_MAX, now_ns, &first_ns)) {
                p->wrong += first_ns != now_ns;
                p->known++;
            } else {
                p->missed++;
            }
            demand_forget(p->memory, key, now_ns);
            p->wrong += demand_find(p->memory, key, UINT64_MAX, now_ns, &first_ns);
        }
        if (round % 16 == 0)
            sched_yield();
    }
    return NULL;
}

static void threads_see_whole_entries_of_their_own(void **state)
{
    struct party parties[THREADS];
    struct demand_memory *m = start();
    uint64_t missed = 0, known = 0, first_ns;

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        parties[i] = (struct party){.memory = m, .id = i};
    threads_run_each(hammer, parties, sizeof(parties[0]));
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(parties[i].wrong, 0);
        missed += parties[i].missed;
        known += parties[i].known;
    }
    assert_int_equal(known + missed, THREADS * ROUNDS * LINES);
    print_message("# %u of %u notes lost in races\n", (unsigned)missed, THREADS * ROUNDS * LINES);
    assert_true(missed <= known / 100); /* five keys in eight ways */
    for (uint64_t line = 0; line < LINES; line++) {
        assert_true(demand_find(m, (THREADS + 1ull) << 44 | line, UINT64_MAX, S, &first_ns));
        for (uint64_t id = 0; id < THREADS; id++)
            assert_false(demand_find(m, (id + 1) << 44 | line, UINT64_MAX, S, &first_ns));
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_keys_take_a_line),
        cmocka_unit_test(the_first_time_is_kept_inside_the_deadline),
        cmocka_unit_test(the_longest_patience_counts),
        cmocka_unit_test(the_oldest_makes_room),
        cmocka_unit_test(unmet_demand_is_counted_and_met),
        cmocka_unit_test(time_does_not_wrap_around),
        cmocka_unit_test(a_late_reply_is_asked_for_again),
        cmocka_unit_test(threads_see_whole_entries_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
