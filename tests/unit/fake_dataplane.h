/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A data plane of plain numbers, and a plane around it, for what only reads and publishes: the
 * verbs and whoever asks them. Every counter has a value of its own, so that none can stand for
 * another.
 */
#ifndef SLUICE_TESTS_FAKE_DATAPLANE_H
#define SLUICE_TESTS_FAKE_DATAPLANE_H

#include "control/plane/plane.h"

#define FAKE_WORKERS  2
#define FAKE_PORTS    2
#define FAKE_SERVICES 2
#define FAKE_NOW_NS   1000000000000ull

/* What worker.h leaves open. */
struct dataplane {
    struct worker_view workers[FAKE_WORKERS];
    struct port_view ports[FAKE_PORTS];
    struct worker_steps steps[FAKE_WORKERS];
    uint64_t sampled_ns; /* what dataplane_sample_steps() was last asked for; 0: nothing */
    int port_error;      /* 0, or what dataplane_port_view() returns for the last port */
    struct admission_tenant_counters *tenants;
    struct window *tenant_windows;
    uint64_t *tokens;
    int64_t *occupancy_ms;
    struct service_view services[FAKE_SERVICES];
    struct latency_view latencies[FAKE_SERVICES][LATENCY_MAX];
    struct window service_windows[FAKE_SERVICES], share_windows[FAKE_SERVICES][2];
    uint32_t n_workers;
    double gateway_shed[CLASS_MAX];
};

struct fake {
    struct plane plane;
    struct settings settings;
    struct dataplane dataplane;
    int publish_error;  /* 0, or what plane_set_*() returns, and why plane_deny() has to wait */
    unsigned published; /* calls of plane_set_*() that succeeded */
    int save_error;     /* 0, or why plane_deny() cannot save the list */
};

/*
 * Tenants `default` (bulk, unlimited), `acme` (normal, id 3, limited in everything) and `t2`, `t3`
 * ... up to `n_tenants` (>= 4); services `web` (id 1), which has everything a service can have, and
 * `dns` (id 0), which has nothing; two workers, one gate of two ports; policy epoch 7; nobody is
 * denied. Ends the program when there is no memory.
 */
struct fake *fake_create(uint32_t n_tenants);
void fake_destroy(struct fake *fake);

/* The specification alone; `tenants` and `services` are the caller's to free. */
void fake_policy(struct policy_spec *policy, uint32_t n_tenants);

/* Ends the program when there is no memory. */
void *fake_zeroed(size_t n, size_t bytes);

#endif
