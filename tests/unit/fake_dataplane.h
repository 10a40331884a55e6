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
    struct admission_service_counters services[FAKE_SERVICES];
    struct window service_windows[FAKE_SERVICES];
};

struct fake {
    struct plane plane;
    struct settings settings;
    struct dataplane dataplane;
    int publish_error;  /* 0, or what plane_set_*() returns */
    unsigned published; /* calls of plane_set_*() that succeeded */
};

/*
 * Tenants `default` (bulk, unlimited), `acme` (normal, id 3, limited in everything) and `t2`, `t3`
 * ... up to `n_tenants` (>= 4); services `web` (id 1) and `dns` (id 0); two workers, one gate of
 * two ports; policy epoch 7. Ends the program when there is no memory.
 */
struct fake *fake_create(uint32_t n_tenants);
void fake_destroy(struct fake *fake);

#endif
