/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one root of the data plane. Internal to dataplane/worker; the control plane sees worker.h.
 */
#ifndef SLUICE_WORKER_DATAPLANE_H
#define SLUICE_WORKER_DATAPLANE_H

#include "dataplane/worker/burst.h"
#include "dataplane/worker/port.h"

struct dataplane {
    const struct dataplane_settings *settings; /* the caller's */
    struct admission_size ids;
    struct rte_mempool *pool;
    struct port ports[LANES_MAX];
    struct lane lanes[LANES_MAX]; /* one for each port, in the same order */
    uint32_t n_ports, n_lanes;
    struct clock clock;
    struct replay replay;
    struct publication publication;
    struct admission_shared *shared;
    struct worker *worker; /* the only one in this version */
    void *shared_memory, *admission_memory, *flow_memory;
    size_t shared_bytes, admission_bytes, flow_bytes;
    bool huge;
    bool has_policy;
    bool running;
    bool stop; /* atomic */
};

#endif
