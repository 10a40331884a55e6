/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/state.h"

#define CACHE_LINE 64

/* One writer: a plain load and a relaxed store, so that readers never see half a number. */
static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* -- memory -- */

size_t admission_shared_bytes(const struct admission_size *size)
{
    return sizeof(struct admission_shared) + CACHE_LINE +
           size->n_tenants * (sizeof(struct tenant_pools) + sizeof(struct window)) +
           size->n_services * (sizeof(struct service_pools) + sizeof(struct window)) +
           size->n_workers * sizeof(struct generation);
}

size_t admission_bytes(const struct admission_size *size)
{
    return sizeof(struct admission) + CACHE_LINE + size->n_tenants * sizeof(struct tenant_state) +
           size->n_services * sizeof(struct service_state);
}

static void *behind(void *structure, size_t bytes)
{
    return (void *)(((uintptr_t)structure + bytes + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
}

struct admission_shared *admission_shared_init(void *memory, const struct admission_size *size)
{
    struct admission_shared *shared = memory;

    shared->size = *size;
    shared->tenants = behind(shared, sizeof(*shared));
    shared->services = (struct service_pools *)(shared->tenants + size->n_tenants);
    shared->windows = (struct window *)(shared->services + size->n_services);
    shared->generations =
        (struct generation *)(shared->windows + size->n_tenants + size->n_services);
    return shared;
}

struct admission *admission_init(void *memory, struct admission_shared *shared, uint32_t worker)
{
    struct admission *adm = memory;

    adm->shared = shared;
    adm->size = shared->size;
    adm->generation = &shared->generations[worker];
    adm->first_held = ADMISSION_NONE;
    adm->tenants = behind(adm, sizeof(*adm));
    adm->services = (struct service_state *)(adm->tenants + adm->size.n_tenants);
    return adm;
}

/* -- decisions -- */

static uint32_t generation_of(const struct admission *adm)
{
    return __atomic_load_n(&adm->generation->number, __ATOMIC_RELAXED);
}

static bool holds_leases(const struct tenant_state *t)
{
    return lease_is_held(&t->attempts) || lease_is_held(&t->packets) || lease_is_held(&t->bits);
}

static uint32_t *next_held(struct admission *adm, uint32_t holder)
{
    uint32_t n_tenants = adm->size.n_tenants;

    return holder < n_tenants ? &adm->tenants[holder].next_held
                              : &adm->services[holder - n_tenants].next_held;
}

static void queue_held(struct admission *adm, uint32_t holder)
{
    *next_held(adm, holder) = ADMISSION_NONE;
    if (adm->first_held == ADMISSION_NONE)
        adm->first_held = holder;
    else
        *next_held(adm, adm->last_held) = holder;
    adm->last_held = holder;
}

/* Remembers a tenant that holds leases, so that admission_tidy() finds it. */
static void note_held(struct admission *adm, uint32_t tenant)
{
    struct tenant_state *t = &adm->tenants[tenant];

    if (t->held || !holds_leases(t))
        return;
    t->held = true;
    queue_held(adm, tenant);
}

/* Takes a packet's share of its tenant's quotas, of both or of neither. */
static enum reason take_packet(struct tenant_state *t, uint32_t ip_bytes, uint32_t generation,
                               uint64_t now_ns)
{
    if (!lease_take(&t->packets, t->packets_pool, 1, generation, now_ns))
        return REASON_PACKETS;
    if (lease_take(&t->bits, t->bits_pool, ip_bytes, generation, now_ns))
        return REASON_NONE;
    lease_untake(&t->packets, t->packets_pool, 1);
    return REASON_BITS;
}

static enum reason take_quotas(struct tenant_state *t, uint32_t ip_bytes, uint32_t generation,
                               uint64_t now_ns)
{
    enum reason reason;

    if (!lease_take(&t->attempts, t->attempts_pool, 1, generation, now_ns))
        return REASON_RATE;
    if (!t->metered)
        return REASON_NONE;
    reason = take_packet(t, ip_bytes, generation, now_ns);
    if (reason != REASON_NONE)
        lease_untake(&t->attempts, t->attempts_pool, 1);
    return reason;
}

static void untake_quotas(struct tenant_state *t, uint32_t ip_bytes)
{
    lease_untake(&t->attempts, t->attempts_pool, 1);
    if (!t->metered)
        return;
    lease_untake(&t->packets, t->packets_pool, 1);
    lease_untake(&t->bits, t->bits_pool, ip_bytes);
}

/* Takes a place in both windows or in neither. */
static enum reason take_slot(struct admission *adm, const struct attempt *attempt)
{
    struct window *share = shared_tenant_window(adm->shared, attempt->tenant);
    struct window *capacity = shared_service_window(adm->shared, attempt->service);

    if (!window_acquire(share, adm->tenants[attempt->tenant].window))
        return REASON_SHARE;
    if (!window_acquire(capacity, adm->services[attempt->service].window)) {
        window_release(share);
        return REASON_CAPACITY;
    }
    return REASON_NONE;
}

/* The order of decisions. A new check takes the place its cost and the order give it. */
static enum reason decide(struct admission *adm, const struct attempt *attempt, uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[attempt->tenant];
    enum reason reason;

    /* denied -> deadline -> breaker */
    reason = take_quotas(t, attempt->ip_bytes, generation_of(adm), now_ns);
    note_held(adm, attempt->tenant);
    /* -> retry budget -> shed */
    if (reason == REASON_NONE && attempt->service != ADMISSION_NO_SERVICE) {
        reason = take_slot(adm, attempt);
        if (reason != REASON_NONE)
            untake_quotas(t, attempt->ip_bytes);
    }
    /* -> wait queue */
    return reason;
}

void admission_prefetch_packet(const struct admission *adm, uint32_t tenant)
{
    const struct tenant_state *t = &adm->tenants[tenant];

    __builtin_prefetch(&t->packets, 1);
    __builtin_prefetch(&t->bits, 1);
    __builtin_prefetch(&t->metered, 1);
    __builtin_prefetch(&t->counters, 1);
}

void admission_prefetch_attempt(const struct admission *adm, uint32_t tenant)
{
    admission_prefetch_packet(adm, tenant);
    __builtin_prefetch(&adm->tenants[tenant].attempts, 1);
}

static void count_packet(struct tenant_state *t, enum direction direction, uint32_t ip_bytes)
{
    count(&t->counters.packets[direction], 1);
    count(&t->counters.bytes[direction], ip_bytes);
}

/* `reason` is REASON_NONE for an admitted attempt. */
static void count_attempt(struct admission *adm, const struct attempt *attempt, enum reason reason)
{
    struct admission_tenant_counters *t = &adm->tenants[attempt->tenant].counters;
    struct admission_service_counters *s;

    count(&t->attempts, 1);
    count(&t->attempt_packets, 1);
    count(reason ? &t->refused[reason] : &t->admitted, 1);
    if (attempt->service == ADMISSION_NO_SERVICE)
        return;
    s = &adm->services[attempt->service].counters;
    count(&s->attempts, 1);
    count(&s->attempt_packets, 1);
    count(reason ? &s->refused[reason] : &s->admitted, 1);
}

struct decision admission_offer(struct admission *adm, const struct attempt *attempt,
                                uint64_t now_ns)
{
    enum reason reason = decide(adm, attempt, now_ns);

    count_attempt(adm, attempt, reason);
    if (reason == REASON_NONE)
        count_packet(&adm->tenants[attempt->tenant], DIRECTION_IN, attempt->ip_bytes);
    return (struct decision){reason ? VERDICT_REFUSE : VERDICT_ADMIT, reason};
}

void admission_refuse(struct admission *adm, const struct attempt *attempt, enum reason reason)
{
    count_attempt(adm, attempt, reason);
}

void admission_repeat(struct admission *adm, const struct slot *slot)
{
    count(&adm->tenants[slot->tenant].counters.attempt_packets, 1);
    count(&adm->services[slot->service].counters.attempt_packets, 1);
}

struct decision admission_charge(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                 uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[tenant];
    enum reason reason = REASON_NONE;

    if (t->metered) {
        reason = take_packet(t, ip_bytes, generation_of(adm), now_ns);
        note_held(adm, tenant);
    }
    if (reason == REASON_NONE) {
        count_packet(t, DIRECTION_IN, ip_bytes);
        return (struct decision){VERDICT_ADMIT, REASON_NONE};
    }
    count(reason == REASON_PACKETS ? &t->counters.dropped_packets : &t->counters.dropped_bits, 1);
    return (struct decision){VERDICT_REFUSE, reason};
}

void admission_count_out(struct admission *adm, uint32_t tenant, uint32_t ip_bytes)
{
    count_packet(&adm->tenants[tenant], DIRECTION_OUT, ip_bytes);
}

void admission_adopt_flow(struct admission *adm, const struct slot *slot)
{
    window_force(shared_tenant_window(adm->shared, slot->tenant));
    window_force(shared_service_window(adm->shared, slot->service));
    count(&adm->tenants[slot->tenant].counters.adopted, 1);
    count(&adm->services[slot->service].counters.adopted, 1);
}

void admission_complete(struct admission *adm, const struct slot *slot, enum outcome outcome)
{
    window_release(shared_tenant_window(adm->shared, slot->tenant));
    window_release(shared_service_window(adm->shared, slot->service));
    count(&adm->services[slot->service].counters.outcomes[outcome], 1);
}

bool admission_may_answer(struct admission *adm, uint32_t service, uint64_t now_ns)
{
    struct service_state *s = &adm->services[service];
    bool answer =
        s->answers && lease_take(&s->refusals, s->refusals_pool, 1, generation_of(adm), now_ns);

    if (!s->held && lease_is_held(&s->refusals)) {
        s->held = true;
        queue_held(adm, adm->size.n_tenants + service);
    }
    count(answer ? &s->counters.answered : &s->counters.unanswered, 1);
    return answer;
}

/* -- leases that nobody uses -- */

static void return_idle(struct lease *lease, struct pool *pool, uint64_t now_ns)
{
    if (lease_is_held(lease) && now_ns - lease->since_ns >= LEASE_IDLE_NS)
        lease_return(lease, pool, now_ns);
}

/* True while it holds any. */
static bool tidy_tenant(struct tenant_state *t, uint64_t now_ns)
{
    return_idle(&t->attempts, t->attempts_pool, now_ns);
    return_idle(&t->packets, t->packets_pool, now_ns);
    return_idle(&t->bits, t->bits_pool, now_ns);
    return t->held = holds_leases(t);
}

static bool tidy_service(struct service_state *s, uint64_t now_ns)
{
    return_idle(&s->refusals, s->refusals_pool, now_ns);
    return s->held = lease_is_held(&s->refusals);
}

void admission_tidy(struct admission *adm, uint64_t now_ns)
{
    uint32_t n_tenants = adm->size.n_tenants;

    for (unsigned i = 0; i < ADMISSION_TIDY_MAX && adm->first_held != ADMISSION_NONE; i++) {
        uint32_t holder = adm->first_held;

        adm->first_held = *next_held(adm, holder);
        if (holder < n_tenants ? tidy_tenant(&adm->tenants[holder], now_ns)
                               : tidy_service(&adm->services[holder - n_tenants], now_ns))
            queue_held(adm, holder); /* looked at again when it is its turn */
    }
}

/*
 * What a worker holds of one pool is struck off; the tokens themselves are lost, not spent twice.
 * The worker may come back in the midst of it and take over a policy that leases from another pool
 * (one: it is the caller who publishes). Then nobody can say which of the two it was, and it stays
 * counted: too few tokens rather than too many.
 */
static void strike_off(struct lease *lease, struct pool *const *pool)
{
    struct pool *before = __atomic_load_n(pool, __ATOMIC_ACQUIRE);
    uint32_t granted = lease_take_granted(lease);

    if (granted && before == __atomic_load_n(pool, __ATOMIC_ACQUIRE))
        __atomic_fetch_sub(&before->outstanding, granted, __ATOMIC_ACQ_REL);
}

void admission_reclaim(struct admission *dead)
{
    __atomic_fetch_add(&((struct generation *)dead->generation)->number, 1, __ATOMIC_ACQ_REL);
    for (uint32_t i = 0; i < dead->size.n_tenants; i++) {
        struct tenant_state *t = &dead->tenants[i];

        strike_off(&t->attempts, &t->attempts_pool);
        strike_off(&t->packets, &t->packets_pool);
        strike_off(&t->bits, &t->bits_pool);
    }
    for (uint32_t i = 0; i < dead->size.n_services; i++)
        strike_off(&dead->services[i].refusals, &dead->services[i].refusals_pool);
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

const struct window *admission_tenant_window(const struct admission_shared *shared, uint32_t tenant)
{
    return shared_tenant_window(shared, tenant);
}

const struct window *admission_service_window(const struct admission_shared *shared,
                                              uint32_t service)
{
    return shared_service_window(shared, service);
}
