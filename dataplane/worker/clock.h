/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' clock: TSC cycles to nanoseconds of CLOCK_MONOTONIC's epoch.
 *
 * The rate is measured at start against CLOCK_MONOTONIC_RAW, since the figure a kernel or DPDK
 * reports can be rounded (0.2 % has been seen), and every quota would be off by as much. Immutable
 * after clock_start(); any thread may convert.
 */
#ifndef SLUICE_WORKER_CLOCK_H
#define SLUICE_WORKER_CLOCK_H

#include <stdint.h>

#define CLOCK_CALIBRATION_NS 100000000ull /* error about 1 us in this, so 10 ppm */

struct clock {
    uint64_t base_cycles;
    uint64_t base_ns;
    uint64_t ns_per_cycle_q32; /* fixed point, 32 fractional bits */
    uint64_t measured_hz;
};

/* Takes CLOCK_CALIBRATION_NS. */
void clock_start(struct clock *clock);

static inline uint64_t clock_ns(const struct clock *clock, uint64_t cycles)
{
    __extension__ typedef unsigned __int128 wide;

    return clock->base_ns +
           (uint64_t)(((wide)(cycles - clock->base_cycles) * clock->ns_per_cycle_q32) >> 32);
}

#endif
