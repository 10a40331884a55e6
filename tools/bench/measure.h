/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of a row and of the base by turns, so that a drift of the machine meets both.
 */
#ifndef SLUICE_BENCH_MEASURE_H
#define SLUICE_BENCH_MEASURE_H

#include <stddef.h>

#include "tools/bench/rows.h"

/* TSC cycles per packet. Medians of the runs, and the least and the most of them. */
struct result {
    double cycles, base_cycles;
    double min, max, base_min, base_max;
    uint32_t runs;
    uint64_t packets; /* in a run */
};

/*
 * 0, or -EIO with a sentence in `why` when the packets did not do what the row claims. `runs` is at
 * most OPTIONS_RUNS_MAX. Under callgrind only what is measured is counted, and each run ends with a
 * dump named "ROW FLOWS TENANTS ORDER PACKETS", with "base:" before those of the base.
 */
int measure_row(struct scene *scene, const struct row *row, uint32_t runs, uint64_t packets,
                struct result *result, char *why, size_t why_bytes);

#endif
