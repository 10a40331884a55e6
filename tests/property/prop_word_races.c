/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared words of admission (retry budget, occupancy, memory of unserved work) when two workers
 * meet: each operation is interrupted by each other one before each of its atomic accesses, and
 * what comes of it must be what comes of one of the two orders. Threads seldom show it.
 *
 * The code under test is compiled in, so that its atomics can be wrapped. (A macro is not expanded
 * within itself.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void step(void);
#define __atomic_load_n(p, o)       (step(), __atomic_load_n(p, o))
#define __atomic_store_n(p, v, o)   (step(), __atomic_store_n(p, v, o))
#define __atomic_fetch_add(p, v, o) (step(), __atomic_fetch_add(p, v, o))
#define __atomic_fetch_sub(p, v, o) (step(), __atomic_fetch_sub(p, v, o))
#define __atomic_compare_exchange_n(p, e, v, w, s, f)                                              \
    (step(), __atomic_compare_exchange_n(p, e, v, w, s, f))

#include "dataplane/admission/demand_memory.c"
#include "dataplane/admission/occupancy.h"
#include "dataplane/admission/retry.h"

/* -- one interruption -- */

/* An operation of a worker on the state at hand; returns what the worker learns. */
struct operation {
    int64_t (*run)(void *state, const struct operation *operation);
    uint64_t a, b; /* its arguments */
};

static struct {
    const struct operation *other; /* NULL: there is no more to come */
    void *state;
    int64_t learnt; /* by the other */
    unsigned steps; /* until it comes */
} interruption;

static void step(void)
{
    const struct operation *other = interruption.other;

    if (other && interruption.steps-- == 0) {
        interruption.other = NULL;
        interruption.learnt = other->run(interruption.state, other);
    }
}

/* What is left when two have run: the state as it can be seen, and what each has learnt. */
#define SEEN_MAX 16
struct result {
    int64_t seen[SEEN_MAX];
    int64_t learnt[2];
};

/* A kind of state, of at most STATE_BYTES. */
#define STATE_BYTES 1024
struct kind {
    void (*start)(void *state, unsigned variant);
    void (*see)(const void *state, int64_t seen[SEEN_MAX]);
    const struct operation *operations;
    unsigned n_operations, n_variants;
};

static _Alignas(64) unsigned char state_memory[STATE_BYTES];

static struct result serial(const struct kind *kind, unsigned variant,
                            const struct operation *pair[2], unsigned first)
{
    struct result result = {0};

    kind->start(state_memory, variant);
    result.learnt[first] = pair[first]->run(state_memory, pair[first]);
    result.learnt[!first] = pair[!first]->run(state_memory, pair[!first]);
    kind->see(state_memory, result.seen);
    return result;
}

/* Interrupts pair[0] by pair[1] before its access number `steps`; false if it has not so many. */
static bool race(const struct kind *kind, unsigned variant, const struct operation *pair[2],
                 unsigned steps, struct result *result)
{
    *result = (struct result){0};
    kind->start(state_memory, variant);
    interruption.state = state_memory;
    interruption.steps = steps;
    interruption.other = pair[1];
    result->learnt[0] = pair[0]->run(state_memory, pair[0]);
    if (interruption.other) {
        interruption.other = NULL;
        return false;
    }
    result->learnt[1] = interruption.learnt;
    kind->see(state_memory, result->seen);
    return true;
}

static bool equal(const struct result *a, const struct result *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Returns the number of interruptions that were tried. */
static unsigned race_pair(const struct kind *kind, unsigned variant, unsigned a, unsigned b)
{
    const struct operation *pair[2] = {&kind->operations[a], &kind->operations[b]};
    struct result orders[2], result;
    unsigned steps = 0;

    orders[0] = serial(kind, variant, pair, 0);
    orders[1] = serial(kind, variant, pair, 1);
    for (; race(kind, variant, pair, steps, &result); steps++)
        if (!equal(&result, &orders[0]) && !equal(&result, &orders[1]))
            fail_msg("state %u: operation %u, interrupted by %u before its access %u, is like "
                     "neither order",
                     variant, a, b, steps);
    return steps;
}

static void race_all(const struct kind *kind)
{
    unsigned races = 0;

    for (unsigned variant = 0; variant < kind->n_variants; variant++)
        for (unsigned a = 0; a < kind->n_operations; a++)
            for (unsigned b = 0; b < kind->n_operations; b++)
                races += race_pair(kind, variant, a, b);
    print_message("# %u races\n", races);
    assert_true(races > kind->n_variants * kind->n_operations * kind->n_operations);
}

/* -- retry budget -- */

static int64_t run_unique(void *state, const struct operation *operation)
{
    (void)operation;
    retry_unique(state);
    return 0;
}

static int64_t run_take(void *state, const struct operation *operation)
{
    (void)operation;
    return retry_take(state);
}

static int64_t run_untake(void *state, const struct operation *operation)
{
    (void)operation;
    retry_untake(state);
    return 0;
}

static void start_retry(void *state, unsigned variant)
{
    static const uint32_t tenths[] = {0, 9, 10, 19, 20, 50, 90, 91, 99};

    *(uint32_t *)state = tenths[variant];
}

static void see_retry(const void *state, int64_t seen[SEEN_MAX])
{
    seen[0] = retry_tenths(state);
}

static void retry_budgets(void **state)
{
    static const struct operation operations[] = {
        {.run = run_unique}, {.run = run_take}, {.run = run_untake}};
    static const struct kind kind = {start_retry, see_retry, operations, 3, 9};

    (void)state;
    /* (A budget that is full, or empty, is only read.) */
    race_all(&kind);
}

/* -- occupancy -- */

#define MS   1000000ull
#define S    1000000000ull
#define RATE 2500

static int64_t run_debit(void *state, const struct operation *operation)
{
    occupancy_debit(state, RATE, operation->a, operation->b);
    return 0;
}

/* Short of the highest debt: there, what is forgiven depends on what came first. */
static void start_occupancy(void *state, unsigned variant)
{
    static const int64_t level_ms[] = {25000, 24999, 20000, 1, 0, -1, -100000};
    struct occupancy *o = state;

    o->level = level_ms[variant] * OCCUPANCY_PS_PER_MS;
    o->last_ns = 100 * S;
}

static void see_occupancy(const void *state, int64_t seen[SEEN_MAX])
{
    const struct occupancy *o = state;

    seen[0] = o->level;
    seen[1] = (int64_t)o->last_ns;
}

/* At one time, or before the last refill. */
static void debits(void **state)
{
    static const struct operation operations[] = {{run_debit, 0, 101 * S},
                                                  {run_debit, 3 * S, 101 * S},
                                                  {run_debit, 30 * S, 101 * S},
                                                  {run_debit, 7 * S, 99 * S}};
    static const struct kind kind = {start_occupancy, see_occupancy, operations, 4, 7};

    (void)state;
    race_all(&kind);
}

static int64_t run_level(void *state, const struct operation *operation)
{
    return occupancy_level(state, RATE, operation->b);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One that looks while another refills sees less than there is, never more. Where their clocks
 * differ, there is no more than the better of the two orders leaves, and what was earned in
 * between.
 */
static void looks_and_clocks_that_differ(void **state)
{
    static const struct operation operations[] = {
        {run_debit, 0, 101 * S}, {run_debit, 3 * S, 101 * S}, {run_debit, 3 * S, 102 * S},
        {run_level, 0, 101 * S}, {run_level, 0, 102 * S},     {run_debit, 30 * S, 110 * S}};
    static const struct kind kind = {start_occupancy, see_occupancy, operations, 6, 7};

    (void)state;
    for (unsigned i = 0; i < kind.n_variants * 36; i++) {
        const struct operation *pair[2] = {&operations[i / 6 % 6], &operations[i % 6]};
        int64_t apart_ns = (int64_t)(pair[1]->b - pair[0]->b);
        int64_t between = RATE * most(apart_ns, -apart_ns);
        struct result orders[2], result;

        orders[0] = serial(&kind, i / 36, pair, 0);
        orders[1] = serial(&kind, i / 36, pair, 1);
        for (unsigned n = 0; race(&kind, i / 36, pair, n, &result); n++) {
            assert_true(result.seen[0] <= most(orders[0].seen[0], orders[1].seen[0]) + between);
            for (unsigned w = 0; w < 2; w++)
                assert_true(result.learnt[w] <=
                            most(orders[0].learnt[w], orders[1].learnt[w]) + between);
        }
    }
}

/* -- memory of unserved work -- */

#define TICK DEMAND_TICK_NS
#define KEYS 11 /* 0 .. 7 in order of age fill the line, 8 .. 10 are new */

static uint64_t key_of(uint64_t n)
{
    return (n + 1) << 44;
}

static int64_t run_note(void *state, const struct operation *operation)
{
    demand_note(state, key_of(operation->a), UINT64_MAX, operation->b);
    return 0;
}

static int64_t run_unmet(void *state, const struct operation *operation)
{
    return demand_note_unmet(state, key_of(operation->a), operation->b & 1, UINT64_MAX,
                             operation->b & ~1ull);
}

static int64_t run_met(void *state, const struct operation *operation)
{
    return demand_met(state, key_of(operation->a));
}

static int64_t run_forget(void *state, const struct operation *operation)
{
    demand_forget(state, key_of(operation->a), operation->b);
    return 0;
}

static int64_t run_find(void *state, const struct operation *operation)
{
    uint64_t first_ns;

    return demand_find(state, key_of(operation->a), UINT64_MAX, operation->b, &first_ns)
               ? (int64_t)first_ns
               : -1;
}

/* A line with so many keys, every other of them unmet twice. */
static void start_demand(void *state, unsigned variant)
{
    memset(state, 0, demand_bytes(1));
    demand_init(state, 1);
    for (unsigned n = 0; n < variant; n++)
        for (unsigned unmet = 0; unmet < 3; unmet++)
            if (unmet == 0 || n % 2)
                note(state, key_of(n), unmet ? UNMET_MASK : 0, UINT64_MAX, (n + 1) * TICK);
}

static void see_demand(const void *state, int64_t seen[SEEN_MAX])
{
    uint64_t first_ns;

    for (unsigned n = 0; n < KEYS; n++) {
        if (demand_find(state, key_of(n), UINT64_MAX, 100 * TICK, &first_ns))
            seen[n] = (int64_t)first_ns;
        while (demand_met((struct demand_memory *)state, key_of(n)))
            seen[n]++; /* below the ticks */
    }
}

static void memories_of_unserved_work(void **state)
{
    static const struct operation operations[] = {{run_note, 0, 50 * TICK},
                                                  {run_note, 8, 50 * TICK},
                                                  {run_note, 9, 51 * TICK},
                                                  {run_note, 8, 52 * TICK},
                                                  {run_forget, 0, 52 * TICK},
                                                  {run_forget, 1, 52 * TICK},
                                                  {run_forget, 7, 52 * TICK},
                                                  {run_forget, 8, 52 * TICK},
                                                  {run_find, 0, 52 * TICK},
                                                  {run_find, 8, 52 * TICK},
                                                  {run_unmet, 0, 53 * TICK | 1},
                                                  {run_unmet, 1, 53 * TICK | 1},
                                                  {run_unmet, 1, 54 * TICK},
                                                  {run_unmet, 8, 55 * TICK | 1},
                                                  {run_met, 0, 0},
                                                  {run_met, 1, 0},
                                                  {run_met, 8, 0}};
    static const struct kind kind = {start_demand, see_demand, operations, 17, 9};

    (void)state;
    race_all(&kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_budgets),
        cmocka_unit_test(debits),
        cmocka_unit_test(looks_and_clocks_that_differ),
        cmocka_unit_test(memories_of_unserved_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
