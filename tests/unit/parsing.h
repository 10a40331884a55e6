/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the parser share: a few frames, and parse_frame() under close watch. */
#ifndef SLUICE_TESTS_PARSING_H
#define SLUICE_TESTS_PARSING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "tests/unit/frames.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct frame_ipv4 v4 = {.source = "10.1.0.5", .destination = "10.9.0.10"};
static const struct frame_ipv6 v6 = {.source = "fd01::5", .destination = "fd09::10"};
static const struct frame_tcp syn = {
    .seq = 0x01020304, .source_port = 40000, .destination_port = 443, .flags = TCP_SYN};

/* The two run together, from exactly so many bytes of heap that a sanitizer sees any read beyond,
 * and from two different states of `packet`, so that a field left unset shows. */
static inline struct packet parse_part(const struct frame *f, uint32_t length, uint32_t wire_bytes)
{
    const size_t fields = offsetof(struct packet, is_v6) + sizeof(bool);
    uint8_t *bytes = malloc(length);
    struct packet packet, again;
    enum packet_kind kind;

    memcpy(bytes, f->bytes, length);
    memset(&packet, 0xa5, sizeof(packet));
    memset(&again, 0x5a, sizeof(again));
    kind = parse_frame(bytes, length, wire_bytes, &packet);
    parse_frame(bytes, length, wire_bytes, &again);
    free(bytes);
    assert_int_equal(kind, packet.kind);
    assert_memory_equal(&packet, &again, fields);
    assert_int_equal(packet.kind == PACKET_MALFORMED, packet.reason != REASON_NONE);
    return packet;
}

static inline struct packet parse(const struct frame *f)
{
    return parse_part(f, f->length, f->length);
}

static inline void assert_malformed(const struct packet *packet, enum reason reason)
{
    assert_int_equal(packet->kind, PACKET_MALFORMED);
    assert_int_equal(packet->reason, reason);
}

static inline void assert_addresses(const struct packet *packet, const char *source,
                                    const char *destination)
{
    struct address expected = frame_address(source);

    assert_memory_equal(&packet->source, &expected, sizeof(expected));
    expected = frame_address(destination);
    assert_memory_equal(&packet->destination, &expected, sizeof(expected));
}

/* `f` is a SYN to port 443 with so much data. */
static inline void assert_syn(const struct frame *f, uint32_t payload_bytes)
{
    struct packet packet = parse(f);

    assert_int_equal(packet.kind, PACKET_TCP);
    assert_addresses(&packet, f->is_v6 ? v6.source : v4.source,
                     f->is_v6 ? v6.destination : v4.destination);
    assert_int_equal(packet.is_v6, f->is_v6);
    assert_int_equal(packet.protocol, 6);
    assert_int_equal(packet.source_port, 40000);
    assert_int_equal(packet.destination_port, 443);
    assert_int_equal(packet.tcp_seq, 0x01020304);
    assert_int_equal(packet.l3_offset, f->l3);
    assert_int_equal(packet.l4_offset, f->l4);
    assert_int_equal(packet.payload_bytes, payload_bytes);
    assert_int_equal(packet.payload_offset + payload_bytes, packet.l3_offset + packet.ip_bytes);
}

static inline void start_v4(struct frame *f)
{
    frame_ethernet(f);
    frame_ipv4(f, &v4);
}

static inline void start_v6(struct frame *f)
{
    frame_ethernet(f);
    frame_ipv6(f, &v6);
}

static inline void build_syn(struct frame *f, bool is_v6, uint32_t payload_bytes)
{
    static const uint8_t payload[64];

    if (is_v6)
        start_v6(f);
    else
        start_v4(f);
    frame_tcp(f, &syn);
    frame_payload(f, payload, payload_bytes);
    frame_finish(f);
}

static inline void build_datagram(struct frame *f, bool is_v6)
{
    if (is_v6)
        start_v6(f);
    else
        start_v4(f);
    frame_udp(f, 5353, 53);
    frame_payload(f, "query", 5);
    frame_finish(f);
}

#endif
