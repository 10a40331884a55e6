/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One EAL device as a gate uses it: found by name, configured with one queue pair, started, listed.
 * Control thread.
 */
#ifndef SLUICE_WORKER_PORT_H
#define SLUICE_WORKER_PORT_H

#include <rte_mempool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/worker/worker.h"

#define PORT_DESCRIPTORS 1024

struct port {
    const char *device; /* of the settings */
    const char *gate, *side;
    uint16_t id;      /* DPDK port id */
    uint16_t numbers; /* rx descriptors after the driver's own limits */
    uint16_t tx_numbers;
};

bool port_is_af_xdp(const char *device);

/* Buffers that a device can hold at once, before it is open: rings and, for AF_XDP, its umem. */
uint32_t port_buffers(const char *device);

/* 0 or -errno with a sentence in `why`. */
int port_open(struct port *port, struct rte_mempool *pool, int numa_node, char *why,
              size_t why_bytes);
void port_close(struct port *port);

int port_view(const struct port *port, struct port_view *view);

#endif
