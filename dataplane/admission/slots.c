/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots: a place in the windows of the tenant, of its share and of the service, or in none.
 */
#include "dataplane/admission/state.h"

/* Who finds the window full may wait, who finds too many opening may not. */
static enum reason take_of_service(struct window *window, const struct service_rules *rules,
                                   uint32_t limit, bool opening)
{
    if (limit == 0)
        return REASON_CAPACITY;
    if (!opening)
        return window_acquire(window, limit) ? REASON_NONE : REASON_CAPACITY;
    switch (window_acquire_opening(window, limit, rules->opening)) {
    case WINDOW_TAKEN:
        return REASON_NONE;
    case WINDOW_FULL:
        return REASON_CAPACITY;
    case WINDOW_OPENING_FULL:
        break;
    }
    return REASON_CONNECTIONS;
}

static enum reason take_shared(struct service_shared *service, const struct service_rules *rules,
                               const struct slot_wish *wish)
{
    uint32_t limit = rules->window[wish->class];
    enum reason reason;

    if (!share_enter(service->shares, rules->shares, rules->n_shares, wish->share, &limit))
        return REASON_SHARE;
    reason = take_of_service(&service->window, rules, limit, wish->opening);
    if (reason != REASON_NONE)
        share_leave(service->shares, rules->n_shares, wish->share);
    return reason;
}

/* How many this worker has, for the survey. */
static void note_part(struct service_state *s, enum slot_part part, uint32_t change)
{
    s->parts[part] += change;
    s->slots_moved |= 1u << part;
}

static void note_slot(struct admission *adm, const struct slot *slot, uint32_t change)
{
    struct service_state *s = &adm->services[slot->service];

    adm->tenants[slot->tenant].slots += change;
    s->slots += change;
    note_part(s, slot_part(slot), change);
    if (slot->held & SLOT_OPENING)
        note_part(s, PART_OPENING, change);
}

static void note_taken(struct admission *adm, const struct slot *slot)
{
    adm->tenants[slot->tenant].taken_pass = adm->survey_pass;
    note_slot(adm, slot, 1);
}

enum reason slot_take(struct admission *adm, const struct slot_wish *wish, uint8_t *held)
{
    struct window *tenant = &adm->shared->tenants[wish->tenant].window;
    struct service_shared *service = &adm->shared->services[wish->service];
    const struct service_rules *rules = &adm->services[wish->service].rules;
    enum reason reason;

    /* The slot reserved for health checks is none of the window's, so nothing can hold it up. */
    if (wish->health && window_acquire(&service->health, 1)) {
        *held = SLOT_HEALTH | SLOT_RESERVED;
        return REASON_NONE;
    }
    *held = rules->n_shares ? SLOT_SHARED : 0;
    if (!window_acquire(tenant, adm->tenants[wish->tenant].window))
        return REASON_SHARE;
    reason = take_shared(service, rules, wish);
    if (reason != REASON_NONE) {
        window_release(tenant);
        return reason;
    }
    if (wish->opening)
        *held |= SLOT_OPENING;
    if (wish->health)
        *held |= SLOT_HEALTH;
    note_taken(adm, &(struct slot){wish->tenant, wish->service, wish->share, *held});
    return REASON_NONE;
}

void slot_give_back(struct admission *adm, const struct slot *slot)
{
    struct service_shared *service = &adm->shared->services[slot->service];

    if (slot->held & SLOT_RESERVED) {
        window_release(&service->health);
        return;
    }
    window_release(&adm->shared->tenants[slot->tenant].window);
    note_slot(adm, slot, UINT32_MAX);
    /* By what it took: the shares may have been named since. */
    share_leave(service->shares, slot->held & SLOT_SHARED, slot->share);
    if (slot->held & SLOT_OPENING)
        window_release_opening(&service->window);
    else
        window_release(&service->window);
}

void admission_adopt_flow(struct admission *adm, struct slot *slot)
{
    struct service_shared *service = &adm->shared->services[slot->service];
    uint32_t n_shares = adm->services[slot->service].rules.n_shares;

    window_force(&adm->shared->tenants[slot->tenant].window);
    share_force(&service->window, service->shares, n_shares, slot->share);
    slot->held = (uint8_t)(SLOT_ADOPTED | (n_shares ? SLOT_SHARED : 0));
    note_taken(adm, slot);
    admission_count(&adm->tenants[slot->tenant].counters.adopted, 1);
    admission_count(&adm->services[slot->service].counters.adopted, 1);
}

bool admission_may_connect(const struct admission *adm, uint32_t service)
{
    const struct service_shared *shared = &adm->shared->services[service];

    return window_used(&shared->connections) + window_used(&shared->waiting) <
           adm->services[service].rules.connections;
}

void admission_adopt_connection(struct admission *adm, const struct slot *slot)
{
    window_force(&adm->shared->services[slot->service].connections);
}

void admission_confirmed(struct admission *adm, struct slot *slot)
{
    slot->held &= (uint8_t)~SLOT_OPENING;
    note_part(&adm->services[slot->service], PART_OPENING, UINT32_MAX);
    window_confirm(&adm->shared->services[slot->service].window);
}

void admission_disconnect(struct admission *adm, const struct slot *slot)
{
    window_release(&adm->shared->services[slot->service].connections);
}
