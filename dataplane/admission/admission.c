/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory, and what others may look at.
 */
#include "dataplane/admission/demand.h"
#include "dataplane/admission/state.h"

#define CACHE_LINE    64u
#define ANSWERED_WAYS 4u

/* -- memory: one piece, cut into parts that each begin a cache line -- */

static size_t whole_lines(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
}

static void *cut(uint8_t **memory, size_t bytes)
{
    void *part = *memory;

    *memory += whole_lines(bytes);
    return part;
}

/* A power of two of lines that hold `n` entries; at least one. */
static uint32_t lines_for(uint32_t n, uint32_t ways)
{
    uint32_t lines = 1;

    while (lines < (n + ways - 1) / ways && lines < 1u << 30)
        lines <<= 1;
    return lines;
}

/* Twice the room, because few entries are forgotten early at half load. */
static uint32_t demand_lines(const struct admission_size *size)
{
    return lines_for(2 * size->n_demand, DEMAND_WAYS);
}

static uint32_t answered_lines(const struct admission_size *size)
{
    return lines_for(size->n_answered, ANSWERED_WAYS);
}

size_t admission_shared_bytes(const struct admission_size *size)
{
    return whole_lines(sizeof(struct admission_shared)) +
           size->n_tenants * sizeof(struct tenant_shared) +
           size->n_services * sizeof(struct service_shared) +
           size->n_workers * sizeof(struct generation) +
           (size->n_demand ? whole_lines(demand_bytes(demand_lines(size))) : 0);
}

size_t admission_bytes(const struct admission_size *size)
{
    return whole_lines(sizeof(struct admission)) + size->n_tenants * sizeof(struct tenant_state) +
           size->n_services * sizeof(struct service_state) +
           whole_lines(wait_pool_bytes(size->n_waiters)) +
           (size->n_answered ? whole_lines(answered_bytes(answered_lines(size))) : 0);
}

struct admission_shared *admission_shared_init(void *memory, const struct admission_size *size)
{
    uint8_t *rest = memory;
    struct admission_shared *shared = cut(&rest, sizeof(*shared));

    shared->size = *size;
    shared->tenants = cut(&rest, size->n_tenants * sizeof(*shared->tenants));
    shared->services = cut(&rest, size->n_services * sizeof(*shared->services));
    shared->generations = cut(&rest, size->n_workers * sizeof(*shared->generations));
    if (size->n_demand)
        shared->demand = demand_init(rest, demand_lines(size));
    return shared;
}

struct admission *admission_init(void *memory, struct admission_shared *shared, uint32_t worker)
{
    const struct admission_size *size = &shared->size;
    uint8_t *rest = memory;
    struct admission *adm = cut(&rest, sizeof(*adm));

    adm->shared = shared;
    adm->size = *size;
    adm->generation = &shared->generations[worker];
    adm->first_held = ADMISSION_NONE;
    adm->first_waiting = ADMISSION_NONE;
    adm->tenants = cut(&rest, size->n_tenants * sizeof(*adm->tenants));
    adm->services = cut(&rest, size->n_services * sizeof(*adm->services));
    for (uint32_t i = 0; i < size->n_services; i++)
        wait_queue_init(&adm->services[i].queue);
    adm->waiters = wait_pool_init(cut(&rest, wait_pool_bytes(size->n_waiters)), size->n_waiters);
    if (size->n_answered)
        adm->answered = answered_init(rest, answered_lines(size));
    return adm;
}

/* -- refusals -- */

bool admission_may_answer(struct admission *adm, uint32_t service, uint64_t now_ns)
{
    struct service_state *s = &adm->services[service];
    bool answer = s->rules.answers &&
                  lease_take(&s->refusals, s->refusals_pool, 1, admission_generation(adm), now_ns);

    admission_note_service(adm, service);
    admission_count(answer ? &s->counters.answered : &s->counters.unanswered, 1);
    return answer;
}

uint32_t admission_retry_after_s(const struct admission *adm, const struct attempt *refused,
                                 enum reason reason, uint64_t now_ns)
{
    const struct service_shared *service = &adm->shared->services[refused->service];
    uint32_t s;

    if (reason_kind(reason) == REASON_KIND_QUOTA)
        return demand_retry_quota_s(quotas_wait_ns(adm, refused, reason, now_ns));
    s = __atomic_load_n(&service->advice.retry_after_s, __ATOMIC_RELAXED);
    return s ? s : DEMAND_RETRY_MIN_S;
}

/* -- for listings -- */

const struct admission_tenant_counters *admission_tenant_counters(const struct admission *adm,
                                                                  uint32_t tenant)
{
    return &adm->tenants[tenant].counters;
}

const struct admission_service_counters *admission_service_counters(const struct admission *adm,
                                                                    uint32_t service)
{
    return &adm->services[service].counters;
}

int64_t admission_occupancy_ms(const struct admission_shared *shared,
                               const struct policy_tenant *tenant, uint64_t now_ns)
{
    return occupancy_level_ms(&shared->tenants[tenant->id].occupancy, tenant->milli_erlangs,
                              now_ns);
}

uint32_t admission_retry_tenths(const struct admission_shared *shared, uint32_t tenant)
{
    return retry_tenths(&shared->tenants[tenant].retries);
}

const struct window *admission_tenant_window(const struct admission_shared *shared, uint32_t tenant)
{
    return &shared->tenants[tenant].window;
}

const struct advice *admission_service_advice(const struct admission_shared *shared,
                                              uint32_t service)
{
    return &shared->services[service].advice;
}

const struct window *admission_service_window(const struct admission_shared *shared,
                                              uint32_t service)
{
    return &shared->services[service].window;
}

const struct window *admission_share_window(const struct admission_shared *shared, uint32_t service,
                                            unsigned share)
{
    return &shared->services[service].shares[share];
}

void admission_sum_latency(const struct admission *adm, uint32_t service, enum latency latency,
                           struct histogram *sum)
{
    const struct service_state *s = &adm->services[service];

    switch (latency) {
    case LATENCY_CONNECT:
        histogram_sum(sum, &s->connect);
        break;
    case LATENCY_REPLY:
        histogram_sum(sum, &s->useful);
        histogram_sum(sum, &s->useless);
        break;
    case LATENCY_EFFECTIVE:
        histogram_sum(sum, &s->useful);
        histogram_sum(sum, &s->missed);
        break;
    case LATENCY_MAX:
        break;
    }
}
