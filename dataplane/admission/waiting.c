/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wait queue at work: who enters, who is displaced, who is released and who waited in vain.
 * One worker's waiters of a service stand in its wait_queue; how many there are over all workers
 * is counted in the service's `waiting`, which bounds them and makes newcomers queue behind them.
 */
#include "dataplane/admission/offer.h"

#define NOBODY UINT64_MAX /* as a cookie */

/* -- places: counted for all workers, and here, so that a dead worker's can be taken back -- */

static uint32_t *places_like(struct admission *adm, const struct waiter *waiter)
{
    unsigned share = waiter->flags & WAITER_SHARED ? waiter->share : SHARES_MAX + 1;

    return &adm->services[waiter->service].places[share];
}

static void note_place(struct admission *adm, const struct waiter *waiter)
{
    __atomic_fetch_add(places_like(adm, waiter), 1, __ATOMIC_ACQ_REL);
}

static bool place_take(struct admission *adm, const struct waiter *waiter)
{
    struct service_shared *shared = &adm->shared->services[waiter->service];
    const struct service_rules *rules = &adm->services[waiter->service].rules;

    /* Full is what it is in an overload: do not touch what is busy without need. */
    if (window_used(&shared->waiting) >= rules->places[waiter->class] ||
        share_acquire(&shared->waiting, shared->places, rules->place_shares, rules->n_shares,
                      waiter->share, rules->places[waiter->class]) != SHARE_TAKEN)
        return false;
    note_place(adm, waiter);
    return true;
}

/* One of this worker's places; false when they were taken back meanwhile. */
static bool unnote_place(struct admission *adm, const struct waiter *waiter)
{
    uint32_t *places = places_like(adm, waiter);
    uint32_t n = __atomic_load_n(places, __ATOMIC_RELAXED);

    while (n && !__atomic_compare_exchange_n(places, &n, n - 1, true, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED))
        ;
    return n > 0;
}

static void place_leave(struct admission *adm, const struct waiter *waiter)
{
    struct service_shared *shared = &adm->shared->services[waiter->service];

    if (unnote_place(adm, waiter))
        share_release(&shared->waiting, shared->places, waiter->flags & WAITER_SHARED,
                      waiter->share);
}

void waiting_reclaim(struct admission *dead, uint32_t service)
{
    struct service_shared *shared = &dead->shared->services[service];

    for (unsigned share = 0; share <= SHARES_MAX + 1; share++) {
        uint32_t n =
            __atomic_exchange_n(&dead->services[service].places[share], 0, __ATOMIC_ACQ_REL);

        for (; n > 0; n--)
            share_release(&shared->waiting, shared->places, share <= SHARES_MAX, share);
    }
}

/* -- the list of services with waiters -- */

static void list_service(struct admission *adm, uint32_t service)
{
    struct service_state *s = &adm->services[service];

    if (s->listed)
        return;
    s->listed = true;
    s->next_waiting = adm->first_waiting;
    adm->first_waiting = service;
}

/* -- entering and leaving -- */

/* What is worth more takes the place of the newest of the lowest class, who is told at the next
 * poll. */
static bool displace(struct admission *adm, struct service_state *s, const struct waiter *newcomer)
{
    struct service_shared *shared = &adm->shared->services[newcomer->service];
    struct waiter *victim =
        wait_newest_of(adm->waiters, &s->queue, (enum policy_class)newcomer->class);

    /* One whose place was taken back has none to leave. */
    if (!victim || adm->n_displaced == ADMISSION_DISPLACED_MAX || !unnote_place(adm, victim))
        return false;
    adm->displaced[adm->n_displaced++] = *victim;
    share_release(&shared->waiting, shared->places, victim->flags & WAITER_SHARED, victim->share);
    share_force(&shared->waiting, shared->places, newcomer->flags & WAITER_SHARED, newcomer->share);
    note_place(adm, newcomer);
    victim->cookie = NOBODY; /* so that it is not cancelled under this number */
    wait_remove(adm->waiters, &s->queue, victim);
    return true;
}

uint32_t waiting_enter(struct admission *adm, const struct waiter *waiter)
{
    struct service_state *s = &adm->services[waiter->service];
    bool room = adm->waiters->free != WAIT_NONE && place_take(adm, waiter);

    /* The displaced one leaves its place to the newcomer. */
    if (!room && !displace(adm, s, waiter))
        return ADMISSION_NONE;
    list_service(adm, waiter->service);
    admission_count(&adm->tenants[waiter->tenant].counters.waited, 1);
    admission_count(&s->counters.waited, 1);
    return wait_index(adm->waiters, wait_add(adm->waiters, &s->queue, waiter, s->rules.order));
}

static void leave(struct admission *adm, struct waiter *waiter)
{
    waiter->cookie = NOBODY;
    wait_remove(adm->waiters, &adm->services[waiter->service].queue, waiter);
    place_leave(adm, waiter);
}

static void give_back(struct admission *adm, const struct waiter *waiter)
{
    quotas_give_back(adm, waiter->tenant, waiter->ip_bytes);
    if (waiter->flags & WAITER_PAID_RETRY)
        retry_untake(&adm->shared->tenants[waiter->tenant].retries);
}

static void count_cancelled(struct admission *adm, const struct waiter *waiter)
{
    admission_count(&adm->services[waiter->service].counters.cancelled, 1);
    admission_count(&adm->tenants[waiter->tenant].counters.cancelled, 1);
    give_back(adm, waiter);
}

static bool cancel_displaced(struct admission *adm, uint64_t flow, uint64_t *cookie)
{
    for (uint32_t i = 0; i < adm->n_displaced; i++) {
        if (adm->displaced[i].flow != flow)
            continue;
        *cookie = adm->displaced[i].cookie;
        count_cancelled(adm, &adm->displaced[i]);
        adm->displaced[i] = adm->displaced[--adm->n_displaced];
        return true;
    }
    return false;
}

bool admission_cancel(struct admission *adm, uint32_t index, uint64_t flow, uint64_t *cookie)
{
    struct waiter *waiter = wait_at(adm->waiters, index);

    /* Displaced ones have lost their number, perhaps to somebody else. */
    if (waiter->cookie == NOBODY || waiter->flow != flow)
        return cancel_displaced(adm, flow, cookie);
    *cookie = waiter->cookie;
    count_cancelled(adm, waiter);
    leave(adm, waiter);
    return true;
}

/* -- release -- */

/* What a poll has to say, as far as there is room. */
struct release {
    struct admission *adm;
    struct released *to;
    unsigned n, max;
    uint64_t now_ns;
};

static struct released *tell(struct release *r, const struct waiter *waiter)
{
    struct released *released = &r->to[r->n++];

    *released = (struct released){
        .cookie = waiter->cookie,
        .slot = {waiter->tenant, waiter->service, waiter->share, 0},
        .waited_ns = age_since_ns(r->now_ns, waiter->since_ns),
        .decision = {.waiter = ADMISSION_NONE},
    };
    return released;
}

static void refuse(struct release *r, const struct waiter *waiter, enum reason reason)
{
    struct released *released = tell(r, waiter);

    released->decision.verdict = VERDICT_REFUSE;
    released->decision.reason = reason;
    give_back(r->adm, waiter);
    offer_refused(r->adm,
                  &(struct refused){.tenant = waiter->tenant,
                                    .service = waiter->service,
                                    .reason = reason,
                                    .retry = (waiter->flags & WAITER_RETRY) != 0,
                                    .syn = (waiter->flags & WAITER_SYN) != 0,
                                    .client = waiter->client,
                                    .key = answered_key(waiter->flow, waiter->isn)},
                  r->now_ns);
}

static void admit(struct release *r, const struct waiter *waiter, uint8_t held)
{
    struct released *released = tell(r, waiter);

    released->slot.held = released->decision.held = held;
    offer_admitted(r->adm, &released->slot, waiter->client, (waiter->flags & WAITER_RETRY) != 0);
    tenant_count_packet(&r->adm->tenants[waiter->tenant], DIRECTION_IN, waiter->ip_bytes);
}

static void tell_displaced(struct release *r)
{
    while (r->n < r->max && r->adm->n_displaced > 0)
        refuse(r, &r->adm->displaced[--r->adm->n_displaced], REASON_CAPACITY);
}

/* Who has waited as long as anybody may. */
static void expire(struct release *r, struct service_state *s)
{
    struct waiter *waiter;

    while (r->n < r->max &&
           age_since_ns(r->now_ns, wait_oldest_since_ns(&s->queue)) >= s->rules.wait_age_ns &&
           (waiter = wait_oldest(r->adm->waiters, &s->queue)) != NULL) {
        refuse(r, waiter, REASON_CAPACITY);
        leave(r->adm, waiter);
    }
}

/* What has changed since it entered. */
static enum reason look_again(const struct release *r, const struct service_state *s,
                              const struct waiter *waiter)
{
    const struct service_shared *shared = &r->adm->shared->services[waiter->service];
    uint64_t service_ns = __atomic_load_n(&shared->advice.promise.service_ns, __ATOMIC_RELAXED);

    if (waiter->until_ns != WAIT_FOREVER && r->now_ns + service_ns > waiter->until_ns)
        return REASON_DEADLINE;
    if (s->rules.judged && breaker_ask(&shared->breaker, &s->rules.breaker,
                                       (uint32_t)(waiter->flow >> 16), r->now_ns) != BREAKER_PASS)
        return REASON_BREAKER;
    return REASON_NONE;
}

/* Who is next gets a slot, or leaves, or his line stands back: false when nobody is left to ask. */
static bool release_next(struct release *r, struct service_state *s, const struct window *shares,
                         uint64_t *allowed)
{
    const struct service_rules *rules = &s->rules;
    uint64_t lines = wait_neediest(&s->queue, shares, rules->shares, rules->n_shares, *allowed);
    struct waiter *waiter =
        wait_next(r->adm->waiters, &s->queue, rules->order, s->sojourn.overloaded, lines);
    struct slot_wish wish;
    enum reason reason;
    uint8_t held;

    if (!waiter)
        return false;
    reason = look_again(r, s, waiter);
    if (reason != REASON_NONE) {
        refuse(r, waiter, reason);
        leave(r->adm, waiter);
        return true;
    }
    wish = (struct slot_wish){.tenant = waiter->tenant,
                              .service = waiter->service,
                              .share = waiter->share,
                              .class = waiter->class,
                              .opening = (waiter->flags & WAITER_OPENS) != 0};
    reason = slot_take(r->adm, &wish, &held);
    if (reason == REASON_NONE) {
        wait_sojourn_note(&s->sojourn, age_since_ns(r->now_ns, wait_oldest_since_ns(&s->queue)),
                          r->now_ns);
        wait_taken(&s->queue, waiter);
        admit(r, waiter, held);
        leave(r->adm, waiter);
    } else if (reason == REASON_SHARE && !waiter->share) {
        /* Its tenant is at its own limit, as a newcomer would be told. It must not stand in the way
         * of others, with whom it shares the line. */
        refuse(r, waiter, reason);
        leave(r->adm, waiter);
    } else if (reason == REASON_CAPACITY && rules->n_shares == 0) {
        *allowed &= ~wait_class_lines((enum policy_class)waiter->class);
    } else {
        *allowed &= ~((uint64_t)1 << waiter->line);
    }
    return true;
}

static void release_service(struct release *r, uint32_t service)
{
    struct service_state *s = &r->adm->services[service];
    const struct window *window = &r->adm->shared->services[service].window;
    uint64_t allowed = WAIT_ALL_LINES;

    expire(r, s);
    /* Polled as often as it is: do not touch what is busy without need. */
    while (r->n < r->max && window_used(window) < s->rules.window[CLASS_CRITICAL] &&
           release_next(r, s, r->adm->shared->services[service].shares, &allowed))
        ;
}

unsigned admission_poll(struct admission *adm, uint64_t now_ns, struct released *released,
                        unsigned n)
{
    struct release r = {.adm = adm, .to = released, .max = n, .now_ns = now_ns};
    uint32_t *link = &adm->first_waiting;

    if (*link == ADMISSION_NONE) /* who was displaced, was so by somebody who waits */
        return 0;
    tell_displaced(&r);
    while (*link != ADMISSION_NONE && r.n < r.max) {
        struct service_state *s = &adm->services[*link];

        release_service(&r, *link);
        if (wait_length(&s->queue)) {
            link = &s->next_waiting;
        } else {
            s->listed = false;
            *link = s->next_waiting;
        }
    }
    return r.n;
}

unsigned admission_dismiss(struct admission *adm, uint64_t now_ns, struct released *released,
                           unsigned n)
{
    struct release r = {.adm = adm, .to = released, .max = n, .now_ns = now_ns};

    for (uint32_t i = adm->first_waiting; i != ADMISSION_NONE; i = adm->services[i].next_waiting) {
        struct waiter *waiter;

        tell_displaced(&r);
        while (r.n < r.max &&
               (waiter = wait_oldest(adm->waiters, &adm->services[i].queue)) != NULL) {
            refuse(&r, waiter, REASON_GATEWAY);
            leave(adm, waiter);
        }
    }
    return r.n;
}
