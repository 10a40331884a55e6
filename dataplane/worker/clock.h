/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' clock: TSC cycles to nanoseconds of CLOCK_MONOTONIC.
 *
 * The rate is measured at start against CLOCK_MONOTONIC_RAW, since the figure a kernel or DPDK
 * reports can be rounded (0.2 % has been seen), and every quota would be off by as much. From then
 * on the control thread follows CLOCK_MONOTONIC, by which programs in the kernel tell how old a
 * sign of life is. An error is worked off by going faster or slower, never by going back: each line
 * begins where the last one ends.
 *
 * Written by the control thread alone. Any thread may convert: the line in force is not the one
 * being written, so nobody waits for a writer that was interrupted.
 */
#ifndef SLUICE_WORKER_CLOCK_H
#define SLUICE_WORKER_CLOCK_H

#include <stdint.h>

#define CLOCK_CALIBRATION_NS 100000000ull /* error about 1 us in this, so 10 ppm */
#define CLOCK_REFIT_MIN_NS   5000000ull   /* between two looks: the shorter, the less exact */
#define CLOCK_SLEW_PPM       500          /* beyond the measured rate, to work off an error */
/* That far behind, after a pause of the machine, it jumps: a second would take half an hour to work
 * off, and signs of life would look too old meanwhile. Half of the shortest time for which a
 * stand-in waits for one. */
#define CLOCK_JUMP_NS 10000000ll

/* Both clocks at one moment. */
struct clock_reading {
    uint64_t cycles, kernel_ns;
};

struct clock_line {
    uint64_t base_cycles, base_ns;
    uint64_t ns_per_cycle_q32; /* fixed point, 32 fractional bits */
};

struct clock {
    uint64_t sequence; /* of refits; atomic, as the lines: the last bit says which is in force */
    struct clock_line lines[2];
    /* the control thread's */
    uint64_t measured_hz;                      /* at start */
    double nominal_ns_per_cycle, ns_per_cycle; /* at start, and as measured of late */
    struct clock_reading last;
    int64_t error_ns; /* clock_error_ns(); atomic */
};

/* Takes CLOCK_CALIBRATION_NS. */
void clock_start(struct clock *clock);

/* From here at this rate. */
void clock_begin(struct clock *clock, const struct clock_reading *now, double ns_per_cycle);

/* Once a period: looks at both clocks. */
void clock_follow(struct clock *clock);

/* From the reading on goes by a new line. Nothing happens sooner than CLOCK_REFIT_MIN_NS after the
 * last one. */
void clock_refit(struct clock *clock, const struct clock_reading *now);

/* Cycles from before the line began count back along it. So a reader whose cycles lie between the
 * beginning of a line and its publication may find the next moment some ns earlier. */
static inline uint64_t clock_ns(const struct clock *clock, uint64_t cycles)
{
    __extension__ typedef __int128 wide;
    uint64_t sequence, base_cycles, base_ns, rate_q32;

    do {
        const struct clock_line *line;

        sequence = __atomic_load_n(&clock->sequence, __ATOMIC_ACQUIRE);
        line = &clock->lines[sequence & 1];
        /* Each keeps the last look at the count behind it. */
        base_cycles = __atomic_load_n(&line->base_cycles, __ATOMIC_ACQUIRE);
        base_ns = __atomic_load_n(&line->base_ns, __ATOMIC_ACQUIRE);
        rate_q32 = __atomic_load_n(&line->ns_per_cycle_q32, __ATOMIC_ACQUIRE);
    } while (sequence != __atomic_load_n(&clock->sequence, __ATOMIC_RELAXED));
    return base_ns + (uint64_t)(((wide)(int64_t)(cycles - base_cycles) * (wide)rate_q32) >> 32);
}

/* Of CLOCK_MONOTONIC over the clock, at the last look. After a pause of the machine in which the
 * TSC went on the clock is ahead for long, as it never goes back; who looks from outside must know.
 */
static inline int64_t clock_error_ns(const struct clock *clock)
{
    return __atomic_load_n(&clock->error_ns, __ATOMIC_RELAXED);
}

#endif
