/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program counts, and what tests read of a single packet.
 */
#ifndef SLUICE_BPF_ACCOUNT_H
#define SLUICE_BPF_ACCOUNT_H

#include "bpf/arrival.h"

/* A packet towards the services that passed in standby. */
static __always_inline void account_packet(const struct arrival *a)
{
    struct xdp_tenant_counters *t = table_at(&tenant_counters, a->tenant);

    if (!t)
        return;
    t->packets++;
    t->bytes += a->packet.ip_bytes;
}

/* One that asked for nothing and was over a quota of packets or bits. */
static __always_inline void account_dropped(const struct arrival *a, enum reason reason)
{
    struct xdp_tenant_counters *t = table_at(&tenant_counters, a->tenant);

    if (t)
        *(reason == REASON_PACKETS ? &t->dropped_packets : &t->dropped_bits) += 1;
}

static __always_inline void account_flood(uint32_t tenant)
{
    struct xdp_floods *floods = table_at(&tenant_floods, tenant / XDP_FLOODS);

    if (floods)
        floods->refused[tenant % XDP_FLOODS]++;
}

static __always_inline void account_tenant_refused(uint32_t tenant, enum reason reason)
{
    struct xdp_tenant_counters *t = table_at(&tenant_counters, tenant);

    if (!t)
        return;
    t->attempts++;
    t->refused[reason]++;
}

static __always_inline void account_refused(const struct arrival *a, enum reason reason)
{
    struct xdp_service_counters *s;

    if (reason >= REASON_ATTEMPT_MAX)
        return;
    if (reason == REASON_RATE)
        account_flood(a->tenant);
    else
        account_tenant_refused(a->tenant, reason);
    s = a->service == NOBODY ? 0 : table_at(&service_counters, a->service);
    if (s) {
        s->attempts++;
        s->unanswered++;
        s->refused[reason]++;
    }
}

static __always_inline void account_admitted(const struct arrival *a)
{
    struct xdp_tenant_counters *t = table_at(&tenant_counters, a->tenant);
    struct xdp_service_counters *s;

    if (t) {
        t->attempts++;
        t->admitted++;
    }
    s = a->service == NOBODY ? 0 : table_at(&service_counters, a->service);
    if (s) {
        s->attempts++;
        s->admitted++;
    }
}

static __always_inline void account_reached(const struct arrival *a, uint8_t class)
{
    struct xdp_service_counters *s = table_at(&service_counters, a->service);

    if (s && class < CLASS_MAX)
        s->reached[class]++;
}

static __always_inline void account_trace(enum xdp_way way, uint32_t reason, uint32_t tenant,
                                          uint32_t service)
{
    struct xdp_trace *t;

    if (!options.traces)
        return;
    t = table_at(&trace, 0);
    if (t)
        *t = (struct xdp_trace){.way = way, .reason = reason, .tenant = tenant, .service = service};
}

#endif
