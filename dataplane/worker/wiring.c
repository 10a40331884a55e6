/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/wiring.h"

#include <errno.h>

#include "dataplane/admission/quota.h"

/* -- lanes: each device of one side forwards to a device of the other, by turns -- */

static void fill_control_pools(struct pool *pools, const struct bucket_rate *rate)
{
    for (int kind = 0; kind < CONTROL_KINDS; kind++)
        pool_set(&pools[kind], rate->cap, 0);
}

/* In lots of one: such traffic is too little for more, and so nothing lies idle with a lane. */
static void init_control(struct lane *lane, struct pool *pools, const struct bucket_rate *rate)
{
    lane->control_pools = pools;
    for (int kind = 0; kind < CONTROL_KINDS; kind++)
        lane->control[kind] = (struct lease){.rate = *rate, .lot = lease_lot(rate, 1, 1)};
}

/* Indices of a gate's ports: outside from `first`, inside from `first` + n[DIRECTION_IN]. */
struct gate_ports {
    uint32_t gate;
    uint16_t first;
    uint16_t n[DIRECTION_MAX]; /* ports from which packets travel in that direction */
};

static uint64_t stale_after_ns(const struct gate_xdp *xdp)
{
    if (xdp->use == XDP_OFF)
        return UINT64_MAX;
    return xdp->standby_after_ns > LANE_PAUSE_NS ? xdp->standby_after_ns : LANE_PAUSE_NS;
}

static void add_lanes(struct dataplane *dp, const struct gate_ports *gate, enum direction direction)
{
    const struct gate_settings *settings = &dp->settings->gates[gate->gate];
    struct bucket_rate rate = quota_rate_of_events(&settings->control);
    struct pool *pools = dp->control_pools[gate->gate][direction];
    uint16_t n_outside = gate->n[DIRECTION_IN], n_inside = gate->n[DIRECTION_OUT];
    uint16_t outside = gate->first, inside = (uint16_t)(outside + n_outside);
    bool in = direction == DIRECTION_IN;

    fill_control_pools(pools, &rate);
    for (uint16_t i = 0; i < gate->n[direction]; i++) {
        uint16_t own = (uint16_t)((in ? outside : inside) + i);
        uint16_t peer = (uint16_t)(in ? inside + i % n_inside : outside + i % n_outside);

        for (uint16_t q = 0; q < dp->ports[own].rx_queues; q++) {
            struct lane *lane = &dp->lanes[dp->n_lanes];

            *lane = (struct lane){.port_id = dp->ports[own].id,
                                  .queue = q,
                                  .index = (uint16_t)dp->n_lanes++,
                                  .own_port = own,
                                  .peer_port = peer,
                                  .direction = (uint8_t)direction,
                                  .stale_after_ns = stale_after_ns(&settings->xdp)};
            init_control(lane, pools, &rate);
        }
    }
}

static bool lanes_fit(const struct dataplane *dp)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < dp->n_ports; i++)
        n += dp->ports[i].rx_queues;
    return n <= LANES_MAX;
}

static void init_lanes(struct dataplane *dp)
{
    struct gate_ports ports = {.first = 0};

    for (uint32_t g = 0; g < dp->settings->n_gates; g++) {
        const struct gate_settings *gate = &dp->settings->gates[g];

        ports.n[DIRECTION_IN] = (uint16_t)gate->outside.n_devices;
        ports.n[DIRECTION_OUT] = (uint16_t)gate->inside.n_devices;
        ports.gate = g;
        add_lanes(dp, &ports, DIRECTION_IN);
        add_lanes(dp, &ports, DIRECTION_OUT);
        ports.first = (uint16_t)(ports.first + ports.n[DIRECTION_IN] + ports.n[DIRECTION_OUT]);
    }
}

/* -- who polls -- */

static void deal_lanes(struct dataplane *dp)
{
    uint32_t turn = 0;

    for (uint32_t i = 0; i < dp->n_lanes; i++) {
        struct lane *lane = &dp->lanes[i];
        bool single = dp->ports[lane->own_port].rx_queues == 1;
        struct worker *w = dp->workers[(single ? turn++ : lane->queue) % dp->n_workers];

        lane->poller = (uint16_t)w->index;
        w->lanes[w->n_lanes++] = lane;
    }
}

/* -- who sends -- */

static uint16_t poller_of(const struct dataplane *dp, uint16_t port, uint16_t queue)
{
    for (uint32_t i = 0; i < dp->n_lanes; i++)
        if (dp->lanes[i].own_port == port &&
            dp->lanes[i].queue == queue % dp->ports[port].rx_queues)
            return dp->lanes[i].poller;
    return 0;
}

static void init_outlet(const struct dataplane *dp, struct worker *w, uint16_t port)
{
    const struct port *p = &dp->ports[port];
    struct outlet *outlet = &w->outlets[port];
    uint16_t queue = (uint16_t)(w->index % p->tx_queues);

    *outlet = (struct outlet){.port_id = p->id, .queue = queue, .owner = (uint16_t)w->index};
    if (p->tx_queues >= dp->n_workers)
        return;
    /* A queue has one sender. Does this worker have one of the few? */
    for (queue = 0; queue < p->tx_queues; queue++)
        if (poller_of(dp, port, queue) == w->index) {
            outlet->queue = queue;
            return;
        }
    outlet->owner = poller_of(dp, port, (uint16_t)(w->index % p->tx_queues));
}

int wiring_connect(struct dataplane *dp)
{
    if (!lanes_fit(dp))
        return -E2BIG;
    init_lanes(dp);
    deal_lanes(dp);
    for (uint32_t i = 0; i < dp->n_workers; i++)
        for (uint16_t port = 0; port < dp->n_ports; port++)
            init_outlet(dp, dp->workers[i], port);
    for (uint32_t i = 0; i < dp->n_workers; i++)
        dp->workers[i]->n_all_lanes = dp->n_lanes;
    return 0;
}
