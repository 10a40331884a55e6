/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who polls which queue, and through which queue each worker reaches each port. Control thread,
 * once, after the ports are open and before the workers run.
 */
#ifndef SLUICE_WORKER_WIRING_H
#define SLUICE_WORKER_WIRING_H

#include "dataplane/worker/dataplane.h"

/*
 * Fills dp->lanes, deals them out to the workers, and fills the workers' outlets.
 *
 * Queue q of a device with several queues is polled by worker q % workers, which is where a device
 * that spreads as owners.h does puts the flows of that worker; devices with one queue are dealt out
 * in turn. A worker sends through a queue of its own where there are enough; else the one who polls
 * the port's receive queue of that number sends for it. 0, or -E2BIG with more than LANES_MAX
 * receive queues in all.
 */
int wiring_connect(struct dataplane *dp);

#endif
