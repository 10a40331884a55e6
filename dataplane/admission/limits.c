/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a policy to what admission works with: pools when it is published, leases when a worker
 * takes it over.
 */
#include <string.h>

#include "dataplane/admission/state.h"

/* -- rates -- */

/* A rate out of range cannot come from a checked configuration; it blocks rather than opens. */
static struct bucket_rate rate_of_events(const struct quota_rate *quota)
{
    struct bucket_rate rate;

    if (quota->unlimited)
        bucket_rate_unlimited(&rate);
    else if (!bucket_rate_events(&rate, quota->amount, quota->period_s, quota->burst))
        bucket_rate_events(&rate, 0, 1, 0);
    return rate;
}

static struct bucket_rate rate_of_bits(const struct quota_rate *quota)
{
    struct bucket_rate rate;

    if (quota->unlimited)
        bucket_rate_unlimited(&rate);
    else if (!bucket_rate_bytes(&rate, quota->amount / 8, quota->burst))
        bucket_rate_bytes(&rate, 0, 0);
    return rate;
}

static enum period_index period_index(const struct quota_rate *quota)
{
    switch (quota->period_s) {
    case 60:
        return PERIOD_MINUTE;
    case 3600:
        return PERIOD_HOUR;
    case 86400:
        return PERIOD_DAY;
    default:
        return PERIOD_SECOND;
    }
}

/* -- pools, when a policy is published -- */

/* A bucket whose rate is `from`, then `to`; NULL stands for a name that is new. */
struct rate_change {
    const struct bucket_rate *from, *to;
    struct pool *from_pool, *to_pool;
};

/* Tokens in a pool go on as they are; only another period needs other credits for them. */
static void move_pool(const struct rate_change *change, uint64_t now_ns)
{
    struct bucket bucket = {.last_ns = now_ns};
    int64_t level;

    if (change->from->cap > 0)
        pool_refill(change->from_pool, change->from, now_ns);
    if (change->from_pool == change->to_pool && change->from->cap > 0 && change->to->cap > 0)
        return; /* a burst that became smaller holds for each worker that adopts it */
    /* Who still works with the old policy finds nothing there. */
    level = __atomic_exchange_n(&change->from_pool->level, 0, __ATOMIC_ACQ_REL);
    bucket.level = change->from->cap > 0 && level > 0 ? (uint64_t)level : 0;
    bucket_rebase(&bucket, change->from, change->to, now_ns);
    pool_set(change->to_pool, bucket.level, now_ns);
}

static void change_pool(const struct rate_change *change, uint64_t now_ns)
{
    if (!change->from)
        pool_set(change->to_pool, change->to->cap, now_ns);
    else if (memcmp(change->from, change->to, sizeof(*change->to)) != 0)
        move_pool(change, now_ns);
}

/* `rate` is what has been in force, and becomes what will be. */
static void change_events(struct pool pools[PERIOD_MAX], struct quota_rate *rate,
                          const struct quota_rate *to, bool seen, uint64_t now_ns)
{
    struct bucket_rate old = rate_of_events(rate), new = rate_of_events(to);
    const struct rate_change change = {.from = seen ? &old : NULL,
                                       .to = &new,
                                       .from_pool = &pools[period_index(rate)],
                                       .to_pool = &pools[period_index(to)]};

    change_pool(&change, now_ns);
    *rate = *to;
}

static void change_bits(struct pool *pool, struct quota_rate *rate, const struct quota_rate *to,
                        bool seen, uint64_t now_ns)
{
    struct bucket_rate old = rate_of_bits(rate), new = rate_of_bits(to);
    const struct rate_change change = {
        .from = seen ? &old : NULL, .to = &new, .from_pool = pool, .to_pool = pool};

    change_pool(&change, now_ns);
    *rate = *to;
}

static void change_tenant(struct tenant_pools *pools, const struct policy_tenant *tenant,
                          uint64_t now_ns)
{
    change_events(pools->attempts, &pools->attempts_rate, &tenant->attempts, pools->seen, now_ns);
    change_events(pools->packets, &pools->packets_rate, &tenant->packets, pools->seen, now_ns);
    change_bits(&pools->bits, &pools->bits_rate, &tenant->bits, pools->seen, now_ns);
    pools->seen = true;
}

static void change_service(struct service_pools *pools, const struct policy_service *service,
                           uint64_t now_ns)
{
    change_events(pools->refusals, &pools->refusals_rate, &service->refuse_rate, pools->seen,
                  now_ns);
    pools->seen = true;
}

void admission_shared_adopt(struct admission_shared *shared, const struct policy *policy,
                            uint64_t now_ns)
{
    for (uint32_t i = 0; i < policy_tenant_count(policy); i++) {
        const struct policy_tenant *tenant = policy_tenant(policy, i);

        if (tenant->id < shared->size.n_tenants)
            change_tenant(&shared->tenants[tenant->id], tenant, now_ns);
    }
    for (uint32_t i = 0; i < policy_service_count(policy); i++) {
        const struct policy_service *service = policy_service(policy, i);

        if (service->id < shared->size.n_services)
            change_service(&shared->services[service->id], service, now_ns);
    }
}

/* -- leases, when a worker takes the policy over -- */

/* What a lease is to be filled from, and how. */
struct lease_plan {
    struct pool *pool;
    struct bucket_rate rate;
    struct lot lot;
};

static struct lease_plan plan_events(struct pool pools[PERIOD_MAX], const struct quota_rate *quota,
                                     uint32_t workers)
{
    struct bucket_rate rate = rate_of_events(quota);

    return (struct lease_plan){&pools[period_index(quota)], rate, lease_lot_events(&rate, workers)};
}

static struct lease_plan plan_bits(struct pool *pool, const struct quota_rate *quota,
                                   uint32_t workers)
{
    struct bucket_rate rate = rate_of_bits(quota);

    return (struct lease_plan){pool, rate, lease_lot_bytes(&rate, workers)};
}

static void set_lease(struct lease *lease, struct pool **pool, const struct lease_plan *plan,
                      uint64_t now_ns)
{
    struct pool *to = plan->pool;

    if (*pool == to && memcmp(&lease->rate, &plan->rate, sizeof(lease->rate)) == 0)
        return;
    if (*pool)
        lease_return(lease, *pool, now_ns);
    if (*pool == to) /* what is there, and what came back, is clamped to the new burst */
        pool_add(to, 0, pool_most(to, &plan->rate));
    lease->rate = plan->rate;
    lease->lot = plan->lot;
    lease->none_before_ns = 0;
    __atomic_store_n(pool, to, __ATOMIC_RELEASE); /* admission_reclaim() looks at it */
}

static void adopt_tenant(struct admission *adm, const struct policy_tenant *tenant, uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[tenant->id];
    struct tenant_pools *pools = &adm->shared->tenants[tenant->id];
    uint32_t workers = adm->size.n_workers;
    struct lease_plan attempts = plan_events(pools->attempts, &tenant->attempts, workers);
    struct lease_plan packets = plan_events(pools->packets, &tenant->packets, workers);
    struct lease_plan bits = plan_bits(&pools->bits, &tenant->bits, workers);

    set_lease(&t->attempts, &t->attempts_pool, &attempts, now_ns);
    set_lease(&t->packets, &t->packets_pool, &packets, now_ns);
    set_lease(&t->bits, &t->bits_pool, &bits, now_ns);
    t->metered = !tenant->packets.unlimited || !tenant->bits.unlimited;
    t->window = tenant->window;
}

static void adopt_service(struct admission *adm, const struct policy_service *service,
                          uint64_t now_ns)
{
    struct service_state *s = &adm->services[service->id];
    struct lease_plan refusals = plan_events(adm->shared->services[service->id].refusals,
                                             &service->refuse_rate, adm->size.n_workers);

    set_lease(&s->refusals, &s->refusals_pool, &refusals, now_ns);
    s->answers = service->refusal != REFUSAL_DROP;
    s->window = service->window;
}

void admission_adopt(struct admission *adm, const struct policy *policy, uint64_t now_ns)
{
    for (uint32_t i = 0; i < policy_tenant_count(policy); i++)
        if (policy_tenant(policy, i)->id < adm->size.n_tenants)
            adopt_tenant(adm, policy_tenant(policy, i), now_ns);
    for (uint32_t i = 0; i < policy_service_count(policy); i++)
        if (policy_service(policy, i)->id < adm->size.n_services)
            adopt_service(adm, policy_service(policy, i), now_ns);
}

uint64_t admission_attempt_tokens(const struct admission_shared *shared,
                                  const struct policy_tenant *tenant, uint64_t now_ns)
{
    struct bucket_rate rate = rate_of_events(&tenant->attempts);
    const struct pool *pool =
        &shared->tenants[tenant->id].attempts[period_index(&tenant->attempts)];
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_RELAXED);
    struct bucket bucket = {.level = level > 0 ? (uint64_t)level : 0,
                            .last_ns = __atomic_load_n(&pool->last_ns, __ATOMIC_RELAXED)};
    uint64_t tokens = bucket_tokens(&bucket, &rate, now_ns);
    uint64_t leased = (uint64_t)__atomic_load_n(&pool->outstanding, __ATOMIC_RELAXED);
    uint64_t most = rate.cost ? rate.cap / rate.cost : 0;

    return tokens + leased < most ? tokens + leased : most;
}
