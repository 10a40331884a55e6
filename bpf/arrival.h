/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet on its way through the program. Numbers only, so that the functions it is handed to can
 * be verified once, each for itself, whatever the packet.
 */
#ifndef SLUICE_BPF_ARRIVAL_H
#define SLUICE_BPF_ARRIVAL_H

#include "bpf/tables.h"
#include "dataplane/admission/admission.h"
#include "dataplane/packet/packet.h"

#define NOBODY UINT32_MAX

struct arrival {
    struct packet packet;
    uint32_t bank;
    uint32_t direction;       /* enum direction */
    uint32_t tenant, service; /* ids, once they were asked for; else NOBODY */
};

/* The coarse clock is a read of memory, but ticks every few milliseconds. */
static __always_inline uint64_t clock_coarse_ns(void)
{
    return options.timed ? *(volatile uint64_t *)&test_now_ns : bpf_ktime_get_coarse_ns();
}

static __always_inline uint64_t clock_ns(void)
{
    return options.timed ? *(volatile uint64_t *)&test_now_ns : bpf_ktime_get_ns();
}

static __always_inline const struct xdp_tenant *tenant_of(const struct arrival *a)
{
    return table_at(&tenants, a->bank * options.n_tenants + a->tenant);
}

static __always_inline const struct xdp_tenant_volume *tenant_volume_of(const struct arrival *a)
{
    return table_at(&tenant_volumes, a->bank * options.n_tenants + a->tenant);
}

static __always_inline const struct xdp_service *service_of(const struct arrival *a)
{
    return table_at(&services, a->bank * options.n_services + a->service);
}

/* Does it open a flow? */
static __always_inline bool arrival_is_attempt(const struct arrival *a)
{
    return a->packet.kind == PACKET_UDP ||
           (a->packet.kind == PACKET_TCP && (a->packet.tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN);
}

#endif
