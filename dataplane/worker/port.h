/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One EAL device as a gate uses it: found by name, configured, started, listed.
 * Control thread.
 */
#ifndef SLUICE_WORKER_PORT_H
#define SLUICE_WORKER_PORT_H

#include <rte_mempool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/worker/owners.h"
#include "dataplane/worker/worker.h"

#define PORT_DESCRIPTORS 1024

#define PORT_QUEUES_MAX DATAPLANE_QUEUES_MAX

struct port {
    const char *device; /* of the settings */
    const char *gate, *side;
    const struct device_care *care;  /* NULL: none */
    uint16_t id;                     /* DPDK port id */
    int numa_node;                   /* negative: of none */
    uint16_t rx_queues, tx_queues;   /* at least 1 of each */
    uint16_t rx_numbers, tx_numbers; /* descriptors a queue, after the driver's own limits */
    bool spreads;                    /* the device spreads flows over its queues as owners.h does */
};

/* What a port is opened with. */
struct port_plan {
    struct rte_mempool *pool;
    const struct owners *owners;
    uint32_t workers;
    int numa_node;
};

bool port_is_af_xdp(const char *device);

/* Buffers that a device can hold at once, before it is open: rings of `queues` queue pairs and, for
 * AF_XDP, its umem. */
uint32_t port_buffers(const char *device, uint32_t queues);

/*
 * How many queue pairs a device gets, if it has so many: one for each worker. But devices that were
 * created with a number of queues (af_packet, ring, pcap) get all of them, for what arrives on one
 * that nobody polls is lost. And memif gets one: the peer, which may connect later, need not have
 * more, and what is sent through a queue that it lacks is lost.
 */
uint32_t port_queues_wanted(const char *device, uint32_t workers);

/* With device, gate, side and care filled in, all else zeroed. 0 or -errno with a sentence in
 * `why`; what had come up of the device is closed again. */
int port_open(struct port *port, const struct port_plan *plan, char *why, size_t why_bytes);
void port_close(struct port *port);

int port_view(const struct port *port, struct port_view *view);

#endif
