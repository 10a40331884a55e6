/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/rings.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <stdio.h>

#define BUFFERS    4095 /* a few batches, so that each batch meets other buffers */
#define POOL_CACHE 256
#define RING_SIZE  (2 * RINGS_BATCH)

static struct rte_ring *create_ring(const char *side, const char *queue)
{
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof(name), "bench-%s-%s", side, queue);
    return rte_ring_create(name, RING_SIZE, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static int open_side(struct side *side, const char *name, const char *device,
                     struct rte_mempool *pool, char *why, size_t why_bytes)
{
    int node = (int)rte_socket_id();
    struct owners owners;
    const struct port_plan plan = {
        .pool = pool, .owners = &owners, .workers = 1, .numa_node = node};

    side->receive = create_ring(name, "rx");
    side->transmit = create_ring(name, "tx");
    if (!side->receive || !side->transmit ||
        rte_eth_from_rings(name, &side->receive, 1, &side->transmit, 1, (unsigned)node) < 0) {
        snprintf(why, why_bytes, "no rings for the %s port: %s", name, rte_strerror(rte_errno));
        return -ENOMEM;
    }
    side->port = (struct port){.device = device, .gate = "bench", .side = name};
    owners_init(&owners, 0x6d5a, 1);
    return port_open(&side->port, &plan, why, why_bytes);
}

int rings_open(struct rings *rings, char *why, size_t why_bytes)
{
    int err;

    rings->pool = rte_pktmbuf_pool_create("bench", BUFFERS, POOL_CACHE, 0,
                                          RTE_MBUF_DEFAULT_BUF_SIZE, (int)rte_socket_id());
    if (!rings->pool) {
        snprintf(why, why_bytes, "no memory for %u packet buffers: %s", BUFFERS,
                 rte_strerror(rte_errno));
        return -ENOMEM;
    }
    err = open_side(&rings->outside, "outside", "net_ring_outside", rings->pool, why, why_bytes);
    if (err)
        return err;
    err = open_side(&rings->inside, "inside", "net_ring_inside", rings->pool, why, why_bytes);
    if (err)
        port_close(&rings->outside.port);
    return err;
}

void rings_close(struct rings *rings)
{
    port_close(&rings->outside.port);
    port_close(&rings->inside.port);
    rte_ring_free(rings->outside.receive);
    rte_ring_free(rings->outside.transmit);
    rte_ring_free(rings->inside.receive);
    rte_ring_free(rings->inside.transmit);
    rte_mempool_free(rings->pool);
}
