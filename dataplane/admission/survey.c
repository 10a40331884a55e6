/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The survey: the owner of the flows goes over its slots, each once in a pass. That tells how long
 * running work has been running, which completed work does not; and it finds slots that nobody
 * will ever free. While slots come and go nothing can be said about them; but lost slots fill a
 * window, or its part, until nothing moves in it any more, and then the count is exact.
 */
#include "dataplane/admission/state.h"

void admission_survey_slot(struct admission *adm, const struct slot *slot, uint64_t held_ns)
{
    struct tenant_state *t = &adm->tenants[slot->tenant];
    struct service_state *s = &adm->services[slot->service];

    if (t->survey_pass != adm->survey_pass) {
        t->survey_pass = adm->survey_pass;
        t->surveyed = 0;
    }
    t->surveyed++;
    s->surveyed++;
    s->found[slot_part(slot)]++;
    if (slot->held & SLOT_OPENING)
        s->found[PART_OPENING]++;
    s->survey[held_ns ? 63 - __builtin_clzll(held_ns) : 0]++;
}

static void publish_ages(struct service_state *s)
{
    for (unsigned k = 0; k < AGE_CELLS; k++) {
        __atomic_store_n(&s->running[k], s->survey[k], __ATOMIC_RELAXED);
        s->survey[k] = 0;
    }
}

/* Whose they were shows when he has taken no other for two passes; until then they are owed. */
static void give_back_tenants(struct admission *adm)
{
    for (uint32_t i = 0; i < adm->size.n_tenants && adm->owed > 0; i++) {
        struct tenant_state *t = &adm->tenants[i];
        uint32_t found = t->survey_pass == adm->survey_pass ? t->surveyed : 0;

        if (adm->survey_pass - t->taken_pass < 2)
            continue;
        for (; t->slots > found && adm->owed > 0; adm->owed--) {
            t->slots--;
            window_release(&adm->shared->tenants[i].window);
        }
    }
}

static void give_back_part(struct admission *adm, uint32_t service, enum slot_part part, uint32_t n)
{
    struct service_shared *shared = &adm->shared->services[service];
    struct service_state *s = &adm->services[service];

    s->parts[part] -= n;
    if (part == PART_OPENING) { /* the slots themselves are lost in another part */
        while (n--)
            window_confirm(&shared->window);
        return;
    }
    s->slots -= n;
    adm->owed += n;
    admission_count(&s->counters.reclaimed, n);
    while (n--)
        share_release(&shared->window, shared->shares, part >= PART_SHARE,
                      (unsigned)part - PART_SHARE);
}

/* Two passes with the same difference in which nothing of the part moved: the first may have begun
 * in the midst of a change. Each part for itself, so that a share that lost slots have filled gets
 * them back while the others are busy. */
static void look_for_lost(struct admission *adm, uint32_t service)
{
    struct service_state *s = &adm->services[service];

    for (unsigned part = 0; part < PART_MAX; part++) {
        bool quiet = !(s->slots_moved & 1u << part);
        uint32_t lost =
            quiet && s->parts[part] > s->found[part] ? s->parts[part] - s->found[part] : 0;

        if (lost && lost == s->lost[part]) {
            give_back_part(adm, service, (enum slot_part)part, lost);
            lost = 0;
        }
        s->lost[part] = lost;
        s->found[part] = 0;
    }
    s->slots_moved = 0;
}

void admission_survey_end(struct admission *adm)
{
    for (uint32_t i = 0; i < adm->size.n_services; i++) {
        struct service_state *s = &adm->services[i];

        if (!s->surveyed && !s->ages_known && !s->slots && !s->parts[PART_OPENING])
            continue;
        publish_ages(s);
        look_for_lost(adm, i);
        s->ages_known = s->surveyed > 0;
        s->surveyed = 0;
    }
    give_back_tenants(adm);
    adm->survey_pass++;
}
