/* SPDX-License-Identifier: BSD-3-Clause */
/* The least a program can do with a packet, and the least it can do to know nothing of its source.
 */
#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

enum { IPV4_SOURCE_BYTES = 26, IPV4_END_BYTES = 34 };

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, uint32_t);
    __type(value, uint64_t);
} miss_sources SEC(".maps");

uint64_t miss_packets; /* whose source was unknown */

int target_noop(struct xdp_md *context);
int target_miss(struct xdp_md *context);

SEC("xdp")
int target_noop(struct xdp_md *context)
{
    (void)context;
    return XDP_DROP;
}

/* One lookup in the kernel's hash table: what it costs at least to see that a source is unknown. */
SEC("xdp")
int target_miss(struct xdp_md *context)
{
    const uint8_t *frame = (const uint8_t *)(long)context->data;

    if (frame + IPV4_END_BYTES > (const uint8_t *)(long)context->data_end)
        return XDP_ABORTED;
    if (bpf_map_lookup_elem(&miss_sources, frame + IPV4_SOURCE_BYTES))
        return XDP_PASS;
    miss_packets++;
    return XDP_DROP;
}

char targets_license[] SEC("license") = "Dual BSD/GPL";
