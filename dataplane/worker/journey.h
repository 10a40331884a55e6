/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet's journey through one worker, burst by burst. Owner thread only.
 */
#ifndef SLUICE_WORKER_JOURNEY_H
#define SLUICE_WORKER_JOURNEY_H

#include "dataplane/worker/burst.h"

/*
 * Polls one lane and takes what came through every step; afterwards each packet is sent or freed,
 * and counted once. The caller has set worker, policy, now_ns and now_ms. Returns how many came.
 */
unsigned journey_run(struct burst *burst, struct lane *lane);

/* The same for packets that the caller put into burst->mbufs. */
void journey_run_received(struct burst *burst, struct lane *lane, uint16_t n);

/* flow_visit: ends a flow that was silent too long. `context` is the worker. */
void journey_expire(struct flow_table *table, struct flow *flow, void *context);

#endif
