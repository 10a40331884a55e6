/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames for tests, built header by header:
 *
 *     struct frame f;
 *
 *     frame_ethernet(&f);
 *     frame_vlan(&f, 0x8100, 7);
 *     frame_ipv4(&f, &(struct frame_ipv4){.source = "10.1.0.5", .destination = "10.9.0.10"});
 *     frame_tcp(&f, &(struct frame_tcp){.source_port = 40000, .destination_port = 80, .flags =
 * 0x02}); frame_payload(&f, "data", 4); frame_finish(&f);
 *
 * Each header tells the one before it what follows (ethertype, protocol, next header), and
 * frame_finish() fills in lengths and checksums, so a frame is right unless a test then spoils it.
 * A frame that would outgrow FRAME_MAX_BYTES aborts the test.
 */
#ifndef SLUICE_TESTS_FRAMES_H
#define SLUICE_TESTS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/address.h"

#define FRAME_MAX_BYTES 9216

struct frame {
    uint8_t bytes[FRAME_MAX_BYTES];
    uint32_t length;
    uint32_t l3, l4; /* offsets; 0 while there is none. l4 is where frame_tcp, _udp, _icmp start */
    uint32_t next_at, next_bytes; /* the field that names the header to come */
    uint8_t protocol;             /* of an L4 header with a builder, else 0 */
    bool is_v6;
    bool is_fragment; /* no L4 checksum is made */
};

/* Addresses are text; options are padded by the caller to whole words. */
struct frame_ipv4 {
    const char *source, *destination;
    const uint8_t *options;
    uint32_t option_bytes;
    uint16_t fragment; /* the flags and offset field as it stands: 0x2000 more, 0x4000 do not */
};

struct frame_ipv6 {
    const char *source, *destination;
    uint8_t hop_limit; /* 0 stands for 64 */
};

struct frame_tcp {
    uint32_t seq, ack;
    uint16_t source_port, destination_port;
    uint8_t flags;
    uint8_t option_bytes; /* multiple of 4; NOPs */
};

/* Starts a frame from FRAME_CLIENT_MAC to FRAME_GATE_MAC. */
#define FRAME_CLIENT_MAC "\x02\x00\x00\x00\x00\x01"
#define FRAME_GATE_MAC   "\x02\x00\x00\x00\x00\x02"
void frame_ethernet(struct frame *f);

void frame_vlan(struct frame *f, uint16_t tpid, uint16_t tci);

/* Ends the L2 headers with an ethertype (or 802.3 length) for which there is no builder. */
void frame_ethertype(struct frame *f, uint16_t ethertype);

void frame_ipv4(struct frame *f, const struct frame_ipv4 *ip);
void frame_ipv6(struct frame *f, const struct frame_ipv6 *ip);

/* An IPv6 extension header of `type` (0 hop-by-hop, 43 routing, 60 destination options, 51 AH ...),
 * `bytes` long: a multiple of 8, of 4 for AH. Its content is PadN, or zero for AH and routing. */
void frame_extension(struct frame *f, uint8_t type, uint32_t bytes);

/* An IPv6 fragment header; `offset` in units of 8 bytes. */
void frame_fragment(struct frame *f, uint16_t offset, bool more);

void frame_tcp(struct frame *f, const struct frame_tcp *tcp);
void frame_udp(struct frame *f, uint16_t source_port, uint16_t destination_port);

/* ICMP, or ICMPv6 over IPv6: 8 bytes, the last four zero. */
void frame_icmp(struct frame *f, uint8_t type, uint8_t code);

/* Ends the IP headers with a protocol for which there is no builder, or none is wanted. */
void frame_protocol(struct frame *f, uint8_t protocol);

void frame_payload(struct frame *f, const void *bytes, uint32_t n);

void frame_finish(struct frame *f);

/* After frame_finish(): bytes behind the IP packet, such as Ethernet padding. */
void frame_trailer(struct frame *f, uint8_t value, uint32_t n);

/* Big-endian fields, for spoiling and for looking. */
void frame_put16(struct frame *f, uint32_t offset, uint16_t value);
uint16_t frame_get16(const struct frame *f, uint32_t offset);
uint32_t frame_get32(const struct frame *f, uint32_t offset);

/* The address that `text` (either version) names. */
struct address frame_address(const char *text);

#endif
