/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/admission.h"

#include <string.h>

/* A bucket and the rate it is filled at now. */
struct quota {
    struct bucket bucket;
    struct bucket_rate rate;
};

/* One tenant on one worker. The first line decides most attempts; the counters stand apart. */
struct tenant_state {
    struct quota attempts;
    uint32_t window; /* slots */
    bool seen;       /* a policy has named it */
    bool metered;    /* packets or bits are limited */
    struct quota packets __attribute__((aligned(64)));
    struct quota bits __attribute__((aligned(64)));
    struct admission_tenant_counters counters __attribute__((aligned(64)));
};

struct service_state {
    struct quota refusals;
    uint32_t window; /* slots */
    bool seen;
    bool answers; /* refusal form is not `drop` */
    struct admission_service_counters counters __attribute__((aligned(64)));
};

_Static_assert(offsetof(struct tenant_state, packets) == 64, "an attempt is decided on one line");
_Static_assert(offsetof(struct service_state, counters) == 64, "one line before the counters");

struct admission_shared {
    struct admission_size size;
    struct window windows[] __attribute__((aligned(64))); /* tenants, then services */
};

struct admission {
    struct admission_shared *shared;
    struct tenant_state *tenants;
    struct service_state *services;
    struct admission_size size;
};

/* One writer: a plain load and a relaxed store, so that readers never see half a number. */
static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

size_t admission_shared_bytes(const struct admission_size *size)
{
    return sizeof(struct admission_shared) +
           ((size_t)size->n_tenants + size->n_services) * sizeof(struct window);
}

size_t admission_bytes(const struct admission_size *size)
{
    return sizeof(struct admission) + 64 + size->n_tenants * sizeof(struct tenant_state) +
           size->n_services * sizeof(struct service_state);
}

struct admission_shared *admission_shared_init(void *memory, const struct admission_size *size)
{
    struct admission_shared *shared = memory;

    shared->size = *size;
    return shared;
}

struct admission *admission_init(void *memory, const struct admission_size *size,
                                 struct admission_shared *shared)
{
    struct admission *adm = memory;
    uintptr_t states = ((uintptr_t)(adm + 1) + 63) & ~(uintptr_t)63;

    adm->shared = shared;
    adm->size = *size;
    adm->tenants = (struct tenant_state *)states;
    adm->services = (struct service_state *)(adm->tenants + size->n_tenants);
    return adm;
}

static struct window *tenant_window(const struct admission_shared *shared, uint32_t tenant)
{
    return (struct window *)&shared->windows[tenant];
}

static struct window *service_window(const struct admission_shared *shared, uint32_t service)
{
    return (struct window *)&shared->windows[shared->size.n_tenants + service];
}

/* -- limits from a policy -- */

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

/* Stores field by field, since a listing may read the rate of a live bucket meanwhile. */
static void quota_set(struct quota *quota, struct bucket_rate rate, bool seen, uint64_t now_ns)
{
    if (!seen)
        bucket_init(&quota->bucket, &rate, now_ns);
    else if (memcmp(&quota->rate, &rate, sizeof(rate)) != 0)
        bucket_rebase(&quota->bucket, &quota->rate, &rate, now_ns);
    else
        return;
    __atomic_store_n(&quota->rate.rate, rate.rate, __ATOMIC_RELAXED);
    __atomic_store_n(&quota->rate.cost, rate.cost, __ATOMIC_RELAXED);
    __atomic_store_n(&quota->rate.cap, rate.cap, __ATOMIC_RELAXED);
    __atomic_store_n(&quota->rate.fill_ns, rate.fill_ns, __ATOMIC_RELAXED);
}

static void adopt_tenant(struct tenant_state *state, const struct policy_tenant *tenant,
                         uint64_t now_ns)
{
    quota_set(&state->attempts, rate_of_events(&tenant->attempts), state->seen, now_ns);
    quota_set(&state->packets, rate_of_events(&tenant->packets), state->seen, now_ns);
    quota_set(&state->bits, rate_of_bits(&tenant->bits), state->seen, now_ns);
    state->metered = !tenant->packets.unlimited || !tenant->bits.unlimited;
    state->window = tenant->window;
    state->seen = true;
}

static void adopt_service(struct service_state *state, const struct policy_service *service,
                          uint64_t now_ns)
{
    quota_set(&state->refusals, rate_of_events(&service->refuse_rate), state->seen, now_ns);
    state->answers = service->refusal != REFUSAL_DROP;
    state->window = service->window;
    state->seen = true;
}

void admission_adopt(struct admission *adm, const struct policy *policy, uint64_t now_ns)
{
    for (uint32_t i = 0; i < policy_tenant_count(policy); i++) {
        const struct policy_tenant *tenant = policy_tenant(policy, i);

        if (tenant->id < adm->size.n_tenants)
            adopt_tenant(&adm->tenants[tenant->id], tenant, now_ns);
    }
    for (uint32_t i = 0; i < policy_service_count(policy); i++) {
        const struct policy_service *service = policy_service(policy, i);

        if (service->id < adm->size.n_services)
            adopt_service(&adm->services[service->id], service, now_ns);
    }
}

/* -- decisions -- */

static bool quota_has(const struct quota *quota, uint64_t n, uint64_t now_ns)
{
    return bucket_has(&quota->bucket, &quota->rate, n, now_ns);
}

static void quota_debit(struct quota *quota, uint64_t n, uint64_t now_ns)
{
    bucket_debit(&quota->bucket, &quota->rate, n, now_ns);
}

/* Which of the tenant's buckets is in the way? Debits nothing. */
static enum reason test_quotas(const struct tenant_state *t, uint32_t ip_bytes, uint64_t now_ns)
{
    if (!quota_has(&t->attempts, 1, now_ns))
        return REASON_RATE;
    if (t->metered && !quota_has(&t->packets, 1, now_ns))
        return REASON_PACKETS;
    if (t->metered && !quota_has(&t->bits, ip_bytes, now_ns))
        return REASON_BITS;
    return REASON_NONE;
}

/* Takes a place in both windows or in neither. */
static enum reason take_slot(struct admission *adm, const struct attempt *attempt)
{
    struct window *share = tenant_window(adm->shared, attempt->tenant);
    struct window *capacity = service_window(adm->shared, attempt->service);

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
    reason = test_quotas(t, attempt->ip_bytes, now_ns);
    /* -> retry budget -> shed */
    if (reason == REASON_NONE && attempt->service != ADMISSION_NO_SERVICE)
        reason = take_slot(adm, attempt);
    /* -> wait queue */
    if (reason != REASON_NONE)
        return reason;
    quota_debit(&t->attempts, 1, now_ns);
    if (t->metered) {
        quota_debit(&t->packets, 1, now_ns);
        quota_debit(&t->bits, attempt->ip_bytes, now_ns);
    }
    return REASON_NONE;
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

    if (!t->metered)
        return (struct decision){VERDICT_ADMIT, REASON_NONE};
    if (!quota_has(&t->packets, 1, now_ns)) {
        count(&t->counters.dropped_packets, 1);
        return (struct decision){VERDICT_REFUSE, REASON_PACKETS};
    }
    if (!quota_has(&t->bits, ip_bytes, now_ns)) {
        count(&t->counters.dropped_bits, 1);
        return (struct decision){VERDICT_REFUSE, REASON_BITS};
    }
    quota_debit(&t->packets, 1, now_ns);
    quota_debit(&t->bits, ip_bytes, now_ns);
    return (struct decision){VERDICT_ADMIT, REASON_NONE};
}

void admission_count(struct admission *adm, uint32_t tenant, enum direction direction,
                     uint32_t ip_bytes)
{
    struct admission_tenant_counters *t = &adm->tenants[tenant].counters;

    count(&t->packets[direction], 1);
    count(&t->bytes[direction], ip_bytes);
}

void admission_adopt_flow(struct admission *adm, const struct slot *slot)
{
    window_force(tenant_window(adm->shared, slot->tenant));
    window_force(service_window(adm->shared, slot->service));
    count(&adm->tenants[slot->tenant].counters.adopted, 1);
    count(&adm->services[slot->service].counters.adopted, 1);
}

void admission_complete(struct admission *adm, const struct slot *slot, enum outcome outcome)
{
    window_release(tenant_window(adm->shared, slot->tenant));
    window_release(service_window(adm->shared, slot->service));
    count(&adm->services[slot->service].counters.outcomes[outcome], 1);
}

bool admission_may_answer(struct admission *adm, uint32_t service, uint64_t now_ns)
{
    struct service_state *s = &adm->services[service];
    bool answer = s->answers && bucket_take(&s->refusals.bucket, &s->refusals.rate, 1, now_ns);

    count(answer ? &s->counters.answered : &s->counters.unanswered, 1);
    return answer;
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

uint64_t admission_attempt_tokens(const struct admission *adm, uint32_t tenant, uint64_t now_ns)
{
    const struct quota *quota = &adm->tenants[tenant].attempts;
    struct bucket_rate rate = {
        .rate = __atomic_load_n(&quota->rate.rate, __ATOMIC_RELAXED),
        .cost = __atomic_load_n(&quota->rate.cost, __ATOMIC_RELAXED),
        .cap = __atomic_load_n(&quota->rate.cap, __ATOMIC_RELAXED),
        .fill_ns = __atomic_load_n(&quota->rate.fill_ns, __ATOMIC_RELAXED),
    };

    return bucket_tokens(&quota->bucket, &rate, now_ns);
}

const struct window *admission_tenant_window(const struct admission_shared *shared, uint32_t tenant)
{
    return tenant_window(shared, tenant);
}

const struct window *admission_service_window(const struct admission_shared *shared,
                                              uint32_t service)
{
    return service_window(shared, service);
}
