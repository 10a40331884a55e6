/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an attempt is asked on its way, each question for itself; offer.c puts them in order.
 * Inline, as nearly all of it is asked of every attempt. Private to offer.c.
 */
#ifndef SLUICE_ADMISSION_CHECKS_H
#define SLUICE_ADMISSION_CHECKS_H

#include "dataplane/admission/offer.h"
#include "dataplane/admission/shed.h"

#define CLIENTS_NS 1000000000ull /* how long a window of distinct clients is */

/* What has been found out about an attempt on its way through the checks. */
struct offer {
    const struct attempt *attempt;
    struct tenant_state *tenant;
    struct service_state *service;
    struct tenant_shared *tenant_shared;
    struct service_shared *service_shared;
    uint64_t now_ns;
    uint64_t first_ns;     /* when this piece of work was first asked for */
    bool retry;            /* somebody asked for it before, in vain */
    bool paid, paid_retry; /* its quotas; its budget */
    bool health;           /* within the tokens reserved for health checks */
    bool trial;            /* the breaker wants one attempt to be its trial */
    bool sample;           /* it seems too late, but may be the one that shows if it really is */
    uint8_t held;          /* SLOT_*, once it has a slot */
};

/* -- cheap ones, which take nothing -- */

static inline void find_first_try(struct admission *adm, struct offer *o)
{
    const struct attempt *a = o->attempt;

    o->first_ns = o->now_ns;
    /* Behind few addresses there may be many: nobody can tell whose attempts belong together. */
    if (adm->shared->demand &&
        !__atomic_load_n(&o->service_shared->advice.by_attempt, __ATOMIC_RELAXED))
        o->retry = demand_find(adm->shared->demand, demand_key(a->client, a->service),
                               o->service->rules.retry_ns, o->now_ns, &o->first_ns);
}

static inline bool gateway_sheds(const struct admission *adm, const struct offer *o)
{
    const struct gateway_advice *advice = &adm->shared->gateway;
    uint32_t p = __atomic_load_n(&advice->shed[o->tenant->class], __ATOMIC_RELAXED);
    uint64_t stamped_ns;

    if (!p)
        return false;
    stamped_ns = __atomic_load_n(&advice->stamped_ns, __ATOMIC_RELAXED);
    return shed_hits((uint32_t)o->attempt->flow,
                     shed_decay(p, age_since_ns(o->now_ns, stamped_ns)));
}

/* A trial has to come through, whatever it looks like. */
static inline bool is_hopeless(struct offer *o)
{
    const struct promise *promise = &o->service_shared->advice.promise;
    uint64_t deadline_ns = o->service->rules.deadline_ns, spent_ns = o->now_ns - o->first_ns;

    if (!deadline_ns || o->attempt->held & SLOT_TRIAL)
        return false;
    if (promise_kept(promise, window_used(&o->service_shared->waiting),
                     deadline_ns > spent_ns ? deadline_ns - spent_ns : 0))
        return false;
    o->sample = promise_sample_is_due(promise, o->now_ns);
    return !o->sample;
}

static inline enum reason ask_breaker(struct offer *o)
{
    const struct attempt *a = o->attempt;

    if (a->kind == ATTEMPT_FIRST && a->held & SLOT_TRIAL)
        return REASON_NONE;
    switch (breaker_ask(&o->service_shared->breaker, &o->service->rules.breaker,
                        (uint32_t)(a->flow >> 16), o->now_ns)) {
    case BREAKER_PASS:
        return REASON_NONE;
    case BREAKER_MAY_PROBE:
        /* A connection is the trial as a whole; its first request is no second one. */
        o->trial = a->kind != ATTEMPT_FIRST;
        return o->trial ? REASON_NONE : REASON_BREAKER;
    case BREAKER_REFUSE:
        break;
    }
    return REASON_BREAKER;
}

/* -- quotas, retries, shedding -- */

/* Is the tenant at its own limits? They are taken with the slot; but who cannot have one of them
 * must not count as load of the service, nor wait. */
static inline bool is_at_share(const struct offer *o)
{
    const struct service_rules *rules = &o->service->rules;
    uint8_t share = o->attempt->share;

    return window_used(&o->tenant_shared->window) >= o->tenant->window ||
           (rules->n_shares &&
            window_used(&o->service_shared->shares[share]) >= rules->shares[share].ceiling);
}

/* Retries are only counted out while there is too little for everybody. */
static inline bool is_overloaded(const struct offer *o)
{
    return __atomic_load_n(&o->service_shared->advice.shed[CLASS_BULK], __ATOMIC_RELAXED) ||
           window_used(&o->service_shared->waiting) ||
           window_used(&o->service_shared->window) >= o->service->rules.window[o->tenant->class];
}

static inline enum reason charge_retry(struct offer *o)
{
    if (!o->retry) {
        retry_unique(&o->tenant_shared->retries);
        return REASON_NONE;
    }
    if (!is_overloaded(o))
        return REASON_NONE;
    if (!retry_take(&o->tenant_shared->retries))
        return REASON_RETRIES;
    o->paid_retry = true;
    return REASON_NONE;
}

static inline void note_client(struct service_state *s, uint64_t client, uint64_t now_ns)
{
    uint64_t bit = 1ull << (client & 63);

    if (now_ns - s->clients_ns >= CLIENTS_NS) {
        s->clients_ns = now_ns;
        __atomic_store_n(&s->clients_before, s->clients, __ATOMIC_RELAXED);
        __atomic_store_n(&s->clients, bit, __ATOMIC_RELAXED);
    } else if (!(s->clients & bit)) {
        __atomic_store_n(&s->clients, s->clients | bit, __ATOMIC_RELAXED);
    }
}

/* One who is shed stays shed for a while, so that asking again does not win; where few ask, that
 * would miss the share by far, and each attempt gets its own answer. */
static inline uint32_t shed_hash_of(const struct offer *o, uint32_t salt)
{
    const struct advice *advice = &o->service_shared->advice;
    uint32_t epoch = __atomic_load_n(&advice->epoch, __ATOMIC_RELAXED) ^ salt;
    bool by_attempt = __atomic_load_n(&advice->by_attempt, __ATOMIC_RELAXED);

    return shed_hash(by_attempt ? o->attempt->flow : o->attempt->client, o->attempt->tenant, epoch);
}

static inline enum reason ask_shedding(struct offer *o)
{
    const struct advice *advice = &o->service_shared->advice;
    uint32_t p = __atomic_load_n(&advice->shed[o->tenant->class], __ATOMIC_RELAXED);
    uint32_t away = __atomic_load_n(&advice->turned_away, __ATOMIC_RELAXED);

    if (!o->retry) /* who was shed is shed again: no load that more shedding could take away */
        admission_count(&o->service->counters.reached[o->tenant->class], 1);
    note_client(o->service, o->attempt->client, o->now_ns);
    if (p) {
        uint64_t stamped_ns = __atomic_load_n(&advice->stamped_ns, __ATOMIC_RELAXED);

        if (shed_hits(shed_hash_of(o, 0), shed_decay(p, age_since_ns(o->now_ns, stamped_ns))))
            return REASON_SHED;
    }
    if (away && shed_hits(shed_hash_of(o, SHED_SALT_TURNED_AWAY), away))
        return REASON_SHED;
    return REASON_NONE;
}

#endif
