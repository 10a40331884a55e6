/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What admission keeps: pools and windows that all workers share, leases and counters of one
 * worker. Private to dataplane/admission.
 */
#ifndef SLUICE_ADMISSION_STATE_H
#define SLUICE_ADMISSION_STATE_H

#include "dataplane/admission/admission.h"
#include "dataplane/admission/lease.h"

/* An event bucket has a pool for each period, because credits of different periods are different
 * units: a change of period moves the tokens from one pool to another. */
enum period_index { PERIOD_SECOND, PERIOD_MINUTE, PERIOD_HOUR, PERIOD_DAY, PERIOD_MAX };

struct tenant_pools {
    struct pool attempts[PERIOD_MAX], packets[PERIOD_MAX];
    struct pool bits;
    /* The rates in force, or last in force of a name that is gone: control thread only. */
    struct quota_rate attempts_rate, packets_rate, bits_rate;
    bool seen;
} __attribute__((aligned(64)));

struct service_pools {
    struct pool refusals[PERIOD_MAX];
    struct quota_rate refusals_rate;
    bool seen;
} __attribute__((aligned(64)));

/* Raised when a worker's leases were reclaimed; read by that worker alone. */
struct generation {
    uint32_t number; /* atomic */
} __attribute__((aligned(64)));

struct admission_shared {
    struct admission_size size;
    struct tenant_pools *tenants;
    struct service_pools *services;
    struct window *windows; /* tenants, then services */
    struct generation *generations;
};

/*
 * One tenant on one worker. The leases come first, a line each; then what every packet needs; the
 * counters stand apart.
 */
struct tenant_state {
    struct lease attempts, packets, bits;
    struct pool *attempts_pool, *packets_pool, *bits_pool;
    uint32_t window;    /* slots */
    uint32_t next_held; /* in the queue of who has leases */
    bool metered;       /* packets or bits are limited */
    bool held;          /* in that queue */
    struct admission_tenant_counters counters __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct service_state {
    struct lease refusals;
    struct pool *refusals_pool;
    uint32_t window;    /* slots */
    uint32_t next_held; /* as a tenant's */
    bool answers;       /* refusal form is not `drop` */
    bool held;
    struct admission_service_counters counters __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct admission {
    struct admission_shared *shared;
    struct tenant_state *tenants;
    struct service_state *services;
    const struct generation *generation;
    struct admission_size size;
    /* Queue of who has leases: tenants by id, services by n_tenants + id. ADMISSION_NONE: empty */
    uint32_t first_held, last_held;
};

#define ADMISSION_NONE UINT32_MAX

static inline struct window *shared_tenant_window(const struct admission_shared *shared,
                                                  uint32_t tenant)
{
    return &shared->windows[tenant];
}

static inline struct window *shared_service_window(const struct admission_shared *shared,
                                                   uint32_t service)
{
    return &shared->windows[shared->size.n_tenants + service];
}

#endif
