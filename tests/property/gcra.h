/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generic cell rate algorithm as a virtual schedule (ITU-T I.371 annex A), written without any
 * knowledge of the token bucket it judges.
 *
 * Exact: the theoretical arrival time is a rational number of nanoseconds with the rate as its
 * denominator, kept as its numerator in 128 bits. `unit` is what one event (or byte) adds to it,
 * `depth` how much may be in the bucket at once. A clock that steps back stands still.
 */
#ifndef SLUICE_TESTS_GCRA_H
#define SLUICE_TESTS_GCRA_H

#include <stdbool.h>
#include <stdint.h>

struct gcra {
    __int128_t rate, unit, depth;
    __int128_t arrival; /* theoretical, times rate */
    uint64_t clock_ns;  /* of the last conforming event */
};

static inline struct gcra gcra_start(uint64_t rate, uint64_t unit, uint64_t depth_units,
                                     uint64_t now_ns)
{
    return (struct gcra){
        .rate = rate,
        .unit = unit,
        .depth = (__int128_t)unit * depth_units,
        .arrival = (__int128_t)now_ns * rate,
        .clock_ns = now_ns,
    };
}

static inline bool gcra_conforms(struct gcra *g, uint64_t n, uint64_t now_ns)
{
    uint64_t clock_ns = now_ns > g->clock_ns ? now_ns : g->clock_ns;
    __int128_t now = clock_ns * g->rate;
    __int128_t next = (g->arrival > now ? g->arrival : now) + n * g->unit;

    if (g->rate == 0 || next - now > g->depth)
        return false;
    g->arrival = next;
    g->clock_ns = clock_ns;
    return true;
}

#endif
