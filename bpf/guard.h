/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard in front of the workers: of what they would refuse it drops what nobody would answer
 * anyway. Only the workers charge quotas; the kernel's buckets, of the same rates, say how much at
 * most they can still admit, so work that they admit never becomes less.
 */
#ifndef SLUICE_BPF_GUARD_H
#define SLUICE_BPF_GUARD_H

#include "bpf/standby.h"

static __always_inline bool guard_is_blocked(const struct xdp_tenant *tenant)
{
    return tenant->attempts.cost && !tenant->attempts.rate;
}

/* Why the workers would refuse that connection; REASON_NONE: perhaps they would not. */
static __always_inline enum reason guard_foresee(const struct arrival *a,
                                                 const struct xdp_tenant *tenant)
{
    struct xdp_tenant_state *quotas = table_at(&tenant_state, a->tenant);
    const struct xdp_advice *said = table_at(&advice, a->service);
    bool limited = tenant->attempts.cost;
    uint64_t now_ns = 0;

    if (!quotas || !said)
        return REASON_NONE;
    if (limited) {
        now_ns = quota_clock_ns(tenant);
        if (quotas->started && !bucket_has(&quotas->attempts, &tenant->attempts, 1, now_ns))
            return REASON_RATE;
    }
    /* How the workers hash an attempt is their own. */
    if (!said->by_attempt && tenant->class < CLASS_MAX && said->shed[tenant->class] &&
        shedding_hits(a, said, shedding_left(said, said->shed[tenant->class]), 0))
        return REASON_SHED;
    return limited && !quota_take_attempt(quotas, tenant, now_ns) ? REASON_RATE : REASON_NONE;
}

/* Will the workers answer the refusal? Then they get to see what they refuse. */
static __always_inline bool guard_leaves(const struct arrival *a, const struct xdp_service *service)
{
    struct xdp_service_state *state = table_at(&service_state, a->service);

    return service->refusal != REFUSAL_DROP && state &&
           service_take(state, SERVICE_ANSWERS, &service->answers, clock_ns());
}

static __always_inline enum reason guard_attempt(const struct arrival *a)
{
    const struct xdp_tenant *tenant = tenant_of(a);
    const struct xdp_service *service = service_of(a);
    enum reason reason;

    if (!tenant || !service)
        return REASON_NONE;
    if (a->packet.kind == PACKET_UDP) { /* it may belong to a flow, which only workers know */
        reason = guard_is_blocked(tenant) ? REASON_RATE : REASON_NONE;
    } else {
        if (standby_is_check(a, service))
            return REASON_NONE;
        reason = guard_foresee(a, tenant);
        if (reason != REASON_NONE && guard_leaves(a, service))
            return REASON_NONE;
    }
    if (reason != REASON_NONE)
        account_refused(a, reason);
    return reason;
}

#endif
