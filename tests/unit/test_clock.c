/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' clock against a kernel's that goes its own way: 2.5 GHz, a look every 50 ms, and
 * what each look finds is known to the nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "dataplane/worker/clock.h"

#define PERIOD_NS 50000000ull
#define START_NS  1000000000000ull /* of the kernel's clock */
#define PER_NS    2.5              /* cycles */

struct machine {
    struct clock clock;
    struct clock_reading now;
};

static void start(struct machine *m)
{
    memset(m, 0, sizeof(*m));
    m->now = (struct clock_reading){77, START_NS};
    clock_begin(&m->clock, &m->now, 1 / PER_NS);
}

/* A period of the kernel's, in which the TSC goes `ppm` slower than was measured, and a look. */
static int64_t pass(struct machine *m, uint64_t span_ns, double ppm)
{
    m->now.kernel_ns += span_ns;
    m->now.cycles += (uint64_t)((double)span_ns * PER_NS * (1 - ppm * 1e-6));
    clock_refit(&m->clock, &m->now);
    return m->clock.error_ns;
}

static int64_t ahead_ns(const struct machine *m, uint64_t cycles)
{
    return (int64_t)(clock_ns(&m->clock, cycles) - m->now.kernel_ns);
}

static void before_the_first_look_it_goes_as_measured(void **state)
{
    struct machine m;

    (void)state;
    start(&m);
    assert_int_equal(clock_ns(&m.clock, 77), START_NS);
    assert_in_range(clock_ns(&m.clock, 77 + 2500000000), START_NS + 999999998,
                    START_NS + 1000000000);
    /* Cycles from before the line, as a worker may hold them that was interrupted. */
    assert_in_range(clock_ns(&m.clock, 77 - 25), START_NS - 11, START_NS - 10);
}

/* The error is 5 us after a period, is worked off by halves, and so is that of the rate. */
static void case_drift_is_followed(double ppm)
{
    static const int64_t errors_ns[] = {5000, 5000, 3750, 2500, 1562, 937, 546, 312, 175, 97};
    struct machine m;

    start(&m);
    for (unsigned i = 0; i < sizeof(errors_ns) / sizeof(errors_ns[0]); i++) {
        int64_t error_ns = pass(&m, PERIOD_NS, ppm);

        if (ppm < 0)
            error_ns = -error_ns;
        assert_in_range(error_ns + 10, errors_ns[i] + 4, errors_ns[i] + 16);
    }
    for (unsigned i = 0; i < 1000; i++)
        pass(&m, PERIOD_NS, ppm);
    assert_in_range(m.clock.error_ns + 10, 7, 13);
}

static void drift_of_100_ppm_is_followed_either_way(void **state)
{
    (void)state;
    case_drift_is_followed(100);
    case_drift_is_followed(-100);
}

/* However looks err, each line begins where the last one ends, and none goes back. */
static void it_never_goes_back(void **state)
{
    uint64_t random = 1, previous_ns = 0, cycles;
    struct machine m;

    (void)state;
    start(&m);
    for (unsigned i = 0; i < 20000; i++) {
        struct clock_reading wrong;
        uint64_t line_ns;

        random = random * 6364136223846793005ull + 1442695040888963407ull;
        m.now.kernel_ns += PERIOD_NS;
        m.now.cycles += (uint64_t)((double)PERIOD_NS * PER_NS);
        wrong = m.now;
        wrong.kernel_ns += (random >> 33) % 8000000; /* up to 8 ms, and back */
        line_ns = clock_ns(&m.clock, wrong.cycles);
        clock_refit(&m.clock, &wrong);
        assert_true(clock_ns(&m.clock, wrong.cycles) == line_ns);
        for (cycles = wrong.cycles; cycles < wrong.cycles + 1000; cycles += 13) {
            uint64_t ns = clock_ns(&m.clock, cycles);

            assert_true(ns >= previous_ns);
            previous_ns = ns;
        }
    }
}

/* Nor faster than 500 ppm: 5 ms of error take so long. */
static void errors_are_worked_off_slowly(void **state)
{
    const int64_t step_ns = (int64_t)(PERIOD_NS * CLOCK_SLEW_PPM / 1000000);
    struct machine m;
    int64_t error_ns = 5000000;

    (void)state;
    start(&m);
    m.now.kernel_ns += (uint64_t)error_ns; /* no rate: 100000 ppm */
    assert_in_range(pass(&m, PERIOD_NS, 0), error_ns - 1, error_ns + 1);
    for (unsigned i = 0; i < 100; i++) {
        error_ns -= step_ns;
        assert_in_range(pass(&m, PERIOD_NS, 0), error_ns - 200, error_ns + 200);
    }
    /* And the other way: it has run ahead, and waits for no one, but goes slower. */
    start(&m);
    m.now.cycles += 2500000 * 5;
    error_ns = -5000000;
    assert_in_range(-pass(&m, PERIOD_NS, 0), -error_ns - 1, -error_ns + 1);
    for (unsigned i = 0; i < 100; i++) {
        error_ns += step_ns;
        assert_in_range(-pass(&m, PERIOD_NS, 0), -error_ns - 200, -error_ns + 200);
    }
}

/* The machine stood still, its TSC as well, and the kernel was told: at once. */
static void after_a_pause_of_the_machine_it_jumps(void **state)
{
    static const uint64_t pauses_ns[] = {CLOCK_JUMP_NS + 1000, 1000000000, 3600000000000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct machine m;

        start(&m);
        for (unsigned k = 0; k < 20; k++)
            pass(&m, PERIOD_NS, 0);
        m.now.kernel_ns += pauses_ns[i];
        assert_in_range(pass(&m, PERIOD_NS, 0), pauses_ns[i] - 10, pauses_ns[i] + 10);
        assert_int_equal(ahead_ns(&m, m.now.cycles), 0);
        /* The pause was no rate. */
        assert_in_range(pass(&m, PERIOD_NS, 0) + 10, 7, 13);
    }
}

/* It went on while nobody looked, at its rate: that is no error. */
static void long_silence_of_the_control_thread_is_no_error(void **state)
{
    struct machine m;

    (void)state;
    start(&m);
    for (unsigned k = 0; k < 100; k++)
        pass(&m, PERIOD_NS, 30);
    assert_in_range(pass(&m, 200 * PERIOD_NS, 30) + 1000, 500, 1500); /* of 10 s */
}

static void looks_too_soon_change_nothing(void **state)
{
    struct machine m, before;

    (void)state;
    start(&m);
    pass(&m, PERIOD_NS, 0);
    before = m;
    pass(&m, CLOCK_REFIT_MIN_NS - 1, 100000);
    assert_memory_equal(&m.clock, &before.clock, sizeof(m.clock));
    pass(&m, 1, 0);
    assert_int_equal(m.clock.sequence, before.clock.sequence + 1);
}

/* -- the one of this machine, with readers -- */

#define READERS 2
#define READS   1000000

struct reader {
    pthread_t thread;
    const struct clock *clock;
    const uint32_t *stop; /* atomic */
    uint64_t reads;       /* atomic */
    uint64_t worst_back_ns;
};

static void *read_on(void *argument)
{
    struct reader *r = argument;
    uint64_t cycles = 0, previous_ns = 0;

    while (!__atomic_load_n(r->stop, __ATOMIC_RELAXED)) {
        uint64_t ns = clock_ns(r->clock, cycles += 10);

        if (previous_ns > ns && previous_ns - ns > r->worst_back_ns)
            r->worst_back_ns = previous_ns - ns;
        previous_ns = ns;
        __atomic_store_n(&r->reads, r->reads + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Each line says of any cycles nearly what the others say; a mixture of two would be far off. */
static void readers_never_see_half_a_line(void **state)
{
    struct reader readers[READERS] = {0};
    uint32_t stop = 0;
    struct machine m;

    (void)state;
    start(&m);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i].clock = &m.clock;
        readers[i].stop = &stop;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (unsigned i = 0; i < READERS; i++)
        while (__atomic_load_n(&readers[i].reads, __ATOMIC_RELAXED) < READS)
            pass(&m, PERIOD_NS, 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_true(readers[i].worst_back_ns < PERIOD_NS / 2);
    }
}

static void this_machines_clock_stays_close(void **state)
{
    struct clock clock = {0};

    (void)state;
    clock_start(&clock);
    assert_true(clock.measured_hz > 100000000);
    clock_follow(&clock);
    assert_int_equal(clock.sequence, 1); /* too soon */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_look_it_goes_as_measured),
        cmocka_unit_test(drift_of_100_ppm_is_followed_either_way),
        cmocka_unit_test(it_never_goes_back),
        cmocka_unit_test(errors_are_worked_off_slowly),
        cmocka_unit_test(after_a_pause_of_the_machine_it_jumps),
        cmocka_unit_test(long_silence_of_the_control_thread_is_no_error),
        cmocka_unit_test(looks_too_soon_change_nothing),
        cmocka_unit_test(readers_never_see_half_a_line),
        cmocka_unit_test(this_machines_clock_stays_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
