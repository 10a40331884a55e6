/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in: what the workers would decide, as far as a packet by itself tells. Without flows
 * there are no windows, erlangs, retries, deadlines or breakers, and nobody waits; quotas hold, the
 * last shares shed, and as a bound the capacity that was published last. Refusals are dropped.
 */
#ifndef SLUICE_BPF_STANDBY_H
#define SLUICE_BPF_STANDBY_H

#include "bpf/account.h"
#include "bpf/lookup.h"
#include "bpf/quota.h"
#include "bpf/shedding.h"

/* Nobody corrects the shares while the control loop is away; but the overload may well go on. */
#define STANDBY_SHED_FLOOR_SHIFT 2

/* Control traffic and ICMP errors keep the network alive: never shed or billed, only bounded. */
static __always_inline enum reason standby_control(const struct arrival *a)
{
    enum xdp_control_kind kind = a->packet.kind == PACKET_ICMP_ERROR ? XDP_CONTROL_ERRORS
                                 : a->packet.kind == PACKET_NON_IP   ? XDP_CONTROL_LINK
                                                                     : XDP_CONTROL_IP;
    const struct xdp_port *port = table_at(&ports, options.port);
    struct xdp_bucket_state *state = table_at(&control_state, options.port * XDP_CONTROLS + kind);

    if (!port || !state || control_take(state, &port->control, clock_ns()))
        return REASON_NONE;
    return REASON_CONTROL;
}

/* No attempt: its tenant pays in packets and bits. */
static __always_inline enum reason standby_charge(const struct arrival *a)
{
    const struct quota_wish wish = {.ip_bytes = a->packet.ip_bytes};
    enum reason reason = REASON_NONE;
    struct quota quota;

    if (quota_of(a, &quota) && quota_is_limited(&quota, false)) {
        uint64_t now_ns = quota_clock_ns(quota.tenant);

        reason = quota_look(&quota, wish, now_ns);
        if (reason == REASON_NONE)
            reason = quota_take(&quota, wish, now_ns);
    }
    if (reason == REASON_NONE)
        account_packet(a);
    else
        account_dropped(a, reason);
    return reason;
}

/* IPv4 is a corner of its own: a shorter IPv6 prefix around it says nothing about it. */
static __always_inline bool standby_probe_covers(const struct xdp_probe *probe,
                                                 const struct address *source)
{
    return (source->halves[0] & probe->mask[0]) == probe->network[0] &&
           (source->halves[1] & probe->mask[1]) == probe->network[1] &&
           ((uint32_t)probe->mask[1] == UINT32_MAX || !address_is_v4(source));
}

static __always_inline bool standby_is_probe(const struct xdp_service *service,
                                             const struct address *source)
{
    for (uint32_t i = 0; i < XDP_PROBES_MAX && i < service->n_probes; i++)
        if (standby_probe_covers(&service->probes[i], source))
            return true;
    return false;
}

/* Within the tokens reserved for health checks; then nothing else can refuse it. */
static __always_inline bool standby_is_check(const struct arrival *a,
                                             const struct xdp_service *service)
{
    struct xdp_service_state *state;

    if (!service->n_probes || !standby_is_probe(service, &a->packet.source))
        return false;
    state = table_at(&service_state, a->service);
    return state && service_take(state, SERVICE_CHECKS, &service->checks, clock_ns());
}

static __always_inline bool standby_sheds(const struct arrival *a, const struct xdp_advice *said,
                                          uint8_t class)
{
    uint32_t p = class < CLASS_MAX ? said->shed[class] : 0;

    if (p) {
        uint32_t left = shedding_left(said, p), floor = p >> STANDBY_SHED_FLOOR_SHIFT;

        if (shedding_hits(a, said, left > floor ? left : floor, 0))
            return true;
    }
    return said->turned_away && shedding_hits(a, said, said->turned_away, SHED_SALT_TURNED_AWAY);
}

/* Of nobody's service there is nothing to be shed, and no capacity. */
static __always_inline enum reason standby_look(const struct arrival *a,
                                                const struct xdp_tenant *tenant,
                                                const struct xdp_advice *said,
                                                struct xdp_service_state *state, uint64_t *now_ns)
{
    account_reached(a, tenant->class);
    if (standby_sheds(a, said, tenant->class))
        return REASON_SHED;
    if (bucket_rate_is_unlimited(&said->cap))
        return REASON_NONE;
    *now_ns = clock_ns();
    return service_look(state, SERVICE_CAP, &said->cap, *now_ns) ? REASON_NONE : REASON_CAPACITY;
}

/* The questions to an attempt in the workers' order: all are asked before any token is taken, so
 * that only a race between CPUs has something to give back. */
static __always_inline enum reason standby_check(const struct arrival *a)
{
    const struct quota_wish wish = {.attempt = true, .ip_bytes = a->packet.ip_bytes};
    const struct xdp_advice *said = 0;
    struct xdp_service_state *state = 0;
    uint64_t now_ns = 0, cap_now_ns = 0;
    enum reason reason = REASON_NONE;
    struct quota quota;
    bool limited;

    if (!quota_of(a, &quota))
        return REASON_GATEWAY;
    limited = quota_is_limited(&quota, true);
    if (limited) {
        now_ns = quota_clock_ns(quota.tenant);
        reason = quota_look(&quota, wish, now_ns);
    }
    if (reason == REASON_NONE && a->service != NOBODY) {
        said = table_at(&advice, a->service);
        state = table_at(&service_state, a->service);
        if (!said || !state)
            return REASON_GATEWAY;
        reason = standby_look(a, quota.tenant, said, state, &cap_now_ns);
    }
    if (reason == REASON_NONE && limited)
        reason = quota_take(&quota, wish, now_ns);
    if (reason != REASON_NONE || !said || !state ||
        service_take(state, SERVICE_CAP, &said->cap, cap_now_ns))
        return reason;
    if (limited)
        quota_give_back(&quota, a->packet.ip_bytes);
    return REASON_CAPACITY;
}

static __always_inline bool standby_knows_capacity(const struct arrival *a)
{
    const struct xdp_advice *said = table_at(&advice, a->service);

    return said && !bucket_rate_is_unlimited(&said->cap);
}

static __always_inline enum reason standby_decide(const struct arrival *a)
{
    const struct xdp_service *service;

    if (a->service == NOBODY)
        return standby_check(a);
    service = service_of(a);
    if (!service || (service->closed && !standby_knows_capacity(a)))
        return REASON_GATEWAY;
    return standby_is_check(a, service) ? REASON_NONE : standby_check(a);
}

static __always_inline enum reason standby_attempt(const struct arrival *a)
{
    enum reason reason = standby_decide(a);

    if (reason != REASON_NONE) {
        account_refused(a, reason);
        return reason;
    }
    account_admitted(a);
    account_packet(a);
    return REASON_NONE;
}

/* Packets that belong to no flow: whoever the address belongs to pays. Headers stacked deeper than
 * we look could hide a SYN, so each such packet is an attempt. */
static __always_inline enum reason standby_unasked(struct arrival *a, uint32_t default_tenant)
{
    if (a->packet.kind == PACKET_DEEP_VLAN) { /* the addresses behind the tags are unread */
        a->tenant = default_tenant;
        return standby_attempt(a);
    }
    if (!lookup_names_address(a->bank, &a->packet.destination))
        return REASON_NONE;
    a->tenant = lookup_tenant(a->bank, &a->packet.source);
    if (a->tenant == POLICY_NONE)
        a->tenant = default_tenant;
    return a->packet.kind == PACKET_DEEP_CHAIN ? standby_attempt(a) : standby_charge(a);
}

#endif
