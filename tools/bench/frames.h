/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets of the bench: frames of the least size, IPv4 and TCP, from a client of some tenant to
 * the one service. Flow i belongs to tenant i % tenants; each tenant has a /24 of 10.0.0.0/8.
 */
#ifndef SLUICE_BENCH_FRAMES_H
#define SLUICE_BENCH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/flow/flow.h"
#include "dataplane/policy/address.h"

#define FRAME_BYTES        60
#define FRAME_SERVICE_PORT 80
#define FRAME_SEQUENCE     256 /* of a SYN, as of any other */
#define FRAME_PREFIX_BITS  (ADDRESS_V4_PREFIX_BITS + 24)

struct frame_kind {
    bool from_inside;
    uint8_t tcp_flags; /* without SYN the segment carries data */
};

struct address frame_service(void);
struct address frame_prefix(uint32_t tenant);

/* IP length of such a frame. */
uint32_t frame_ip_bytes(uint8_t tcp_flags);

void frame_write(uint8_t *frame, uint32_t flow, uint32_t tenants, struct frame_kind kind);

/* Key of a flow's packets in the flow table. */
struct flow_key frame_flow_key(uint32_t flow, uint32_t tenants);

/* What became of a frame: forwarded with its MAC addresses swapped, unchanged, or a RST. */
bool frame_is_swapped(const uint8_t *frame);
bool frame_is_forwarded(const uint8_t *frame);
bool frame_is_reset(const uint8_t *frame);

#endif
