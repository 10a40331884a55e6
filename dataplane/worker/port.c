/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/port.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "dataplane/worker/eal.h"

/* AF_XDP's driver fills a ring of 2048 from the pool and keeps as many on their way out. */
#define AF_XDP_BUFFERS 8192

#define CANNOT_BE_SET_UP     "cannot be set up"
#define MEMLOCK_PLENTY_BYTES (8ull << 20) /* Linux's own default limit */

static bool has_driver(const char *device, const char *driver)
{
    return strncmp(device, driver, strlen(driver)) == 0;
}

bool port_is_af_xdp(const char *device)
{
    return has_driver(device, "net_af_xdp");
}

uint32_t port_buffers(const char *device, uint32_t queues)
{
    return queues * 2 * PORT_DESCRIPTORS + (port_is_af_xdp(device) ? AF_XDP_BUFFERS : 0);
}

static int fail(const struct port *port, const char *what, int err, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "gate %s, %s device %s: %s: %s", port->gate, port->side, port->device,
             what, rte_strerror(-err));
    return err;
}

/* A device that failed to start does not fail EAL: it is just not there. */
static int find_port(struct port *port, char *why, size_t why_bytes)
{
    char name[RTE_ETH_NAME_MAX_LEN];

    snprintf(name, sizeof(name), "%.*s", (int)eal_device_name_bytes(port->device), port->device);
    if (rte_eth_dev_get_port_by_name(name, &port->id) == 0)
        return 0;
    return fail(port,
                eal_device_is_pci(port->device)
                    ? "did not come up: no driver of DPDK has it (dpdk-devbind.py --status)"
                    : "did not come up (lines of its driver above say why)",
                -ENODEV, why, why_bytes);
}

/* Their queues exist from the start, and whatever arrives on one that nobody polls is lost. */
static bool has_fixed_queues(const char *device)
{
    static const char *const drivers[] = {"net_af_packet", "net_ring", "net_pcap"};

    for (unsigned i = 0; i < RTE_DIM(drivers); i++)
        if (has_driver(device, drivers[i]))
            return true;
    return false;
}

/* A memif's peer may have fewer queues, which only shows when it connects; DPDK 22.11's driver then
 * receives on the surplus ones what nobody sent, and loses what is sent there. One they always
 * share. */
uint32_t port_queues_wanted(const char *device, uint32_t workers)
{
    if (has_fixed_queues(device))
        return PORT_QUEUES_MAX;
    return has_driver(device, "net_memif") ? 1 : workers;
}

/* NULL, or why the device cannot be used. */
static const char *choose_queues(struct port *port, const struct rte_eth_dev_info *info,
                                 uint32_t workers)
{
    uint32_t most = port_queues_wanted(port->device, workers);

    if (has_fixed_queues(port->device) && info->max_rx_queues > most)
        return "was created with more than 64 receive queues";
    port->rx_queues = (uint16_t)RTE_MIN(info->max_rx_queues, most);
    port->tx_queues = (uint16_t)RTE_MIN(info->max_tx_queues, most);
    return port->rx_queues && port->tx_queues ? NULL : "has no receive or no transmit queue";
}

/* RSS under the owners' key, for drivers that say they take a key of a length we have. */
static void choose_rss(const struct port *port, const struct rte_eth_dev_info *info,
                       const struct owners *owners, struct rte_eth_conf *conf)
{
    const uint64_t wanted = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
                            RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;

    if (port->rx_queues < 2 || (info->flow_type_rss_offloads & wanted) == 0 ||
        info->hash_key_size == 0 || info->hash_key_size > OWNERS_KEY_BYTES)
        return;
    conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf->rx_adv_conf.rss_conf.rss_key = (uint8_t *)owners->key;
    conf->rx_adv_conf.rss_conf.rss_key_len = info->hash_key_size;
    conf->rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & wanted;
}

/* The device's table says the same as the owners'. Queue q is polled by worker q % workers. */
static bool set_redirection(const struct port *port, const struct rte_eth_dev_info *info,
                            const struct owners *owners)
{
    struct rte_eth_rss_reta_entry64 table[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];

    if (info->reta_size == 0 || info->reta_size > RTE_ETH_RSS_RETA_SIZE_512 ||
        info->reta_size % OWNERS_TABLE != 0)
        return false;
    for (unsigned i = 0; i < info->reta_size; i++) {
        struct rte_eth_rss_reta_entry64 *group = &table[i / RTE_ETH_RETA_GROUP_SIZE];

        group->mask = UINT64_MAX;
        group->reta[i % RTE_ETH_RETA_GROUP_SIZE] =
            owners->worker[i % OWNERS_TABLE] % port->rx_queues;
    }
    return rte_eth_dev_rss_reta_update(port->id, table, info->reta_size) == 0;
}

static int setup_queues(struct port *port, const struct port_plan *plan)
{
    unsigned node = (unsigned)plan->numa_node;
    int err = 0;

    port->rx_numbers = port->tx_numbers = PORT_DESCRIPTORS;
    err = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rx_numbers, &port->tx_numbers);
    for (uint16_t q = 0; !err && q < port->rx_queues; q++)
        err = rte_eth_rx_queue_setup(port->id, q, port->rx_numbers, node, NULL, plan->pool);
    for (uint16_t q = 0; !err && q < port->tx_queues; q++)
        err = rte_eth_tx_queue_setup(port->id, q, port->tx_numbers, node, NULL);
    return err;
}

/* Spreading is welcome, not needed: a driver that refuses it is asked without. */
static int configure(const struct port *port, struct rte_eth_conf *conf)
{
    int err = rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, conf);

    if (!err || conf->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE)
        return err;
    *conf = (struct rte_eth_conf){.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    return rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, conf);
}

/* With whoever knows the interface in the kernel before and behind. */
/* The drivers of interfaces lock the memory they share with the kernel, and report no more than
 * that something was invalid. */
static const char *why_no_queues(const struct port *port, char *text, size_t bytes)
{
    struct rlimit memlock;

    if (!has_driver(port->device, "net_af_") || getrlimit(RLIMIT_MEMLOCK, &memlock) != 0 ||
        memlock.rlim_cur >= MEMLOCK_PLENTY_BYTES)
        return CANNOT_BE_SET_UP;
    snprintf(text, bytes,
             CANNOT_BE_SET_UP " (it locks memory, which is limited to %llu KiB: ulimit -l)",
             (unsigned long long)memlock.rlim_cur / 1024);
    return text;
}

static int take_interface(struct port *port, const struct port_plan *plan, char *why,
                          size_t why_bytes)
{
    const struct device_care *care = port->care;
    int err = care ? care->before(care->context, port->device, why, why_bytes) : 0;
    char text[128];

    if (err)
        return err;
    err = setup_queues(port, plan);
    if (err)
        return fail(port, why_no_queues(port, text, sizeof(text)), err, why, why_bytes);
    return care ? care->after(care->context, port->device, why, why_bytes) : 0;
}

static int start(struct port *port, const struct port_plan *plan, char *why, size_t why_bytes)
{
    struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    struct rte_eth_dev_info info;
    const char *what = NULL;
    int err = rte_eth_dev_info_get(port->id, &info);

    if (!err) {
        what = choose_queues(port, &info, plan->workers);
        err = what ? -ENOTSUP : 0;
    }
    if (!err) {
        choose_rss(port, &info, plan->owners, &conf);
        err = configure(port, &conf);
    }
    if (err)
        return fail(port, what ? what : CANNOT_BE_SET_UP, err, why, why_bytes);
    err = take_interface(port, plan, why, why_bytes);
    if (err)
        return err;
    err = rte_eth_dev_start(port->id);
    if (err)
        return fail(port, CANNOT_BE_SET_UP, err, why, why_bytes);
    if (conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS)
        port->spreads = set_redirection(port, &info, plan->owners);
    return 0;
}

/* A gate is transparent: it takes what is addressed to others. Drivers without the switch (rings,
 * files) receive everything anyhow. */
static int take_all(const struct port *port, char *why, size_t why_bytes)
{
    int err = rte_eth_promiscuous_enable(port->id);

    return err && err != -ENOTSUP
               ? fail(port, "cannot be set to promiscuous mode", err, why, why_bytes)
               : 0;
}

int port_open(struct port *port, const struct port_plan *plan, char *why, size_t why_bytes)
{
    int err = find_port(port, why, why_bytes);

    if (err)
        return err;
    err = start(port, plan, why, why_bytes);
    if (!err)
        err = take_all(port, why, why_bytes);
    if (err) {
        port_close(port);
        return err;
    }
    port->numa_node = rte_eth_dev_socket_id(port->id);
    return 0;
}

void port_close(struct port *port)
{
    rte_eth_promiscuous_disable(port->id);
    rte_eth_dev_stop(port->id);
    rte_eth_dev_close(port->id);
    if (port->care)
        port->care->closed(port->care->context, port->device);
}

static uint64_t missed_by(const struct rte_eth_stats *stats, const struct port *port,
                          uint16_t queue)
{
    /* Drivers count for the port; only a port of one queue says whose it was. */
    return port->rx_queues == 1 || queue == 0 ? stats->imissed : 0;
}

static void view_queues(const struct port *port, const struct rte_eth_stats *stats,
                        struct port_view *view)
{
    view->n_queues = port->rx_queues;
    for (uint16_t q = 0; q < port->rx_queues; q++) {
        int depth = rte_eth_rx_queue_count(port->id, q);

        view->queues[q] = (struct queue_view){
            .queue = q,
            .missed = missed_by(stats, port, q),
            .depth = depth > 0 ? (uint64_t)depth : 0,
            .depth_source = depth >= 0 ? "driver" : NULL,
        };
    }
}

int port_view(const struct port *port, struct port_view *view)
{
    struct rte_eth_dev_info info = {0};
    struct rte_eth_link link = {0};
    struct rte_eth_stats stats = {0};
    int err = rte_eth_stats_get(port->id, &stats);

    *view = (struct port_view){.gate = port->gate, .side = port->side};
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
    view_queues(port, &stats, view);
    return err;
}
