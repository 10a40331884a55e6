/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a frame is, read without ever passing its end or trusting a length in it.
 *
 * Walks Ethernet, up to PARSE_VLAN_MAX tags (802.1Q and 802.1ad), IPv4 with options, IPv6 with up
 * to PARSE_IPV6_CHAIN_MAX extension headers, and TCP, UDP or ICMP. Checksums are not verified: on
 * virtual devices an offload leaves them partial, and a receive flag that is missing says nothing.
 * Lengths of L4 come from L3, so Ethernet padding is never payload.
 *
 * Pure function of the bytes; any thread. Compiles for BPF: every loop is bounded.
 * Sources: IEEE 802.1Q, RFC 791, 8200, 9293, 768, 1858 (tiny fragments), 792, 4443, 4861.
 */
#ifndef SLUICE_PACKET_PARSE_H
#define SLUICE_PACKET_PARSE_H

#include <stdint.h>

#include "dataplane/packet/packet.h"

#define PARSE_IPV6_CHAIN_MAX 8 /* extension headers; longer chains are PACKET_DEEP_CHAIN */
/* Headers this deep are always readable; a worker hands over at least so many contiguous bytes. */
#define PARSE_HEADERS_MAX_BYTES 2048

/*
 * Fills `packet` from `length` contiguous bytes at `frame`, the start of a frame that is
 * `wire_bytes` long in all (>= length; lengths are checked against wire_bytes). Every field is set.
 * Headers that lie beyond `length` are malformed. Of a malformed packet, what was read before the
 * mistake is set and the rest is 0. Returns packet->kind.
 */
static inline enum packet_kind parse_frame(const uint8_t *frame, uint32_t length,
                                           uint32_t wire_bytes, struct packet *packet);

/* The same, where `end` is behind the readable bytes: the form in which a BPF verifier follows it.
 */
static inline enum packet_kind parse_frame_until(const uint8_t *frame, const uint8_t *end,
                                                 uint32_t wire_bytes, struct packet *packet);

#include "dataplane/packet/parse_impl.h"

#endif
