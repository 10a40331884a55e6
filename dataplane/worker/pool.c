/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/pool.h"

#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <stdbool.h>
#include <stdio.h>

#include "dataplane/worker/burst.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/port.h"

#define POOL_NAME  "sluice"
#define POOL_CACHE 256

/*
 * net_af_xdp tells the kernel that the buffers lie at the start of the pool, one behind the other.
 * A pool does not let a buffer cross a page, so with any other size there are gaps, and the last
 * buffers lie beyond what the kernel was told: it throws away what is sent from them, and receives
 * nothing once they are all it has. A buffer as large as the smallest page leaves no gaps.
 */
#define AF_XDP_OBJECT_BYTES 4096u

static uint32_t side_buffers(const struct port_settings *side, uint32_t queues, bool *af_xdp)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < side->n_devices; i++) {
        n += port_buffers(side->devices[i], queues);
        *af_xdp |= port_is_af_xdp(side->devices[i]);
    }
    return n;
}

static uint32_t buffers_needed(const struct dataplane_settings *settings, bool *af_xdp)
{
    uint32_t workers = settings->eal.n_workers, n = PORTS_MAX;

    /* in a worker's hands and cache, gathered for each port, and in its two hand-over rings */
    n += workers * (3 * BURST_MAX + 2 * POOL_CACHE);
    if (workers > 1)
        n += workers * 2 * DATAPLANE_HANDOVER_RING;

    n += settings->waiting_max; /* held */
    *af_xdp = false;
    for (uint32_t g = 0; g < settings->n_gates; g++) {
        n += side_buffers(&settings->gates[g].outside, workers, af_xdp);
        n += side_buffers(&settings->gates[g].inside, workers, af_xdp);
    }
    return n;
}

/* What rte_pktmbuf_pool_create() does, but with objects of AF_XDP_OBJECT_BYTES in one piece. */
static struct rte_mempool *create_for_af_xdp(uint32_t n, int node)
{
    struct rte_mempool_objsz size;
    struct rte_pktmbuf_pool_private data = {0};
    struct rte_mempool *pool;
    uint32_t overhead =
        rte_mempool_calc_obj_size(RTE_CACHE_LINE_SIZE, RTE_MEMPOOL_F_NO_SPREAD, &size) -
        RTE_CACHE_LINE_SIZE;
    uint32_t element = AF_XDP_OBJECT_BYTES - overhead;

    data.mbuf_data_room_size = (uint16_t)(element - sizeof(struct rte_mbuf));
    pool = rte_mempool_create_empty(POOL_NAME, n, element, POOL_CACHE, sizeof(data), node,
                                    RTE_MEMPOOL_F_NO_SPREAD);
    if (!pool)
        return NULL;
    if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) == 0) {
        rte_pktmbuf_pool_init(pool, &data);
        if (rte_mempool_populate_default(pool) >= 0 && pool->nb_mem_chunks == 1) {
            rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
            return pool;
        }
    }
    rte_mempool_free(pool);
    return NULL;
}

struct rte_mempool *pool_create(const struct dataplane_settings *settings, char *why,
                                size_t why_bytes)
{
    int node = (int)memory_node_of_cpu(settings->eal.worker_cpus[0]);
    bool af_xdp;
    uint32_t n = buffers_needed(settings, &af_xdp);
    struct rte_mempool *pool = af_xdp ? create_for_af_xdp(n, node)
                                      : rte_pktmbuf_pool_create(POOL_NAME, n, POOL_CACHE, 0,
                                                                RTE_MBUF_DEFAULT_BUF_SIZE, node);

    if (!pool)
        snprintf(why, why_bytes,
                 "no memory for %u packet buffers of %u bytes%s: raise eal.memory_mib (now %u)", n,
                 af_xdp ? AF_XDP_OBJECT_BYTES : RTE_MBUF_DEFAULT_BUF_SIZE,
                 af_xdp ? " in one piece" : "", settings->eal.memory_mib);
    return pool;
}
