/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The survey: the owner of the flows goes over its slots, each once in a pass. That tells how long
 * running work has been running, which completed work does not; and it finds slots that nobody
 * will ever free. While slots come and go nothing can be said about them; but lost slots fill a
 * window until nothing moves in it any more, and then the count is exact.
 */
#include "dataplane/admission/state.h"

void admission_survey_slot(struct admission *adm, uint32_t tenant, uint32_t service,
                           uint64_t held_ns)
{
    struct tenant_state *t = &adm->tenants[tenant];
    struct service_state *s = &adm->services[service];

    if (t->survey_pass != adm->survey_pass) {
        t->survey_pass = adm->survey_pass;
        t->surveyed = 0;
    }
    t->surveyed++;
    s->surveyed++;
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

/* Two quiet passes with the same difference: the first may have begun in the midst of a change. */
static void look_for_lost(struct admission *adm, uint32_t service)
{
    struct service_state *s = &adm->services[service];
    uint32_t lost = s->slots > s->surveyed && !s->slots_moved ? s->slots - s->surveyed : 0;

    if (lost && lost == s->lost) {
        for (uint32_t i = 0; i < lost; i++)
            window_release(&adm->shared->services[service].window);
        s->slots -= lost;
        admission_count(&s->counters.reclaimed, lost);
        adm->owed += lost;
        lost = 0;
    }
    s->lost = lost;
    s->slots_moved = false;
}

void admission_survey_end(struct admission *adm)
{
    for (uint32_t i = 0; i < adm->size.n_services; i++) {
        struct service_state *s = &adm->services[i];

        if (!s->surveyed && !s->ages_known && !s->slots)
            continue;
        publish_ages(s);
        look_for_lost(adm, i);
        s->ages_known = s->surveyed > 0;
        s->surveyed = 0;
    }
    give_back_tenants(adm);
    adm->survey_pass++;
}
