/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a source address for each frame, writes it, and hands the frame on. Drawing here, and not
 * in the frames that BPF_PROG_TEST_RUN is given, makes each packet another one: a hot cache would
 * flatter who looks addresses up.
 *
 * One CPU at a time: the state of the generator is a plain global.
 */
#include "tools/bench/xdp/draw.h"

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum { IPV4_ID_BYTES = 18, IPV4_SOURCE_BYTES = 26, IPV4_END_BYTES = 34 };

struct draw_plan draw_plan = {.step = 1, .sources = 1};
uint64_t draw_state = 0x9e3779b97f4a7c15u; /* never 0 */

struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} draw_target SEC(".maps");

int draw_only(struct xdp_md *context);
int draw_and_call(struct xdp_md *context);
int draw_and_send(struct xdp_md *context);

/* Marsaglia, "Xorshift RNGs", 2003. The upper half is taken. */
static __always_inline uint64_t draw_random(void)
{
    uint64_t x = draw_state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    draw_state = x;
    return x >> 32;
}

static __always_inline void draw(struct xdp_md *context)
{
    uint8_t *frame = (uint8_t *)(long)context->data;
    uint32_t number = (uint32_t)(draw_random() * draw_plan.sources >> 32);
    uint32_t source = draw_plan.first + number * draw_plan.step;
    uint32_t sum = (source & 0xffff) + (source >> 16);

    if (frame + IPV4_END_BYTES > (uint8_t *)(long)context->data_end)
        return;
    /* The identification takes back what the address adds, so the checksum stays right. */
    sum = (sum & 0xffff) + (sum >> 16);
    *(uint16_t *)(frame + IPV4_ID_BYTES) = bpf_htons((uint16_t)~sum);
    *(uint32_t *)(frame + IPV4_SOURCE_BYTES) = bpf_htonl(source);
}

/* What the generator costs by itself. */
SEC("xdp")
int draw_only(struct xdp_md *context)
{
    draw(context);
    return XDP_DROP;
}

/* The index is a constant, so the kernel makes a direct jump of the call. */
SEC("xdp")
int draw_and_call(struct xdp_md *context)
{
    draw(context);
    bpf_tail_call(context, &draw_target, 0);
    return XDP_ABORTED;
}

SEC("xdp")
int draw_and_send(struct xdp_md *context)
{
    draw(context);
    return (int)bpf_redirect(draw_plan.into, 0);
}

/* GPL: the kernel asks for it where the kernel's own tail calls and redirects are used. */
char draw_license[] SEC("license") = "Dual BSD/GPL";
