/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the data plane knows of tenants and services (worker.h): sums over the workers and what
 * was decided before them, and what workers share.
 */
#include "dataplane/worker/dataplane.h"

/* Adds a struct of nothing but 64-bit counters to another, while its writer goes on. */
static void add_all(void *to, const void *from, size_t bytes)
{
    const uint64_t *source = from;
    uint64_t *target = to;

    for (size_t i = 0; i < bytes / sizeof(*source); i++)
        target[i] += __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

void dataplane_tenant_counters(const struct dataplane *dp, uint32_t tenant,
                               struct admission_tenant_counters *sum)
{
    *sum = (struct admission_tenant_counters){0};
    for (uint32_t i = 0; i < dp->n_workers; i++)
        add_all(sum, admission_tenant_counters(dp->workers[i]->admission, tenant), sizeof(*sum));
    add_all(sum, &dp->front_tenants[tenant], sizeof(*sum));
}

void dataplane_service_counters(const struct dataplane *dp, uint32_t service,
                                struct admission_service_counters *sum)
{
    *sum = (struct admission_service_counters){0};
    for (uint32_t i = 0; i < dp->n_workers; i++)
        add_all(sum, admission_service_counters(dp->workers[i]->admission, service), sizeof(*sum));
    add_all(sum, &dp->front_services[service], sizeof(*sum));
}

struct admission_tenant_counters *dataplane_front_tenant(struct dataplane *dp, uint32_t tenant)
{
    return &dp->front_tenants[tenant];
}

struct admission_service_counters *dataplane_front_service(struct dataplane *dp, uint32_t service)
{
    return &dp->front_services[service];
}

const struct client_seed *dataplane_client_seed(const struct dataplane *dp)
{
    return &dp->client_seed;
}

const struct advice *dataplane_service_advice(const struct dataplane *dp, uint32_t service)
{
    return admission_service_advice(dp->shared, service);
}

static uint64_t quantile_ns(const struct histogram *h, uint32_t ppm)
{
    uint64_t ns = 0;

    (void)histogram_quantile_ns(h, ppm, &ns);
    return ns;
}

void dataplane_service_latency(const struct dataplane *dp, uint32_t service,
                               struct latency_view views[LATENCY_MAX])
{
    for (unsigned l = 0; l < LATENCY_MAX; l++) {
        struct histogram sum = {0};

        for (uint32_t i = 0; i < dp->n_workers; i++)
            admission_sum_latency(dp->workers[i]->admission, service, l, &sum);
        views[l] = (struct latency_view){
            .count = histogram_count(&sum),
            .p50_ns = quantile_ns(&sum, 500000),
            .p95_ns = quantile_ns(&sum, 950000),
            .p99_ns = quantile_ns(&sum, 990000),
        };
    }
}

uint64_t dataplane_attempt_tokens(const struct dataplane *dp, const struct policy_tenant *tenant)
{
    return admission_attempt_tokens(dp->shared, tenant, dataplane_now_ns(dp));
}

int64_t dataplane_occupancy_ms(const struct dataplane *dp, const struct policy_tenant *tenant)
{
    return admission_occupancy_ms(dp->shared, tenant, dataplane_now_ns(dp));
}

uint32_t dataplane_retry_tenths(const struct dataplane *dp, uint32_t tenant)
{
    return admission_retry_tenths(dp->shared, tenant);
}

const struct window *dataplane_tenant_window(const struct dataplane *dp, uint32_t tenant)
{
    return admission_tenant_window(dp->shared, tenant);
}

const struct window *dataplane_service_window(const struct dataplane *dp, uint32_t service)
{
    return admission_service_window(dp->shared, service);
}

const struct window *dataplane_share_window(const struct dataplane *dp, uint32_t service,
                                            unsigned share)
{
    return admission_share_window(dp->shared, service, share);
}

void dataplane_service_view(const struct dataplane *dp, const struct policy_service *service,
                            struct service_view *view)
{
    admission_control_view(dp->control, service, dataplane_now_ns(dp), view);
}
