/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of decisions. A check that fails later gives back what the ones before it have taken.
 */
#include "dataplane/admission/checks.h"

/* -- room: connections, slots, places to wait -- */

static enum reason take_connection(struct offer *o)
{
    struct window *connections = &o->service_shared->connections;

    if (o->health)
        window_force(connections);
    else if (!window_acquire(connections, o->service->rules.connections))
        return REASON_CONNECTIONS;
    o->held = o->health ? SLOT_HEALTH : 0;
    return REASON_NONE;
}

/* Will the client have to confirm that it is there? */
static bool opens_slot(const struct offer *o)
{
    return o->service->rules.opens && o->attempt->flags & ATTEMPT_SYN;
}

static inline enum reason take_free_slot(struct admission *adm, struct offer *o)
{
    const struct attempt *a = o->attempt;
    const struct slot_wish wish = {
        .tenant = a->tenant,
        .service = a->service,
        .share = a->share,
        .class = o->tenant->class,
        .health = o->health,
        .opening = opens_slot(o),
    };
    enum reason reason = slot_take(adm, &wish, &o->held);

    if (reason == REASON_NONE && a->kind == ATTEMPT_FIRST)
        o->held |= a->held & SLOT_TRIAL; /* its reply is what the trial is for */
    return reason;
}

static enum reason take_slot(struct admission *adm, struct offer *o)
{
    enum reason reason;

    /* Nobody overtakes those who wait, on whichever worker. And who finds the window full does not
     * try for it: that takes and gives back words that all workers are busy with. */
    if (!o->health &&
        (window_used(&o->service_shared->waiting) ||
         window_used(&o->service_shared->window) >= o->service->rules.window[o->tenant->class]))
        return REASON_CAPACITY;
    reason = take_free_slot(adm, o);
    if (reason == REASON_NONE && !o->health)
        wait_sojourn_note(&o->service->sojourn, 0, o->now_ns);
    return reason;
}

/* What one of many may have: the breaker's trial, the second's sample. */
static enum reason claim(struct offer *o)
{
    struct service_shared *shared = o->service_shared;

    /* Of a connection it is the request that shows how long things take. */
    if (o->sample && o->attempt->kind != ATTEMPT_CONNECT &&
        !promise_sample(&shared->advice.promise, o->now_ns))
        return REASON_DEADLINE;
    if (!o->trial)
        return REASON_NONE;
    if (!breaker_claim(&shared->breaker, &o->service->rules.breaker, o->now_ns))
        return REASON_BREAKER;
    o->held |= SLOT_TRIAL;
    return REASON_NONE;
}

static __attribute__((noinline)) enum reason claim_last(struct admission *adm, struct offer *o)
{
    const struct attempt *a = o->attempt;
    const struct slot slot = {a->tenant, a->service, a->share, o->held};
    enum reason reason = claim(o);

    if (reason == REASON_NONE)
        return REASON_NONE;
    if (a->kind == ATTEMPT_CONNECT)
        admission_disconnect(adm, &slot);
    else
        slot_give_back(adm, &slot);
    return reason;
}

static enum reason take_room(struct admission *adm, struct offer *o)
{
    enum reason reason =
        o->attempt->kind == ATTEMPT_CONNECT ? take_connection(o) : take_slot(adm, o);

    return reason == REASON_NONE && (o->trial || o->sample) ? claim_last(adm, o) : reason;
}

/* For who cannot wait: when only slots are left that are kept for its class, they are none that
 * anybody who waits below it could have. */
static __attribute__((noinline)) enum reason take_kept(struct admission *adm, struct offer *o)
{
    const uint32_t *limits = o->service->rules.window;
    uint32_t used = window_used(&o->service_shared->window);
    uint8_t class = o->tenant->class;
    enum reason reason;

    if (class == CLASS_BULK || used < limits[class - 1] || used >= limits[class])
        return REASON_CAPACITY;
    reason = take_free_slot(adm, o);
    return reason == REASON_NONE && (o->trial || o->sample) ? claim_last(adm, o) : reason;
}

/* -- the order -- */

/* Health checks have tokens and a slot of their own, so nothing below can refuse them. */
static bool take_health_token(struct admission *adm, struct offer *o)
{
    const struct attempt *a = o->attempt;
    bool took;

    if (a->kind == ATTEMPT_FIRST) /* as its connection, which paid or did not */
        return a->held & SLOT_HEALTH;
    if (!(a->flags & ATTEMPT_HEALTH))
        return false;
    took = lease_take(&o->service->health, o->service->health_pool, 1, admission_generation(adm),
                      o->now_ns);
    admission_note_service(adm, a->service);
    return took;
}

/* A connection's first request has paid with its SYN and in admission_meter(), and gets that back
 * when it is refused. */
static enum reason check(struct admission *adm, struct offer *o)
{
    bool first = o->attempt->kind == ATTEMPT_FIRST;
    enum reason reason = REASON_NONE;

    o->paid = first;
    find_first_try(adm, o);
    if (!first && gateway_sheds(adm, o))
        return REASON_GATEWAY;
    if (is_hopeless(o))
        return REASON_DEADLINE;
    if (o->service->rules.judged)
        reason = ask_breaker(o);
    if (reason == REASON_NONE && !first)
        reason = quotas_take(adm, o->attempt, o->now_ns);
    if (reason != REASON_NONE)
        return reason;
    o->paid = true;
    if (o->attempt->kind != ATTEMPT_CONNECT && is_at_share(o))
        return REASON_SHARE;
    if (first)
        return REASON_NONE;
    reason = charge_retry(o);
    return reason == REASON_NONE ? ask_shedding(o) : reason;
}

static enum reason decide(struct admission *adm, struct offer *o)
{
    enum reason reason = REASON_NONE;

    o->health = take_health_token(adm, o);
    if (!o->health)
        reason = check(adm, o);
    return reason == REASON_NONE ? take_room(adm, o) : reason;
}

/* Full now, but perhaps not for long. What is to try something does not wait: neither a breaker's
 * trial nor a sample would show anything by that. */
static __attribute__((noinline)) uint32_t enter_queue(struct admission *adm, const struct offer *o)
{
    const struct attempt *a = o->attempt;
    const struct service_rules *rules = &o->service->rules;
    struct waiter waiter = {
        .cookie = a->cookie,
        .since_ns = o->now_ns,
        .until_ns = rules->deadline_ns ? o->first_ns + rules->deadline_ns : WAIT_FOREVER,
        .client = a->client,
        .flow = a->flow,
        .isn = a->isn,
        .service = a->service,
        .tenant = a->tenant,
        .ip_bytes = a->ip_bytes,
        .class = o->tenant->class,
        .share = a->share,
        .flags =
            (uint8_t)((o->retry ? WAITER_RETRY : 0) | (o->paid_retry ? WAITER_PAID_RETRY : 0) |
                      (a->flags & ATTEMPT_SYN ? WAITER_SYN : 0) |
                      (opens_slot(o) ? WAITER_OPENS : 0) | (rules->n_shares ? WAITER_SHARED : 0)),
    };

    if (o->trial || o->sample || o->health || a->held & SLOT_TRIAL ||
        !rules->places[o->tenant->class])
        return ADMISSION_NONE;
    return waiting_enter(adm, &waiter);
}

static void give_back(struct admission *adm, const struct offer *o)
{
    const struct attempt *a = o->attempt;

    if (o->paid)
        quotas_give_back(adm, a->tenant, a->ip_bytes);
    if (o->paid_retry)
        retry_untake(&o->tenant_shared->retries);
    if (o->health && a->kind != ATTEMPT_FIRST)
        lease_untake(&o->service->health, o->service->health_pool, 1);
}

/* -- counting -- */

static inline void count_try(const struct offer *o)
{
    struct admission_tenant_counters *t = &o->tenant->counters;
    struct admission_service_counters *s = &o->service->counters;

    if (o->attempt->kind == ATTEMPT_FIRST)
        return;
    admission_count(&t->attempts, 1);
    admission_count(&t->attempt_packets, 1);
    admission_count(&s->attempts, 1);
    admission_count(&s->attempt_packets, 1);
    if (o->retry || o->health)
        return;
    admission_count(&t->offered, 1);
    admission_count(&s->offered, 1);
}

static inline void count_repeat(struct tenant_state *tenant, struct service_state *service)
{
    admission_count(&tenant->counters.attempt_packets, 1);
    admission_count(&service->counters.attempt_packets, 1);
}

/* Remembers work that was refused; true if it is one more piece of unmet demand. */
static bool note_refused(struct admission *adm, const struct refused *r, uint64_t now_ns)
{
    struct demand_memory *demand = adm->shared->demand;
    uint64_t key = demand_key(r->client, r->service);
    uint64_t within_ns = adm->services[r->service].rules.retry_ns;
    bool unmet = reason_kind(r->reason) == REASON_KIND_CAPACITY;

    if (!demand)
        return unmet;
    if (unmet)
        return demand_note_unmet(demand, key, r->retry, within_ns, now_ns);
    if (!r->known)
        demand_note(demand, key, within_ns, now_ns);
    return false;
}

void offer_refused(struct admission *adm, const struct refused *r, uint64_t now_ns)
{
    struct service_state *s = &adm->services[r->service];

    admission_count(&adm->tenants[r->tenant].counters.refused[r->reason], 1);
    admission_count(&s->counters.refused[r->reason], 1);
    if (note_refused(adm, r, now_ns))
        admission_count(&s->counters.refused_unique, 1);
    if (adm->answered && r->syn)
        answered_note(adm->answered, r->key, r->reason, now_ns);
}

static void count_let_in(struct admission *adm, const struct offer *o)
{
    const struct attempt *a = o->attempt;
    const struct slot slot = {a->tenant, a->service, a->share, o->held};

    if (a->kind == ATTEMPT_CONNECT)
        admission_count(&o->service->counters.connected, 1);
    else
        offer_admitted(adm, &slot, a->client, o->retry);
    tenant_count_packet(o->tenant, DIRECTION_IN, a->ip_bytes);
}

/* -- offers -- */

static __attribute__((noinline)) struct decision refuse(struct admission *adm,
                                                        const struct offer *o, enum reason reason)
{
    const struct attempt *a = o->attempt;

    give_back(adm, o);
    offer_refused(adm,
                  &(struct refused){.tenant = a->tenant,
                                    .service = a->service,
                                    .reason = reason,
                                    .retry = o->retry,
                                    .known = o->retry,
                                    .syn = (a->flags & ATTEMPT_SYN) != 0,
                                    .client = a->client,
                                    .key = answered_key(a->flow, a->isn)},
                  o->now_ns);
    return (struct decision){.verdict = VERDICT_REFUSE, .reason = reason, .waiter = ADMISSION_NONE};
}

static struct decision offer(struct admission *adm, struct offer *o)
{
    enum reason reason = decide(adm, o);

    count_try(o);
    if (reason == REASON_CAPACITY) {
        uint32_t waiter = enter_queue(adm, o);

        if (waiter != ADMISSION_NONE)
            return (struct decision){.verdict = VERDICT_WAIT, .waiter = waiter};
        reason = take_kept(adm, o);
    }
    if (reason != REASON_NONE)
        return refuse(adm, o, reason);
    count_let_in(adm, o);
    return (struct decision){.verdict = VERDICT_ADMIT, .waiter = ADMISSION_NONE, .held = o->held};
}

static void count_unnamed(struct admission *adm, const struct attempt *a, enum reason reason)
{
    struct admission_tenant_counters *t = &adm->tenants[a->tenant].counters;

    admission_count(&t->attempts, 1);
    admission_count(&t->attempt_packets, 1);
    admission_count(&t->offered, 1);
    admission_count(reason ? &t->refused[reason] : &t->admitted, 1);
}

/* Nobody's service: the tenant pays with its quotas, nothing else applies. */
static struct decision offer_unnamed(struct admission *adm, const struct attempt *a,
                                     uint64_t now_ns)
{
    enum reason reason = quotas_take(adm, a, now_ns);

    count_unnamed(adm, a, reason);
    if (reason == REASON_NONE)
        tenant_count_packet(&adm->tenants[a->tenant], DIRECTION_IN, a->ip_bytes);
    return (struct decision){.verdict = reason ? VERDICT_REFUSE : VERDICT_ADMIT, .reason = reason};
}

struct decision admission_offer(struct admission *adm, const struct attempt *attempt,
                                uint64_t now_ns)
{
    struct offer o = {.attempt = attempt, .now_ns = now_ns, .first_ns = now_ns};

    if (attempt->service == ADMISSION_NO_SERVICE)
        return offer_unnamed(adm, attempt, now_ns);
    o.tenant = &adm->tenants[attempt->tenant];
    o.service = &adm->services[attempt->service];
    o.tenant_shared = &adm->shared->tenants[attempt->tenant];
    o.service_shared = &adm->shared->services[attempt->service];
    if (adm->answered && attempt->flags & ATTEMPT_SYN) {
        enum reason reason =
            answered_find(adm->answered, answered_key(attempt->flow, attempt->isn), now_ns);

        if (reason != REASON_NONE) { /* the same attempt once more */
            count_repeat(o.tenant, o.service);
            return (struct decision){.verdict = VERDICT_REFUSE, .reason = reason};
        }
    }
    return offer(adm, &o);
}

void admission_refuse(struct admission *adm, const struct attempt *a, enum reason reason,
                      uint64_t now_ns)
{
    struct offer o = {.attempt = a, .tenant = &adm->tenants[a->tenant], .now_ns = now_ns};

    if (a->service == ADMISSION_NO_SERVICE) {
        count_unnamed(adm, a, reason);
        return;
    }
    o.service = &adm->services[a->service];
    o.service_shared = &adm->shared->services[a->service];
    find_first_try(adm, &o);
    count_try(&o);
    offer_refused(adm,
                  &(struct refused){.tenant = a->tenant,
                                    .service = a->service,
                                    .reason = reason,
                                    .retry = o.retry,
                                    .known = o.retry,
                                    .client = a->client},
                  now_ns);
}

void admission_repeat(struct admission *adm, const struct slot *slot)
{
    count_repeat(&adm->tenants[slot->tenant], &adm->services[slot->service]);
}

void admission_prefetch_packet(const struct admission *adm, uint32_t tenant)
{
    const struct tenant_state *t = &adm->tenants[tenant];

    __builtin_prefetch(&t->packets, 1);
    __builtin_prefetch(&t->bits, 1);
    __builtin_prefetch(&t->metered, 1);
    __builtin_prefetch(&t->counters, 1);
}

void admission_prefetch_attempt(const struct admission *adm, const struct attempt *attempt)
{
    const struct tenant_shared *shared = &adm->shared->tenants[attempt->tenant];
    const struct tenant_state *t = &adm->tenants[attempt->tenant];

    admission_prefetch_packet(adm, attempt->tenant);
    __builtin_prefetch(&t->attempts, 1);
    __builtin_prefetch(&t->counters.adopted, 1); /* the line of what attempts come to */
    __builtin_prefetch(&shared->window, 1);
    __builtin_prefetch(&shared->retries);
    if (adm->any_erlangs)
        __builtin_prefetch(&shared->occupancy, 1);
    if (adm->answered && attempt->flags & ATTEMPT_SYN)
        answered_prefetch(adm->answered, answered_key(attempt->flow, attempt->isn));
    if (adm->shared->demand)
        demand_prefetch(adm->shared->demand, demand_key(attempt->client, attempt->service));
}
