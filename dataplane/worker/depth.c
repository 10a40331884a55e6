/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/depth.h"

#include <rte_ethdev.h>

static double fullest(double fill, uint32_t count, uint32_t size)
{
    double share = size ? (double)count / size : 0;

    return share > fill ? share : fill;
}

static double fill_of_port(const struct port *port, double fill)
{
    for (uint16_t q = 0; q < port->rx_queues; q++) {
        int depth = rte_eth_rx_queue_count(port->id, q);

        if (depth > 0)
            fill = fullest(fill, (uint32_t)depth, port->rx_numbers);
    }
    return fill;
}

/* What the device lost, and what workers could not hand each other. */
static uint64_t count_missed(const struct dataplane *dp)
{
    uint64_t missed = 0;

    for (uint32_t i = 0; i < dp->n_ports; i++) {
        struct rte_eth_stats stats = {0};

        if (rte_eth_stats_get(dp->ports[i].id, &stats) == 0)
            missed += stats.imissed + stats.rx_nombuf;
    }
    for (uint32_t i = 0; i < dp->n_workers; i++)
        missed += __atomic_load_n(&dp->workers[i]->counters.handoff_failed, __ATOMIC_RELAXED);
    return missed;
}

/* As rte_ring_count(), which reads while others write as if nobody did. */
static uint32_t count_ring(const struct rte_ring *ring)
{
    uint32_t taken = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
    uint32_t n = (__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) - taken) & ring->mask;

    return RTE_MIN(n, ring->capacity);
}

struct gateway_sample depth_sample(struct dataplane *dp)
{
    struct gateway_sample sample = {0};
    uint64_t missed = count_missed(dp);

    for (uint32_t i = 0; i < dp->n_ports; i++)
        sample.fill = fill_of_port(&dp->ports[i], sample.fill);
    for (uint32_t i = 0; dp->n_workers > 1 && i < dp->n_workers; i++)
        sample.fill =
            fullest(sample.fill, count_ring(dp->inboxes[i].judge), DATAPLANE_HANDOVER_RING);
    sample.missed = missed > dp->missed ? missed - dp->missed : 0;
    dp->missed = missed;
    return sample;
}
