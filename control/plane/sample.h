/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control thread takes from the workers once a period. Control thread only.
 */
#ifndef SLUICE_PLANE_SAMPLE_H
#define SLUICE_PLANE_SAMPLE_H

#include "control/plane/plane.h"

/* The counters of the last collection, from which the next one tells what happened in between. */
struct sampler {
    struct worker_counters last[DATAPLANE_WORKERS_MAX];
    uint64_t last_ns;
};

/* Collects when at least SAMPLE_SPAN_NS have passed since the last time, so that rates are steady
 * whatever the period. `now_ns` is CLOCK_MONOTONIC. */
#define SAMPLE_SPAN_NS 1000000000ull
void sample_collect(struct sampler *sampler, struct plane *plane, uint64_t now_ns);

#endif
