/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of the journey: packets gathered by port, sent in bursts, counted by what became of them.
 * Owner thread only.
 */
#ifndef SLUICE_WORKER_OUTLET_H
#define SLUICE_WORKER_OUTLET_H

#include "dataplane/worker/burst.h"

/* Puts a packet on its way to a port; `cause` is an enum pass or CAUSE_ANSWER. */
void outlet_put(struct worker *w, uint16_t port, struct rte_mbuf *mbuf, uint8_t cause);

/* Sends, or hands to the owners of the queues, whatever waits. */
void outlet_flush_all(struct worker *w);

/* Puts a packet into the box of the worker that owns its flow. */
void handbox_put(struct worker *w, uint32_t owner, struct rte_mbuf *mbuf, const struct lane *lane);
void handbox_flush_all(struct worker *w);

/* Sends what others handed over for this worker's queues. Returns how many. */
unsigned outlet_send_handed(struct worker *w);

#endif
