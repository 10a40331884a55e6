/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one root of the data plane. Internal to dataplane/worker; the control plane sees worker.h.
 */
#ifndef SLUICE_WORKER_DATAPLANE_H
#define SLUICE_WORKER_DATAPLANE_H

#include "dataplane/worker/burst.h"
#include "dataplane/worker/port.h"
#include "dataplane/worker/replay.h"

_Static_assert(REPLAY_LANES_MAX == LANES_MAX, "a replay keeps the next packet of each lane");

/* Memory of one worker, as it was allocated. */
struct worker_memory {
    void *worker, *admission, *flows, *silence, *facts, *outlets, *handboxes;
};

struct dataplane {
    const struct dataplane_settings *settings; /* the caller's */
    struct admission_size ids;
    uint32_t n_workers;
    struct rte_mempool *pool;
    struct port ports[PORTS_MAX];
    struct lane lanes[LANES_MAX];
    struct pool control_pools[DATAPLANE_GATES_MAX][DIRECTION_MAX][CONTROL_KINDS];
    uint32_t n_ports, n_lanes;
    struct clock clock;
    struct owners owners;
    struct client_seed client_seed;
    struct replay replay;
    struct publication publication;
    struct admission_shared *shared; /* also its memory */
    struct admission *admissions[DATAPLANE_WORKERS_MAX];
    struct admission_control *control;
    struct admission_tenant_counters *front_tenants; /* of decisions before the workers, by id */
    struct admission_service_counters *front_services;
    uint64_t missed; /* packets, as the last period saw it */
    struct worker *workers[DATAPLANE_WORKERS_MAX];
    struct worker_memory memory[DATAPLANE_WORKERS_MAX];
    struct inbox inboxes[DATAPLANE_WORKERS_MAX];
    bool dead[DATAPLANE_WORKERS_MAX]; /* leases reclaimed, no sign of life since */
    bool huge;
    bool has_policy;
    bool running;
    bool stop;                    /* atomic */
    uint32_t passed[STOP_STAGES]; /* atomic */
    uint64_t sample_until_cycles; /* atomic; 0: nothing was ever sampled */
    struct worker_steps steps_before[DATAPLANE_WORKERS_MAX]; /* as the last sampling found them */
};

/* Allocates the workers and their tables, each on its node. 0 or -errno; dataplane_destroy() frees
 * what there is. */
int build_workers(struct dataplane *dp);
void free_workers(struct dataplane *dp);

/* For how long a worker has given no sign of life; 0 in a replay, whose time stands still between
 * packets. */
uint64_t dataplane_silence_ns(const struct dataplane *dp, uint32_t worker);

#endif
