/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maps themselves, and the constants of a loaded program. Sizes here are the least there can
 * be: the loader sets those of its daemon. maps.h says what lies in them.
 */
#ifndef SLUICE_BPF_TABLES_H
#define SLUICE_BPF_TABLES_H

#include "bpf/maps.h"

#include <bpf/bpf_helpers.h>

#define TABLE(name_, type_, value_, entries_, flags_)                                              \
    struct {                                                                                       \
        __uint(type, type_);                                                                       \
        __uint(max_entries, entries_);                                                             \
        __uint(map_flags, flags_);                                                                 \
        __type(key, uint32_t);                                                                     \
        __type(value, value_);                                                                     \
    } name_ SEC(".maps")

#define SHARED(name_, value_, entries_)                                                            \
    TABLE(name_, BPF_MAP_TYPE_ARRAY, value_, entries_, BPF_F_MMAPABLE)
#define STATE(name_, value_, entries_) TABLE(name_, BPF_MAP_TYPE_ARRAY, value_, entries_, 0)
#define COUNTERS(name_, value_, entries_)                                                          \
    TABLE(name_, BPF_MAP_TYPE_PERCPU_ARRAY, value_, entries_, 0)

SHARED(control, struct xdp_control, 1);
SHARED(heartbeats, struct heartbeat, XDP_WORKERS_MAX);
SHARED(ports, struct xdp_port, XDP_PORTS_MAX);

SHARED(images, struct xdp_image, XDP_BANKS);
SHARED(slots, struct xdp_slot, 1);
SHARED(ranges, struct prefix_range, 1);
SHARED(denied_hosts, struct hosts_bucket, XDP_BANKS *XDP_HOSTS);
SHARED(spans, struct service_span, 1);
SHARED(tenants, struct xdp_tenant, XDP_BANKS);
SHARED(tenant_volumes, struct xdp_tenant_volume, XDP_BANKS);
SHARED(services, struct xdp_service, XDP_BANKS);
SHARED(advice, struct xdp_advice, 1);

STATE(tenant_state, struct xdp_tenant_state, 1);
STATE(volume_state, struct xdp_volume_state, 1);
STATE(service_state, struct xdp_service_state, 1);
STATE(control_state, struct xdp_bucket_state, XDP_PORTS_MAX *XDP_CONTROLS);

COUNTERS(port_counters, struct xdp_port_counters, XDP_PORTS_MAX);
COUNTERS(tenant_counters, struct xdp_tenant_counters, 1);
COUNTERS(tenant_floods, struct xdp_floods, 1);
COUNTERS(service_counters, struct xdp_service_counters, 1);
COUNTERS(trace, struct xdp_trace, 1);

TABLE(xsks_map, BPF_MAP_TYPE_XSKMAP, uint32_t, XDP_QUEUES_MAX, 0);
TABLE(devices, BPF_MAP_TYPE_DEVMAP, uint32_t, XDP_PORTS_MAX, 0);

const volatile struct xdp_options options = {.n_tenants = 1, .n_services = 1};
uint64_t test_now_ns; /* the time, where options.timed says so */

static __always_inline void *table_at(void *table, uint32_t number)
{
    return bpf_map_lookup_elem(table, &number);
}

#endif
