/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard in front of the workers. It drops a blocked tenant's attempts, where nobody would
 * answer them, and what the workers would probably refuse, as far as it is beyond the refusal
 * budget of its service (refuse_rate). Only the workers charge quotas; the kernel's buckets, of the
 * same rates, say how much they can still admit at most. Within the budget, in each service by
 * itself, the workers decide everything, so what they admit does not become less for a guess.
 */
#ifndef SLUICE_BPF_GUARD_H
#define SLUICE_BPF_GUARD_H

#include "bpf/standby.h"

static __always_inline bool guard_is_blocked(const struct xdp_tenant *tenant)
{
    return tenant->attempts.cost && !tenant->attempts.rate;
}

/*
 * Why the workers would probably refuse that connection; REASON_NONE: perhaps they would not.
 * Probably: the bucket is charged for what they then refuse for another reason, and for repeats.
 */
static __always_inline enum reason guard_foresee(const struct arrival *a,
                                                 const struct xdp_tenant *tenant)
{
    struct xdp_tenant_state *state = table_at(&tenant_state, a->tenant);
    const struct xdp_advice *said = table_at(&advice, a->service);
    bool limited = tenant->attempts.cost;
    uint64_t now_ns = 0;

    if (!state || !said)
        return REASON_NONE;
    if (limited) {
        now_ns = quota_clock_ns(tenant);
        if (!attempts_look(state, tenant, now_ns))
            return REASON_RATE;
    }
    /* How the workers hash an attempt is their own. */
    if (!said->by_attempt && tenant->class < CLASS_MAX && said->shed[tenant->class] &&
        shedding_hits(a, said, shedding_left(said, said->shed[tenant->class]), 0))
        return REASON_SHED;
    return limited && !attempts_take(state, tenant, now_ns) ? REASON_RATE : REASON_NONE;
}

/* The refusal budget of a service: so many probable refusals still go to the workers, who decide,
 * count and answer. Only a flood goes beyond it. */
static __always_inline bool guard_leaves(const struct arrival *a, const struct xdp_service *service)
{
    struct xdp_service_state *state = table_at(&service_state, a->service);

    return state && service_take(state, SERVICE_ANSWERS, &service->answers, clock_ns());
}

/* A blocked tenant is refused for certain: nobody need see it where nobody would answer. */
static __always_inline enum reason guard_judge(const struct arrival *a,
                                               const struct xdp_tenant *tenant,
                                               const struct xdp_service *service)
{
    bool blocked = guard_is_blocked(tenant);
    enum reason reason = blocked ? REASON_RATE : guard_foresee(a, tenant);

    if (reason == REASON_NONE || (blocked && service->refusal == REFUSAL_DROP))
        return reason;
    return guard_leaves(a, service) ? REASON_NONE : reason;
}

/* Datagrams may belong to flows, which only the workers know. */
static __always_inline enum reason guard_attempt(const struct arrival *a)
{
    const struct xdp_tenant *tenant = tenant_of(a);
    const struct xdp_service *service = service_of(a);
    enum reason reason;

    if (!tenant || !service || a->packet.kind == PACKET_UDP || standby_is_check(a, service))
        return REASON_NONE;
    reason = guard_judge(a, tenant, service);
    if (reason == REASON_NONE)
        return REASON_NONE;
    if (reason == REASON_SHED) /* the control loop must know what load there is */
        account_reached(a, tenant->class);
    account_refused(a, reason);
    return reason;
}

#endif
