/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tenant's quotas of an attempt and of a packet: all of them, or none.
 */
#include "dataplane/admission/state.h"

static inline enum reason take_packet(struct tenant_state *t, uint32_t ip_bytes,
                                      uint32_t generation, uint64_t now_ns)
{
    if (!lease_take(&t->packets, t->packets_pool, 1, generation, now_ns))
        return REASON_PACKETS;
    if (lease_take(&t->bits, t->bits_pool, ip_bytes, generation, now_ns))
        return REASON_NONE;
    lease_untake(&t->packets, t->packets_pool, 1);
    return REASON_BITS;
}

static inline enum reason take(struct tenant_state *t, uint32_t ip_bytes, uint32_t generation,
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

enum reason quotas_take(struct admission *adm, const struct attempt *attempt, uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[attempt->tenant];
    struct tenant_shared *shared = &adm->shared->tenants[attempt->tenant];
    enum reason reason;

    if (t->milli_erlangs != POLICY_ERLANGS_UNLIMITED &&
        (!t->milli_erlangs || !occupancy_allows(&shared->occupancy, t->milli_erlangs, now_ns)))
        return REASON_ERLANGS;
    reason = take(t, attempt->ip_bytes, admission_generation(adm), now_ns);
    admission_note_tenant(adm, attempt->tenant);
    return reason;
}

void quotas_give_back(struct admission *adm, uint32_t tenant, uint32_t ip_bytes)
{
    struct tenant_state *t = &adm->tenants[tenant];

    lease_untake(&t->attempts, t->attempts_pool, 1);
    if (!t->metered)
        return;
    lease_untake(&t->packets, t->packets_pool, 1);
    lease_untake(&t->bits, t->bits_pool, ip_bytes);
}

uint64_t quotas_wait_ns(const struct admission *adm, const struct attempt *refused,
                        enum reason reason, uint64_t now_ns)
{
    const struct tenant_state *t = &adm->tenants[refused->tenant];

    switch (reason) {
    case REASON_RATE:
        return pool_wait_ns(t->attempts_pool, &t->attempts.rate, 1, now_ns);
    case REASON_PACKETS:
        return pool_wait_ns(t->packets_pool, &t->packets.rate, 1, now_ns);
    case REASON_BITS:
        return pool_wait_ns(t->bits_pool, &t->bits.rate, refused->ip_bytes, now_ns);
    case REASON_ERLANGS:
        return occupancy_wait_ns(&adm->shared->tenants[refused->tenant].occupancy, t->milli_erlangs,
                                 now_ns);
    default: /* a share, or the retry budget: when others end or begin work, which no clock tells */
        return 0;
    }
}

void admission_bill(struct admission *adm, uint32_t tenant, uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[tenant];

    lease_take(&t->attempts, t->attempts_pool, 1, admission_generation(adm), now_ns);
    admission_note_tenant(adm, tenant);
}

static inline struct decision meter(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                    uint64_t now_ns)
{
    struct tenant_state *t = &adm->tenants[tenant];
    enum reason reason = REASON_NONE;

    if (t->metered) {
        reason = take_packet(t, ip_bytes, admission_generation(adm), now_ns);
        admission_note_tenant(adm, tenant);
    }
    if (reason == REASON_NONE)
        return (struct decision){.verdict = VERDICT_ADMIT};
    admission_count(
        reason == REASON_PACKETS ? &t->counters.dropped_packets : &t->counters.dropped_bits, 1);
    return (struct decision){.verdict = VERDICT_REFUSE, .reason = reason};
}

struct decision admission_charge(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                 uint64_t now_ns)
{
    struct decision decision = meter(adm, tenant, ip_bytes, now_ns);

    if (decision.verdict == VERDICT_ADMIT)
        tenant_count_packet(&adm->tenants[tenant], DIRECTION_IN, ip_bytes);
    return decision;
}

struct decision admission_meter(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                uint64_t now_ns)
{
    return meter(adm, tenant, ip_bytes, now_ns);
}

void admission_count_out(struct admission *adm, uint32_t tenant, uint32_t ip_bytes)
{
    tenant_count_packet(&adm->tenants[tenant], DIRECTION_OUT, ip_bytes);
}
