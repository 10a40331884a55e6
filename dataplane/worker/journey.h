/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet's journey through one worker, burst by burst. Owner thread only.
 */
#ifndef SLUICE_WORKER_JOURNEY_H
#define SLUICE_WORKER_JOURNEY_H

#include "dataplane/worker/burst.h"

/*
 * Each takes packets through every step; afterwards each one is sent, handed over or freed, and
 * counted once. The caller has set worker, policy, now_ns and moment. They return how many came.
 */
unsigned journey_run(struct burst *burst, struct lane *lane); /* from a queue */
unsigned journey_run_handed(struct burst *burst);             /* from other workers, to be judged */
void journey_run_one(struct burst *burst, struct lane *lane, struct rte_mbuf *mbuf);

/* Packets that waited for a slot go on; once per loop. `all`: every one is refused, again until
 * none is left. */
unsigned journey_release(struct burst *burst, bool all);

/* flow_visit: ends a flow that was silent too long. `context` is the worker. */
void journey_expire(struct flow_table *table, struct flow *flow, void *context);

#endif
