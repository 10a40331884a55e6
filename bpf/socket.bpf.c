/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the driver of AF_XDP ports attaches while it sets up a queue: the least that it asks for.
 * The gate's own program takes its place, and its xsks_map, as soon as it stands there.
 */
#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#include "bpf/maps.h"

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, XDP_QUEUES_MAX);
    __type(key, uint32_t);
    __type(value, uint32_t);
} xsks_map SEC(".maps");

SEC("xdp")
int sluice_socket(struct xdp_md *ctx);
int sluice_socket(struct xdp_md *ctx)
{
    return (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
