/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/clock.h"

#include <rte_cycles.h>
#include <time.h>

static uint64_t now_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

struct reading {
    uint64_t cycles, raw_ns;
};

/* The tightest of a few readings: the thread may be interrupted between the two clocks. */
static struct reading read_both(void)
{
    struct reading best = {0, 0};
    uint64_t best_gap = UINT64_MAX;

    for (int i = 0; i < 32; i++) {
        uint64_t before = rte_rdtsc_precise();
        uint64_t raw_ns = now_ns(CLOCK_MONOTONIC_RAW);
        uint64_t gap = rte_rdtsc_precise() - before;

        if (gap < best_gap) {
            best_gap = gap;
            best = (struct reading){before + gap / 2, raw_ns};
        }
    }
    return best;
}

void clock_start(struct clock *clock)
{
    const struct timespec pause = {.tv_nsec = CLOCK_CALIBRATION_NS};
    struct reading first = read_both(), last;

    nanosleep(&pause, NULL);
    last = read_both();
    clock->measured_hz = (uint64_t)((double)(last.cycles - first.cycles) * 1e9 /
                                    (double)(last.raw_ns - first.raw_ns));
    clock->ns_per_cycle_q32 = (uint64_t)((double)(last.raw_ns - first.raw_ns) * 4294967296.0 /
                                         (double)(last.cycles - first.cycles));
    clock->base_cycles = rte_rdtsc();
    clock->base_ns = now_ns(CLOCK_MONOTONIC);
}
