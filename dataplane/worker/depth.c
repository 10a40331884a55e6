/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/depth.h"

#include <rte_ethdev.h>

/* Longer than any nap of a worker, and than a scheduler's turn. */
#define STANDS_STILL_NS 50000000ull

static double fullest(double fill, uint32_t count, uint32_t size)
{
    double share = size ? (double)count / size : 0;

    return share > fill ? share : fill;
}

uint32_t depth_of_ring(const struct rte_ring *ring)
{
    uint32_t taken = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
    uint32_t n = (__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) - taken) & ring->mask;

    return RTE_MIN(n, ring->capacity);
}

static double fill_of_worker(const struct dataplane *dp, uint32_t worker, double fill)
{
    const struct worker *w = dp->workers[worker];

    for (uint32_t i = 0; i < w->n_lanes; i++) {
        int depth = rte_eth_rx_queue_count(w->lanes[i]->port_id, w->lanes[i]->queue);

        if (depth > 0)
            fill = fullest(fill, (uint32_t)depth, dp->ports[w->lanes[i]->own_port].rx_numbers);
    }
    if (dp->n_workers > 1)
        fill = fullest(fill, depth_of_ring(dp->inboxes[worker].judge), DATAPLANE_HANDOVER_RING);
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

struct gateway_sample depth_sample(struct dataplane *dp)
{
    struct gateway_sample sample = {0};
    uint64_t missed = count_missed(dp);
    bool all_go_on = true;

    for (uint32_t i = 0; i < dp->n_workers; i++) {
        if (dataplane_silence_ns(dp, i) > STANDS_STILL_NS)
            all_go_on = false;
        else
            sample.fill = fill_of_worker(dp, i, sample.fill);
    }
    if (all_go_on && missed > dp->missed)
        sample.missed = missed - dp->missed;
    dp->missed = missed;
    return sample;
}
