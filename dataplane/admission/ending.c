/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of admitted work: while it runs, and when it ends.
 */
#include "dataplane/admission/offer.h"

void admission_connected(struct admission *adm, const struct slot *slot, uint64_t latency_ns)
{
    histogram_add(&adm->services[slot->service].connect, latency_ns);
}

void admission_first_byte(struct admission *adm, const struct slot *slot, uint64_t now_ns)
{
    struct service_state *s = &adm->services[slot->service];

    if (slot->held & SLOT_HEALTH)
        return;
    admission_count(&s->counters.good, 1);
    if (s->rules.judged)
        breaker_success(&adm->shared->services[slot->service].breaker, &s->rules.breaker,
                        (slot->held & SLOT_TRIAL) != 0, now_ns);
}

void admission_no_answer(struct admission *adm, const struct slot *slot, uint32_t hash,
                         uint64_t now_ns)
{
    struct service_state *s = &adm->services[slot->service];

    if (slot->held & SLOT_HEALTH)
        return;
    admission_count(&s->counters.bad, 1);
    if (s->rules.judged)
        breaker_failure(&adm->shared->services[slot->service].breaker, &s->rules.breaker,
                        (slot->held & SLOT_TRIAL) != 0, hash, now_ns);
}

/* -- the end -- */

/* Useful is a whole reply in time that is no error, as far as that can be read. */
static enum ledger_end end_of(const struct ending *ending, uint64_t deadline_ns)
{
    if (ending->outcome != OUTCOME_FINISHED || ending->failed)
        return LEDGER_UNFINISHED;
    return deadline_ns && ending->latency_ns > deadline_ns ? LEDGER_LATE : LEDGER_USEFUL;
}

/* Late work and work that never ended took at least as long as anybody would have waited. */
static __attribute__((noinline)) void note_missed(struct service_state *s,
                                                  const struct ending *ending)
{
    uint64_t deadline_ns = s->rules.deadline_ns;

    if (ending->outcome == OUTCOME_FINISHED)
        histogram_add(&s->useless, ending->latency_ns);
    histogram_add(&s->missed, deadline_ns ? deadline_ns : ending->latency_ns);
}

static void note_latency(struct service_state *s, const struct ending *ending, enum ledger_end end)
{
    if (ending->outcome == OUTCOME_FINISHED)
        histogram_add(&s->held_for, ending->held_ns);
    if (end == LEDGER_USEFUL)
        histogram_add(&s->useful, ending->latency_ns);
    else
        note_missed(s, ending);
}

/* Work that failed is still wanted: who asks again asks for the same. */
static void remember_demand(struct admission *adm, const struct slot *slot,
                            const struct ending *ending, enum ledger_end end, uint64_t now_ns)
{
    struct demand_memory *demand = adm->shared->demand;
    uint64_t key = demand_key(ending->client, slot->service);

    if (!demand)
        return;
    if (end == LEDGER_UNFINISHED)
        demand_note(demand, key, adm->services[slot->service].rules.retry_ns, now_ns);
    else
        demand_forget(demand, key, now_ns);
}

void admission_complete(struct admission *adm, const struct slot *slot, const struct ending *ending,
                        uint64_t now_ns)
{
    struct service_state *s = &adm->services[slot->service];
    const struct tenant_state *t = &adm->tenants[slot->tenant];
    enum ledger_end end = end_of(ending, s->rules.deadline_ns);

    slot_give_back(adm, slot);
    admission_count(&s->counters.outcomes[ending->outcome], 1);
    if (slot->held & SLOT_HEALTH)
        return;
    if (t->milli_erlangs && t->milli_erlangs != POLICY_ERLANGS_UNLIMITED)
        occupancy_debit(&adm->shared->tenants[slot->tenant].occupancy, t->milli_erlangs,
                        ending->held_ns, now_ns);
    if (slot->held & SLOT_ADOPTED) /* when it began is not known */
        return;
    if (ending->failed)
        admission_count(&s->counters.failed, 1);
    admission_count(&adm->tenants[slot->tenant].counters.ended[end], 1);
    ledger_book(&s->counters.ledger, end, ending->held_ns);
    note_latency(s, ending, end);
    remember_demand(adm, slot, ending, end, now_ns);
}
