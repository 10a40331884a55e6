/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One breaker on sixteen threads that all act at the same moment of a virtual clock, again and
 * again: whatever order they come in, the probes are where one thread alone would send them. Worth
 * most under ThreadSanitizer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/breaking.h"

#define WORKERS 16
#define TICK_NS (500 * US)
#define TICKS   800

struct crowd {
    struct breaker_rules rules;
    struct breaker breaker;
    pthread_barrier_t turn;
    uint64_t now_ns;     /* changed between turns only, */
    bool alive, stop;    /* as these */
    unsigned won;        /* this turn, atomic */
    unsigned may, tried; /* attempts that passed, and that asked, atomic */
};

struct worker {
    struct crowd *crowd;
    uint64_t seed;
    pthread_t thread;
};

static void attempt(struct crowd *c, uint32_t hash)
{
    enum breaker_answer answer = breaker_ask(&c->breaker, &c->rules, hash, c->now_ns);
    bool probe = answer == BREAKER_MAY_PROBE && breaker_claim(&c->breaker, &c->rules, c->now_ns);

    __atomic_add_fetch(&c->tried, 1, __ATOMIC_RELAXED);
    if (answer != BREAKER_PASS && !probe)
        return;
    __atomic_add_fetch(&c->may, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->won, probe, __ATOMIC_RELAXED);
    if (c->alive)
        breaker_success(&c->breaker, &c->rules, probe, c->now_ns);
    else
        breaker_failure(&c->breaker, &c->rules, probe, hash, c->now_ns);
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (;;) {
        pthread_barrier_wait(&w->crowd->turn);
        if (w->crowd->stop)
            return NULL;
        attempt(w->crowd, (uint32_t)random_u64(&w->seed));
        pthread_barrier_wait(&w->crowd->turn);
    }
}

/* All workers act at `now_ns`; returns how many claimed a probe. */
static unsigned play_turn(struct crowd *c, uint64_t now_ns)
{
    c->now_ns = now_ns;
    c->won = 0;
    pthread_barrier_wait(&c->turn);
    /* The control thread looks on. */
    assert_in_range(breaker_view(&c->breaker, &c->rules, now_ns).level, 0, 3);
    pthread_barrier_wait(&c->turn);
    return c->won;
}

/* Dead until 199 ms. Opened at 0 ms; probes 2, 4, 8, 12, 12 ... ms apart, one each. The first
 * after 199 ms closes it, and the ramp of 20 ms is followed by full load. */
static void probes_are_alone_and_in_time(void **state)
{
    static struct crowd c;
    struct worker workers[WORKERS];
    uint64_t next_ns = 2 * MS, gap_ns = 2 * MS;
    unsigned probes = 0;

    (void)state;
    c.rules = (struct breaker_rules){.failures = 3,
                                     .open_ns = 2 * MS,
                                     .open_max_ns = 12 * MS,
                                     .probe_ns = 5 * MS,
                                     .ramp_ns = 20 * MS};
    assert_true(breaker_rules_init(&c.rules));
    assert_int_equal(pthread_barrier_init(&c.turn, NULL, WORKERS + 1), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.crowd = &c, .seed = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned tick = 0; tick < TICKS; tick++) {
        uint64_t now_ns = tick * TICK_NS;
        unsigned won;

        c.alive = now_ns >= 199 * MS;
        won = play_turn(&c, now_ns);
        assert_int_equal(won, now_ns == next_ns);
        if (!won)
            continue;
        probes++;
        gap_ns = gap_ns < 6 * MS ? 2 * gap_ns : 12 * MS;
        next_ns = c.alive ? UINT64_MAX : now_ns + gap_ns;
        if (c.alive) {
            assert_int_equal(now_ns, 206 * MS);
            c.tried = c.may = 0;
        } else {
            assert_int_equal(state_at(&c.breaker, &c.rules, now_ns), BREAKER_OPEN);
        }
    }
    assert_int_equal(probes, 19);
    /* 387 turns, 39 of them in the ramp, which lets in 55 % of 624 +- 4 sd. */
    assert_int_equal(c.tried, 387 * WORKERS);
    assert_in_range(c.tried - c.may, 281 - 45, 281 + 45);
    assert_int_equal(state_at(&c.breaker, &c.rules, c.now_ns), BREAKER_CLOSED);
    c.stop = true;
    pthread_barrier_wait(&c.turn);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&c.turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_are_alone_and_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
