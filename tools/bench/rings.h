/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ports whose queues are rings in memory, and the buffers that go around in them. What the
 * bench puts into a receive ring a forwarder gets by rte_eth_rx_burst(), and back it comes out of a
 * transmit ring.
 */
#ifndef SLUICE_BENCH_RINGS_H
#define SLUICE_BENCH_RINGS_H

#include <rte_mempool.h>
#include <rte_ring.h>

#include "dataplane/worker/port.h"

/*
 * Packets that lie in a receive ring at once, as in a NIC's with 1024 descriptors: their buffers
 * fill the second level cache in part, not just the first.
 */
#define RINGS_BATCH 1024u

struct side {
    struct rte_ring *receive, *transmit;
    struct port port;
};

struct rings {
    struct rte_mempool *pool;
    struct side outside, inside;
};

/* 0 or -errno with a sentence in `why`. */
int rings_open(struct rings *rings, char *why, size_t why_bytes);
void rings_close(struct rings *rings);

#endif
