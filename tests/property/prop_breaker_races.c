/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A breaker between any two of its atomic operations: sixteen workers and the control thread are
 * coroutines that may be stopped before each of them, for a moment or for long, in an order that a
 * seed repeats. Every change of the word is held to the table in the header.
 *
 * The code under test is compiled in, so that its atomics can be wrapped. (A macro is not expanded
 * within itself.)
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include <cmocka.h>

static void step(void);
static bool note_change(uint64_t from, uint64_t to, bool changed);
#define __atomic_load_n(p, o)       (step(), __atomic_load_n(p, o))
#define __atomic_store_n(p, v, o)   (step(), __atomic_store_n(p, v, o))
#define __atomic_add_fetch(p, v, o) (step(), __atomic_add_fetch(p, v, o))
#define __atomic_compare_exchange_n(p, e, v, w, s, f)                                              \
    (step(), note_change(*(e), v, __atomic_compare_exchange_n(p, e, v, w, s, f)))

#include "dataplane/admission/breaker.c"
#include "tests/property/random.h"

#define WORKERS     16
#define CONTROL     WORKERS
#define COROUTINES  (WORKERS + 1)
#define NOBODY      COROUTINES
#define STACK_BYTES 32768
#define US          1000ull
#define MS          1000000ull

/* A step takes up to 16 ns; now and then, up to PAUSE_NS. */
#define STEP_NS  16
#define PAUSE_NS (100 * US)
#define GRID_NS  (100 * US)
#define HELD_NS  (5 * PAUSE_NS) /* the longest any call may take; checked */

struct coroutine {
    ucontext_t context;
    uint64_t wake_ns; /* not before */
    bool probe;       /* it holds the probe */
    bool failing;     /* inside breaker_failure() */
    char stack[STACK_BYTES] __attribute__((aligned(64)));
};

struct world {
    struct breaker_rules rules;
    struct breaker breaker;
    struct coroutine all[COROUTINES];
    ucontext_t home;  /* the scheduler */
    unsigned running; /* coroutine */
    bool alive, trips, loses;
    uint64_t seed, now_ns, longest_ns;
    uint64_t changes[4][4]; /* of states */
    uint64_t outdone;       /* changes that came too late */
    uint64_t failures;      /* that may be counted since it last closed */
    uint64_t won, lost, claimed_ns;
    bool last_lost; /* the last probe has no result */
};

static struct world world;

static void pause_for(struct world *w, uint64_t ns)
{
    struct coroutine *c = &w->all[w->running];

    c->wake_ns = w->now_ns + ns;
    swapcontext(&c->context, &w->home);
}

/* Between calls: until one of few moments, so that many wake at once. */
static void sleep_for(struct world *w, uint64_t ns)
{
    uint64_t wake_ns = (w->now_ns + ns + GRID_NS) / GRID_NS * GRID_NS;

    pause_for(w, wake_ns - w->now_ns);
}

/* Before every atomic operation. Outside of coroutines, nothing. */
static void step(void)
{
    struct world *w = &world;

    if (w->running == NOBODY)
        return;
    w->now_ns += random_below(&w->seed, STEP_NS + 1);
    if (random_below(&w->seed, 4) == 0)
        pause_for(w, random_below(&w->seed, 50) ? 0 : random_below(&w->seed, PAUSE_NS));
}

/* -- what must hold of each change -- */

static void check_opening(const struct world *w, const struct breaker_view *from,
                          const struct breaker_view *to)
{
    uint64_t least_ns =
        from->state == BREAKER_CLOSED ? w->rules.open_ns : level_ns(&w->rules, to->level);

    assert_true(w->running == CONTROL || w->failures >= w->rules.failures);
    assert_true(to->until_ns + HELD_NS >= w->now_ns + least_ns / 10 * 9);
    assert_true(to->until_ns <= w->now_ns + least_ns / 10 * 11 + US);
}

static void check_claim(struct world *w, const struct breaker_view *from)
{
    uint64_t least_ns = w->rules.open_ns / 10 * 9;

    if (w->last_lost)
        least_ns = w->rules.probe_ns + level_ns(&w->rules, 1) / 10 * 9;
    assert_true(from->state == BREAKER_HALF_OPEN || w->now_ns >= from->until_ns);
    if (w->won)
        assert_true(w->now_ns + HELD_NS >= w->claimed_ns + least_ns);
    if (from->state == BREAKER_HALF_OPEN)
        assert_true(w->last_lost);
    w->claimed_ns = w->now_ns;
    w->last_lost = true; /* until its result decides */
}

static void check_closing(struct world *w)
{
    w->failures = 0;
    for (unsigned i = 0; i < WORKERS; i++)
        w->failures += w->all[i].failing;
}

static bool note_change(uint64_t from_word, uint64_t to_word, bool changed)
{
    struct world *w = &world;
    struct breaker_view from = word_read(from_word), to = word_read(to_word);

    w->outdone += !changed;
    if (!changed)
        return false;
    w->changes[from.state][to.state]++;
    assert_int_equal(to.generation, (from.generation + 1) & BREAKER_GENERATION_MAX);
    if (from.state == BREAKER_HALF_OPEN && to.state != BREAKER_HALF_OPEN) {
        assert_true(w->all[w->running].probe);
        w->last_lost = false;
    }
    if (to.state == BREAKER_HALF_OPEN)
        check_claim(w, &from);
    else if (to.state == BREAKER_OPEN && from.state != BREAKER_HALF_OPEN)
        check_opening(w, &from, &to);
    else if (to.state != BREAKER_OPEN)
        check_closing(w);
    return true;
}

/* -- what the coroutines do -- */

static void give_result(struct world *w, struct coroutine *c)
{
    uint64_t now_ns = w->now_ns;

    if (w->alive) {
        breaker_success(&w->breaker, &w->rules, c->probe, now_ns);
    } else {
        w->failures++;
        c->failing = true;
        breaker_failure(&w->breaker, &w->rules, c->probe, (uint32_t)random_u64(&w->seed), now_ns);
        c->failing = false;
    }
    if (w->now_ns - now_ns > w->longest_ns)
        w->longest_ns = w->now_ns - now_ns;
}

/* One attempt and, after some time, its result. */
static void attempt(struct world *w, struct coroutine *c)
{
    uint64_t now_ns = w->now_ns;
    enum breaker_answer answer =
        breaker_ask(&w->breaker, &w->rules, (uint32_t)random_u64(&w->seed), now_ns);

    c->probe = false;
    if (answer == BREAKER_MAY_PROBE) {
        c->probe = breaker_claim(&w->breaker, &w->rules, now_ns);
        w->won += c->probe;
    }
    if (w->now_ns - now_ns > w->longest_ns)
        w->longest_ns = w->now_ns - now_ns;
    if (answer != BREAKER_PASS && !c->probe)
        return;
    if (c->probe && w->loses && random_below(&w->seed, 4) == 0) {
        w->lost++;
        return;
    }
    sleep_for(w, random_below(&w->seed, PAUSE_NS));
    give_result(w, c);
}

static void coroutine(void)
{
    struct world *w = &world;
    unsigned self = w->running;

    for (;;) {
        if (self != CONTROL)
            attempt(w, &w->all[self]);
        else if (w->trips)
            breaker_trip(&w->breaker, &w->rules, (uint32_t)random_u64(&w->seed), w->now_ns);
        sleep_for(w, random_below(&w->seed, self == CONTROL ? 30 * MS : 500 * US));
    }
}

/* -- the scheduler -- */

/* A coroutine that is awake; time passes until there is one. */
static unsigned next_coroutine(struct world *w)
{
    unsigned ready[COROUTINES], n = 0;
    uint64_t first_ns = UINT64_MAX;

    for (unsigned i = 0; i < COROUTINES; i++) {
        if (w->all[i].wake_ns <= w->now_ns)
            ready[n++] = i;
        else if (w->all[i].wake_ns < first_ns)
            first_ns = w->all[i].wake_ns;
    }
    if (n > 0)
        return ready[random_below(&w->seed, n)];
    w->now_ns = first_ns;
    return next_coroutine(w);
}

static void run_for(struct world *w, uint64_t ns)
{
    uint64_t end_ns = w->now_ns + ns;

    while (w->now_ns < end_ns) {
        w->running = next_coroutine(w);
        swapcontext(&w->home, &w->all[w->running].context);
        w->running = NOBODY;
    }
}

static void start(struct world *w, uint64_t seed, bool trips, bool loses)
{
    *w = (struct world){.seed = seed, .trips = trips, .loses = loses, .running = NOBODY};
    w->rules = (struct breaker_rules){.failures = 1 + (uint32_t)random_below(&w->seed, 4),
                                      .open_ns = 2 * MS,
                                      .open_max_ns = 9 * MS,
                                      .probe_ns = 3 * MS,
                                      .ramp_ns = random_below(&w->seed, 4) ? 5 * MS : 0,
                                      .jitter_ppm = BREAKER_JITTER_MAX};
    assert_true(breaker_rules_init(&w->rules));
    for (unsigned i = 0; i < COROUTINES; i++) {
        getcontext(&w->all[i].context);
        w->all[i].context.uc_stack.ss_sp = w->all[i].stack;
        w->all[i].context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&w->all[i].context, coroutine, 0);
    }
}

/* Full load one open period (and a lost probe before it) and a ramp after the backend is back. */
static void check_recovers(struct world *w)
{
    w->alive = true;
    w->loses = w->trips = false;
    run_for(w, w->rules.probe_ns + w->rules.open_max_ns / 10 * 11 + w->rules.ramp_ns + 4 * HELD_NS);
    assert_int_equal(breaker_view(&w->breaker, &w->rules, w->now_ns).state, BREAKER_CLOSED);
}

static void play(uint64_t seeds, bool trips, bool loses, uint64_t changes[4][4])
{
    struct world *w = &world;
    uint64_t outdone = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        start(w, seed, trips, loses);
        for (unsigned phase = 0; phase < 12; phase++) {
            w->alive = random_below(&w->seed, 2);
            run_for(w, random_below(&w->seed, 25 * MS));
        }
        check_recovers(w);
        assert_true(w->longest_ns < HELD_NS);
        assert_int_equal(w->won, w->changes[BREAKER_OPEN][BREAKER_HALF_OPEN] +
                                     w->changes[BREAKER_HALF_OPEN][BREAKER_HALF_OPEN]);
        for (unsigned from = 0; from < 4; from++)
            for (unsigned to = 0; to < 4; to++)
                changes[from][to] += w->changes[from][to];
        outdone += w->outdone;
    }
    print_message("# %" PRIu64 " changes came too late\n", outdone);
    assert_true(outdone > 100);
}

static void assert_changes(uint64_t changes[4][4], bool loses)
{
    static const bool legal[4][4] = {[BREAKER_CLOSED] = {[BREAKER_OPEN] = true},
                                     [BREAKER_RAMPING] = {[BREAKER_OPEN] = true},
                                     [BREAKER_OPEN] = {[BREAKER_HALF_OPEN] = true},
                                     [BREAKER_HALF_OPEN] = {true, true, true, true}};

    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 4; to++) {
            bool may = legal[from][to] && (from != to || loses);

            if (changes[from][to])
                print_message("# %s -> %s: %" PRIu64 "\n", breaker_state_name(from),
                              breaker_state_name(to), changes[from][to]);
            assert_int_equal(changes[from][to] > 10, may);
        }
}

static void workers_in_any_order(void **state)
{
    uint64_t changes[4][4] = {0};

    (void)state;
    play(30, false, false, changes);
    assert_changes(changes, false);
}

static void probes_lost_and_trips_at_any_moment(void **state)
{
    uint64_t changes[4][4] = {0};

    (void)state;
    play(30, true, true, changes);
    assert_changes(changes, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_in_any_order),
        cmocka_unit_test(probes_lost_and_trips_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
