/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far the workers are behind what the devices receive. Control thread.
 */
#ifndef SLUICE_WORKER_DEPTH_H
#define SLUICE_WORKER_DEPTH_H

#include <rte_ring.h>

#include "dataplane/admission/gateway_control.h"
#include "dataplane/worker/dataplane.h"

/* The fullest of all queues whose depth can be told (receive queues where the driver counts them,
 * hand-over rings always), and what was missed since the last call. A full burst alone says little:
 * a worker that keeps up sees them, too. A worker that stands still is not behind but held up: to
 * refuse work at the others' doors would not help it, so what waits for it does not count, and
 * nothing that was missed while one stands, for nobody can tell for whom it was. */
struct gateway_sample depth_sample(struct dataplane *dp);

/* As rte_ring_count(), which reads while others write as if nobody did. */
uint32_t depth_of_ring(const struct rte_ring *ring);

#endif
