/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/port.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/worker/eal.h"

/* AF_XDP's driver fills a ring of 2048 from the pool and keeps as many on their way out. */
#define AF_XDP_BUFFERS 8192

bool port_is_af_xdp(const char *device)
{
    return strncmp(device, "net_af_xdp", strlen("net_af_xdp")) == 0;
}

uint32_t port_buffers(const char *device)
{
    return 2 * PORT_DESCRIPTORS + (port_is_af_xdp(device) ? AF_XDP_BUFFERS : 0);
}

static int fail(const struct port *port, const char *what, int err, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "gate %s, %s device %s: %s: %s", port->gate, port->side, port->device,
             what, rte_strerror(-err));
    return err;
}

/* A virtual device that failed to start does not fail EAL: it is just not there. */
static int find_port(struct port *port, char *why, size_t why_bytes)
{
    char name[RTE_ETH_NAME_MAX_LEN];

    snprintf(name, sizeof(name), "%.*s", (int)eal_device_name_bytes(port->device), port->device);
    if (rte_eth_dev_get_port_by_name(name, &port->id) == 0)
        return 0;
    return fail(port, "did not come up (lines of its driver above say why)", -ENODEV, why,
                why_bytes);
}

static int start_queues(struct port *port, struct rte_mempool *pool, int numa_node)
{
    const struct rte_eth_conf plain = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    int err = rte_eth_dev_configure(port->id, 1, 1, &plain);

    port->numbers = port->tx_numbers = PORT_DESCRIPTORS;
    if (err == 0)
        err = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->numbers, &port->tx_numbers);
    if (err == 0)
        err = rte_eth_rx_queue_setup(port->id, 0, port->numbers, (unsigned)numa_node, NULL, pool);
    if (err == 0)
        err = rte_eth_tx_queue_setup(port->id, 0, port->tx_numbers, (unsigned)numa_node, NULL);
    if (err == 0)
        err = rte_eth_dev_start(port->id);
    return err;
}

int port_open(struct port *port, struct rte_mempool *pool, int numa_node, char *why,
              size_t why_bytes)
{
    int err = find_port(port, why, why_bytes);

    if (err)
        return err;
    err = start_queues(port, pool, numa_node);
    if (err)
        return fail(port, "cannot be set up", err, why, why_bytes);
    /* A gate is transparent: it takes what is addressed to others. Drivers without the switch
     * (rings, files) receive everything anyhow. */
    err = rte_eth_promiscuous_enable(port->id);
    if (err && err != -ENOTSUP) {
        port_close(port);
        return fail(port, "cannot be set to promiscuous mode", err, why, why_bytes);
    }
    return 0;
}

void port_close(struct port *port)
{
    rte_eth_promiscuous_disable(port->id);
    rte_eth_dev_stop(port->id);
    rte_eth_dev_close(port->id);
}

static void view_queue(const struct port *port, const struct rte_eth_stats *stats,
                       struct queue_view *view)
{
    int depth = rte_eth_rx_queue_count(port->id, 0);

    *view = (struct queue_view){.queue = 0, .missed = stats->imissed};
    view->depth = depth > 0 ? (uint64_t)depth : 0;
    view->depth_source = depth >= 0 ? "driver" : NULL;
}

int port_view(const struct port *port, struct port_view *view)
{
    struct rte_eth_dev_info info = {0};
    struct rte_eth_link link = {0};
    struct rte_eth_stats stats = {0};
    int err = rte_eth_stats_get(port->id, &stats);

    *view = (struct port_view){.gate = port->gate, .side = port->side, .n_queues = 1};
    snprintf(view->device, sizeof(view->device), "%s", port->device);
    if (rte_eth_dev_info_get(port->id, &info) == 0)
        view->driver = info.driver_name;
    rte_eth_link_get_nowait(port->id, &link);
    view->link_up = link.link_status == RTE_ETH_LINK_UP;
    view->rx_packets = stats.ipackets;
    view->tx_packets = stats.opackets;
    view->rx_bytes = stats.ibytes;
    view->tx_bytes = stats.obytes;
    view->rx_no_mbuf = stats.rx_nombuf;
    view_queue(port, &stats, &view->queues[0]);
    return err;
}
