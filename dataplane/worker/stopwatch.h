/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles by step, on one burst in DATAPLANE_STEPS_EVERY while control asks for it: worker.h. At all
 * other times a step of a burst costs one branch, and no clock is read. Owner thread only.
 */
#ifndef SLUICE_WORKER_STOPWATCH_H
#define SLUICE_WORKER_STOPWATCH_H

#include <rte_cycles.h>

#include "dataplane/worker/burst.h"

/* What the two below do on the rare occasion. */
void stopwatch_choose(struct burst *b);
void stopwatch_record(struct burst *b, enum step step);

/* Once a loop: does control ask for it? */
static inline void stopwatch_ask(struct burst *b, bool sampling)
{
    b->sampling = sampling;
    b->timed = false;
}

/* Before packets are received. */
static inline void stopwatch_start(struct burst *b)
{
    if (unlikely(b->sampling))
        b->lap_cycles = rte_rdtsc();
}

/* After packets were received: empty polls are no bursts. */
static inline void stopwatch_received(struct burst *b)
{
    if (unlikely(b->sampling))
        stopwatch_choose(b);
}

/* After each further step. */
static inline void stopwatch_lap(struct burst *b, enum step step)
{
    if (unlikely(b->timed))
        stopwatch_record(b, step);
}

#endif
