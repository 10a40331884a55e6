/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/traffic.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "dataplane/worker/journey.h"

bool traffic_send(struct scene *scene, struct side *side, unsigned n, struct frame_kind kind)
{
    struct rte_mbuf *mbufs[RINGS_BATCH];

    if (rte_pktmbuf_alloc_bulk(scene->rings->pool, mbufs, n) != 0)
        return false;
    for (unsigned i = 0; i < n; i++)
        frame_write((uint8_t *)rte_pktmbuf_append(mbufs[i], FRAME_BYTES), scene->batch_flows[i],
                    scene->plan.tenants, kind);
    if (rte_ring_enqueue_bulk(side->receive, (void **)mbufs, n, NULL) == n)
        return true;
    rte_pktmbuf_free_bulk(mbufs, n);
    return false;
}

bool traffic_collect(struct side *side, unsigned n, bool (*expected)(const uint8_t *frame))
{
    struct rte_mbuf *mbufs[RINGS_BATCH];
    unsigned came = rte_ring_dequeue_burst(side->transmit, (void **)mbufs, n, NULL);
    bool good = came == n;

    for (unsigned i = 0; i < came; i++)
        good &= expected(rte_pktmbuf_mtod(mbufs[i], const uint8_t *));
    rte_pktmbuf_free_bulk(mbufs, came);
    return good;
}

void traffic_journey(struct scene *scene, unsigned n, enum direction direction)
{
    struct burst *burst = &scene->worker->burst;
    unsigned came;

    for (unsigned done = 0; done < n; done += came) {
        scene_tick(scene);
        came = journey_run(burst, &scene->lanes[direction]);
        if (came == 0)
            return;
    }
}

static void swap_macs(struct rte_mbuf *m)
{
    struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
    struct rte_ether_addr to = ether->dst_addr;

    ether->dst_addr = ether->src_addr;
    ether->src_addr = to;
}

static unsigned swap_burst(const struct lane *lane, const struct outlet *outlet)
{
    struct rte_mbuf *mbufs[BURST_MAX];
    uint16_t n = rte_eth_rx_burst(lane->port_id, lane->queue, mbufs, BURST_MAX), sent;

    for (unsigned i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
    for (unsigned i = 0; i < n; i++)
        swap_macs(mbufs[i]);
    sent = n ? rte_eth_tx_burst(outlet->port_id, outlet->queue, mbufs, n) : 0;
    if (unlikely(sent < n))
        rte_pktmbuf_free_bulk(&mbufs[sent], (unsigned)(n - sent));
    return sent;
}

void traffic_swap_macs(struct scene *scene, unsigned n)
{
    unsigned sent;

    for (unsigned done = 0; done < n; done += sent) {
        sent = swap_burst(&scene->lanes[DIRECTION_IN], &scene->outlets[DIRECTION_OUT]);
        if (sent == 0)
            return;
    }
}
