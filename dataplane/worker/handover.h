/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets from worker to worker, in bursts, through bounded rings: to the owner of their flow, to
 * be judged, and to the owner of a transmit queue, to be sent. What a ring does not take is freed
 * and counted by the sender, reason `handoff`; nobody waits for room. As DPDK's rings are, senders
 * to the same worker finish in the order in which they began: one that loses its CPU in the midst
 * of it (some ten instructions) holds up the others until it has it again.
 */
#ifndef SLUICE_WORKER_HANDOVER_H
#define SLUICE_WORKER_HANDOVER_H

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_ring.h>
#include <stdint.h>

/* What a handed packet needs besides its bytes: a dynamic field of the mbuf. */
struct hand_mark {
    uint16_t place; /* to judge: the lane it came from; to send: the port it goes to */
    uint8_t cause;  /* to send: enum pass, or CAUSE_ANSWER */
    uint8_t stale;  /* to judge: it waited while the worker that received it was paused */
};

_Static_assert(sizeof(struct hand_mark) == 4, "an mbuf has few bytes to spare");

/* Many workers put in, the owner takes out. */
struct inbox {
    struct rte_ring *judge, *send;
};

static inline struct hand_mark *hand_mark_of(const struct rte_mbuf *mbuf, int offset)
{
    return RTE_MBUF_DYNFIELD(mbuf, offset, struct hand_mark *);
}

/* Registers the field. Its offset, or -errno. */
int hand_mark_register(void);

/* `size` is a power of two. 0 or -errno. */
int inbox_create(struct inbox *inbox, uint32_t worker, uint32_t size, int numa_node);
void inbox_destroy(struct inbox *inbox);

#endif
