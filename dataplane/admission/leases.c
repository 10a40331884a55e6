/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases that nobody uses go back, and those of a worker that gave no sign of life are void.
 */
#include "dataplane/admission/state.h"

static bool tenant_holds(const struct tenant_state *t)
{
    return lease_is_held(&t->attempts) || lease_is_held(&t->packets) || lease_is_held(&t->bits);
}

static bool service_holds(const struct service_state *s)
{
    return lease_is_held(&s->refusals) || lease_is_held(&s->health);
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

void admission_queue_tenant(struct admission *adm, uint32_t tenant)
{
    struct tenant_state *t = &adm->tenants[tenant];

    if (!tenant_holds(t))
        return;
    t->held = true;
    queue_held(adm, tenant);
}

void admission_note_service(struct admission *adm, uint32_t service)
{
    struct service_state *s = &adm->services[service];

    if (s->held || !service_holds(s))
        return;
    s->held = true;
    queue_held(adm, adm->size.n_tenants + service);
}

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
    return t->held = tenant_holds(t);
}

static bool tidy_service(struct service_state *s, uint64_t now_ns)
{
    return_idle(&s->refusals, s->refusals_pool, now_ns);
    return_idle(&s->health, s->health_pool, now_ns);
    return s->held = service_holds(s);
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
    for (uint32_t i = 0; i < dead->size.n_services; i++) {
        strike_off(&dead->services[i].refusals, &dead->services[i].refusals_pool);
        strike_off(&dead->services[i].health, &dead->services[i].health_pool);
        waiting_reclaim(dead, i);
    }
}
