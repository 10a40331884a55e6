/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long things took: counts in cells that grow with the value, 32 equal steps to each doubling,
 * so that a cell is at most 1/32 (3.2 %) of the values it holds. From 1.024 us (2^10 ns) to 1.2 h
 * (2^42 ns) in 1024 cells, 8 KiB; shorter times count in the first cell, longer ones in the last.
 * Source: the log-linear layout of HdrHistogram (Tene), with a power of two of steps.
 *
 * One writer adds; other threads may read at any time with histogram_sum(), and see each cell as it
 * is at some moment. All other functions are for histograms that belong to the caller. Cells never
 * wrap (2^64) and are never reset: what happened since is histogram_diff() of two readings.
 */
#ifndef SLUICE_ADMISSION_HISTOGRAM_H
#define SLUICE_ADMISSION_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_STEP_BITS 5u /* 2^5 steps to an octave */
#define HISTOGRAM_STEPS     (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_MIN_BITS  10u /* the first octave starts at 2^10 ns, */
#define HISTOGRAM_MAX_BITS  42u /* the last ends at 2^42 ns */
#define HISTOGRAM_MIN_NS    (1ull << HISTOGRAM_MIN_BITS)
#define HISTOGRAM_MAX_NS    (1ull << HISTOGRAM_MAX_BITS)
#define HISTOGRAM_CELLS     ((HISTOGRAM_MAX_BITS - HISTOGRAM_MIN_BITS) * HISTOGRAM_STEPS)

struct histogram {
    uint64_t cells[HISTOGRAM_CELLS];
};

/* The cell of a time, 0 .. HISTOGRAM_CELLS - 1. */
static inline uint32_t histogram_index(uint64_t ns)
{
    uint32_t octave;

    if (ns < HISTOGRAM_MIN_NS)
        return 0;
    if (ns >= HISTOGRAM_MAX_NS)
        return HISTOGRAM_CELLS - 1;
    octave = 63u - (uint32_t)__builtin_clzll(ns);
    return (octave - HISTOGRAM_MIN_BITS) * HISTOGRAM_STEPS +
           (uint32_t)((ns >> (octave - HISTOGRAM_STEP_BITS)) & (HISTOGRAM_STEPS - 1));
}

/* Where a cell ends: all its times are below, except those above the range in the last one. */
static inline uint64_t histogram_upper_ns(uint32_t index)
{
    uint32_t octave = HISTOGRAM_MIN_BITS + index / HISTOGRAM_STEPS;

    return (uint64_t)(HISTOGRAM_STEPS + index % HISTOGRAM_STEPS + 1)
           << (octave - HISTOGRAM_STEP_BITS);
}

/* Counts one time. The histogram's one writer. */
static inline void histogram_add(struct histogram *h, uint64_t ns)
{
    uint64_t *cell = &h->cells[histogram_index(ns)];

    __atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* dst += src; `src` may be a worker's that goes on counting. */
void histogram_sum(struct histogram *dst, const struct histogram *src);

/* What `newer` counted after `older`, an earlier reading of the same. `dst` may be either. */
void histogram_diff(struct histogram *dst, const struct histogram *newer,
                    const struct histogram *older);

/* How many times it holds. */
uint64_t histogram_count(const struct histogram *h);

/*
 * The quantile `ppm` (0 .. 1000000) by nearest rank: the upper end of the cell of the
 * max(1, ceil(n * ppm / 10^6))th of n times in order. False, and nothing written, when it is empty.
 */
bool histogram_quantile_ns(const struct histogram *h, uint32_t ppm, uint64_t *ns);

/* How many times lie in the cell of `ns` or above it. */
uint64_t histogram_from(const struct histogram *h, uint64_t ns);

#endif
