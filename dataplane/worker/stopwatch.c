/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/stopwatch.h"

void stopwatch_record(struct burst *b, enum step step)
{
    uint64_t now_cycles = rte_rdtsc();

    worker_count(&b->worker->steps.cycles[step], now_cycles - b->lap_cycles);
    b->lap_cycles = now_cycles;
}

void stopwatch_choose(struct burst *b)
{
    b->timed = ++b->untimed == DATAPLANE_STEPS_EVERY;
    if (!b->timed)
        return;
    b->untimed = 0;
    stopwatch_record(b, STEP_RECEIVE);
    worker_count(&b->worker->steps.bursts, 1);
    worker_count(&b->worker->steps.packets, b->n);
}
