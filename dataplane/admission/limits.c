/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a policy to what admission works with: pools when it is published, leases when a worker
 * takes it over.
 */
#include <string.h>

#include "dataplane/admission/quota.h"
#include "dataplane/admission/state.h"

#define OPENING_MIN     16u           /* slots */
#define BREAKER_RAMP_NS 5000000000ull /* from a tenth to all */
#define TRIAL_SLACK_NS  1000000000ull /* time-outs of flows are noticed with a delay */
/* Asked again so soon it is the same work, if no deadline says: beyond ANSWERED_NS, so that a SYN
 * which outlasts its answer still belongs to it. */
#define RETRY_DEFAULT_NS 10000000000ull

/* How a freed slot is handed out between classes that wait (deficit round robin). */
#define WEIGHT_BULK     1u
#define WEIGHT_NORMAL   4u
#define WEIGHT_CRITICAL 16u

/* -- rates -- */

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
    struct bucket_rate old = quota_rate_of_events(rate), new = quota_rate_of_events(to);
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
    struct bucket_rate old = quota_rate_of_bits(rate), new = quota_rate_of_bits(to);
    const struct rate_change change = {
        .from = seen ? &old : NULL, .to = &new, .from_pool = pool, .to_pool = pool};

    change_pool(&change, now_ns);
    *rate = *to;
}

/* `from` is POLICY_ERLANGS_UNLIMITED while there is no limit; 0 refuses all and earns nothing. */
static void change_occupancy(struct tenant_shared *shared, uint32_t to, uint64_t now_ns)
{
    uint32_t from = shared->milli_erlangs;

    shared->milli_erlangs = to;
    if (to == POLICY_ERLANGS_UNLIMITED || to == 0)
        return;
    if (!shared->seen)
        occupancy_set(&shared->occupancy, to, now_ns);
    else if (from != to)
        occupancy_change(&shared->occupancy, from == POLICY_ERLANGS_UNLIMITED ? 0 : from, to,
                         now_ns);
}

static void change_tenant(struct tenant_shared *shared, const struct policy_tenant *tenant,
                          uint64_t now_ns)
{
    change_events(shared->attempts, &shared->attempts_rate, &tenant->attempts, shared->seen,
                  now_ns);
    change_events(shared->packets, &shared->packets_rate, &tenant->packets, shared->seen, now_ns);
    change_bits(&shared->bits, &shared->bits_rate, &tenant->bits, shared->seen, now_ns);
    change_occupancy(shared, tenant->milli_erlangs, now_ns);
    if (!shared->seen)
        retry_init(&shared->retries);
    shared->seen = true;
}

static enum breaker_mode breaker_mode_of(enum policy_breaker_mode mode)
{
    switch (mode) {
    case POLICY_BREAKER_OPEN:
        return BREAKER_FORCED_OPEN;
    case POLICY_BREAKER_CLOSED:
        return BREAKER_FORCED_CLOSED;
    case POLICY_BREAKER_AUTO:
        break;
    }
    return BREAKER_AUTO;
}

static void change_service(struct service_shared *shared, const struct policy_service *service,
                           uint64_t now_ns)
{
    enum breaker_mode mode = breaker_mode_of(service->breaker.mode);

    change_events(shared->refusals, &shared->refusals_rate, &service->refuse_rate, shared->seen,
                  now_ns);
    change_events(shared->health_tokens, &shared->health_rate, &service->probes.attempts,
                  shared->seen, now_ns);
    if (shared->breaker_mode != mode && mode == BREAKER_AUTO)
        breaker_unforce(&shared->breaker, shared->breaker_mode, now_ns);
    shared->breaker_mode = mode;
    shared->seen = true;
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
    struct bucket_rate rate = quota_rate_of_events(quota);

    return (struct lease_plan){&pools[period_index(quota)], rate, lease_lot_events(&rate, workers)};
}

static struct lease_plan plan_bits(struct pool *pool, const struct quota_rate *quota,
                                   uint32_t workers)
{
    struct bucket_rate rate = quota_rate_of_bits(quota);

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
    struct tenant_shared *pools = &adm->shared->tenants[tenant->id];
    uint32_t workers = adm->size.n_workers;
    struct lease_plan attempts = plan_events(pools->attempts, &tenant->attempts, workers);
    struct lease_plan packets = plan_events(pools->packets, &tenant->packets, workers);
    struct lease_plan bits = plan_bits(&pools->bits, &tenant->bits, workers);

    set_lease(&t->attempts, &t->attempts_pool, &attempts, now_ns);
    set_lease(&t->packets, &t->packets_pool, &packets, now_ns);
    set_lease(&t->bits, &t->bits_pool, &bits, now_ns);
    t->metered = !tenant->packets.unlimited || !tenant->bits.unlimited;
    t->window = tenant->window;
    t->milli_erlangs = tenant->milli_erlangs;
    adm->any_erlangs = adm->any_erlangs || tenant->milli_erlangs != POLICY_ERLANGS_UNLIMITED;
    t->class = (uint8_t)tenant->class;
}

/* Spoofed SYNs may hold that many slots, no more; of a window without a limit, as many as they
 * will. */
static uint32_t opening_limit(uint32_t window)
{
    uint32_t quarter = window / 4 > OPENING_MIN ? window / 4 : OPENING_MIN;

    return quarter < window ? quarter : window;
}

static void set_limits(struct service_rules *rules, const struct policy_service *service)
{
    uint32_t window = service->window;
    uint32_t slots[CLASS_MAX], places[CLASS_MAX];

    for (unsigned c = 0; c < CLASS_MAX; c++) {
        slots[c] = service->reserve[c].slots;
        places[c] = service->reserve[c].places;
    }
    for (unsigned c = 0; c < CLASS_MAX; c++) {
        rules->window[c] = reserve_limit(window, slots, (enum policy_class)c);
        rules->places[c] = reserve_limit(service->wait.places, places, (enum policy_class)c);
    }
    rules->connections = service->connections;
    rules->opening = opening_limit(service->window);
    rules->opens = service->protocol == PROTOCOL_TCP && window < POLICY_WINDOW_MAX;
}

static uint32_t places_of(const struct policy_service *service, uint32_t slots)
{
    return service->window ? (uint32_t)((uint64_t)service->wait.places * slots / service->window)
                           : 0;
}

static void set_shares(struct service_state *s, const struct policy_service *service)
{
    static const uint32_t class_weights[CLASS_MAX] = {[CLASS_BULK] = WEIGHT_BULK,
                                                      [CLASS_NORMAL] = WEIGHT_NORMAL,
                                                      [CLASS_CRITICAL] = WEIGHT_CRITICAL};
    struct service_rules *rules = &s->rules;

    rules->n_shares = service->n_shares ? service->n_shares + 1 : 0;
    rules->shares[0] = (struct share_rules){.ceiling = UINT32_MAX, .weight = 1};
    rules->place_shares[0] = rules->shares[0];
    for (uint32_t i = 0; i < service->n_shares; i++) {
        const struct policy_share *share = &service->shares[i];

        rules->shares[i + 1] =
            (struct share_rules){share->guaranteed, share->ceiling, share->weight};
        /* Who is guaranteed slots must be able to wait for them. */
        rules->place_shares[i + 1] =
            (struct share_rules){.guaranteed = places_of(service, share->guaranteed),
                                 .ceiling = UINT32_MAX,
                                 .weight = 1};
    }
    for (unsigned share = 0; share <= service->n_shares; share++)
        for (unsigned c = 0; c < CLASS_MAX; c++)
            wait_set_weight(&s->queue, wait_line((uint8_t)share, (uint8_t)c),
                            rules->shares[share].weight * class_weights[c]);
}

bool limits_breaker(const struct policy_breaker *breaker, struct breaker_rules *rules)
{
    *rules = (struct breaker_rules){
        .open_ns = breaker->open_ns,
        .open_max_ns = breaker->open_max_ns,
        .probe_ns = breaker->response_ns + TRIAL_SLACK_NS,
        .ramp_ns = BREAKER_RAMP_NS,
        /* An operator can hold it open also where no failure opens it. */
        .failures = breaker->failures ? breaker->failures : UINT32_MAX,
        .jitter_ppm = BREAKER_JITTER_MAX,
        .mode = breaker_mode_of(breaker->mode),
    };
    return breaker_rules_init(rules) && (breaker->failures || breaker->mode != POLICY_BREAKER_AUTO);
}

static void adopt_service(struct admission *adm, const struct policy_service *service,
                          uint64_t now_ns)
{
    struct service_state *s = &adm->services[service->id];
    struct service_shared *shared = &adm->shared->services[service->id];
    uint32_t workers = adm->size.n_workers;
    struct lease_plan refusals = plan_events(shared->refusals, &service->refuse_rate, workers);
    struct lease_plan health =
        plan_events(shared->health_tokens, &service->probes.attempts, workers);

    set_lease(&s->refusals, &s->refusals_pool, &refusals, now_ns);
    set_lease(&s->health, &s->health_pool, &health, now_ns);
    set_limits(&s->rules, service);
    set_shares(s, service);
    s->rules.judged = limits_breaker(&service->breaker, &s->rules.breaker);
    s->rules.answers = service->refusal != REFUSAL_DROP;
    s->rules.deadline_ns = service->deadline_ns;
    s->rules.retry_ns = service->deadline_ns ? service->deadline_ns : RETRY_DEFAULT_NS;
    s->rules.wait_age_ns = service->wait.age_ns;
    s->rules.order = service->wait.order;
}

void admission_adopt(struct admission *adm, const struct policy *policy, uint64_t now_ns)
{
    adm->any_erlangs = false;
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
    struct bucket_rate rate = quota_rate_of_events(&tenant->attempts);
    const struct pool *pool =
        &shared->tenants[tenant->id].attempts[period_index(&tenant->attempts)];
    const struct bucket bucket = pool_bucket(pool);
    uint64_t tokens = bucket_tokens(&bucket, &rate, now_ns);
    uint64_t leased = (uint64_t)__atomic_load_n(&pool->outstanding, __ATOMIC_RELAXED);
    uint64_t most = rate.cost ? rate.cap / rate.cost : 0;

    return tokens + leased < most ? tokens + leased : most;
}
