/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A policy as the maps hold it (bpf/maps.h): plain arrays in, plain arrays out. Control thread.
 */
#ifndef SLUICE_PLANE_XDP_BANK_H
#define SLUICE_PLANE_XDP_BANK_H

#include "bpf/maps.h"
#include "dataplane/admission/admission_control.h"
#include "dataplane/admission/advice.h"
#include "dataplane/policy/policy.h"

/* Elements of one bank; of what has no banks: of all. */
struct xdp_sizes {
    uint32_t tenants, services; /* ids */
    uint32_t floods;            /* blocks of XDP_FLOODS tenants */
    uint32_t slots, ranges, spans;
};

/* The maps that are mapped into memory. */
struct xdp_arrays {
    struct xdp_sizes sizes;
    struct xdp_control *control;
    struct heartbeat *heartbeats;
    struct xdp_port *ports;
    struct xdp_image *images;
    struct xdp_slot *slots;
    struct prefix_range *ranges;
    struct hosts_bucket *denied_hosts;
    struct service_span *spans;
    struct xdp_tenant *tenants;
    struct xdp_tenant_volume *tenant_volumes;
    struct xdp_service *services;
    struct xdp_advice *advice;
};

/* What `policy`, and every policy with the same prefixes and services, needs; with room for a deny
 * list of any length. */
struct xdp_sizes xdp_sizes_of(const struct policy *policy);

/* Writes a bank that no program reads. 0, or -ENOSPC: the policy does not fit, and the bank is of
 * no use. */
int xdp_bank_fill(const struct xdp_arrays *arrays, uint32_t bank, const struct policy *policy);

/* Field by field, for programs that read at any time. */
void xdp_advice_write(struct xdp_advice *to, const struct advice *advice, double capacity_per_s);

#endif
