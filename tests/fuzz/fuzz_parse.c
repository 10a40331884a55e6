/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse_frame() and refusal_write_rst() on any bytes (libFuzzer).
 *
 * Input: one byte, how many bytes of the frame were not handed over; then the frame. What is
 * asserted holds for every frame, so nothing here needs to know what the frame is.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/refusal.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
    return get16(at) << 16 | get16(at + 2);
}

/* The one's complement sum, word by word: written apart from checksum.c on purpose. */
static uint32_t plain_sum(uint32_t sum, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static void check_ip(const struct packet *p, uint32_t length, uint32_t wire_bytes)
{
    HOLDS(p->l3_offset <= p->l4_offset && p->l4_offset <= p->payload_offset);
    HOLDS(p->payload_offset <= length);
    HOLDS(p->ip_bytes >= (p->is_v6 ? 40 : 20));
    HOLDS(p->l3_offset + p->ip_bytes <= wire_bytes);
    HOLDS(p->payload_bytes <= p->ip_bytes);
    HOLDS(p->payload_offset + p->payload_bytes == p->l3_offset + p->ip_bytes);
    HOLDS(p->is_v6 != address_is_v4(&p->source) && p->is_v6 != address_is_v4(&p->destination));
}

static void check_kind(const struct packet *p)
{
    uint32_t l4_bytes = p->payload_offset - p->l4_offset;

    switch (p->kind) {
    case PACKET_TCP:
        HOLDS(p->protocol == 6 && l4_bytes >= 20 && l4_bytes <= 60 && l4_bytes % 4 == 0);
        break;
    case PACKET_UDP:
        HOLDS(p->protocol == 17 && l4_bytes == 8);
        break;
    case PACKET_ICMP:
    case PACKET_ICMP_ERROR:
        HOLDS(p->protocol == (p->is_v6 ? 58 : 1) && l4_bytes == 8);
        break;
    case PACKET_CONTROL:
        HOLDS(l4_bytes == (p->is_v6 && p->protocol == 58 ? 8 : 0));
        break;
    default:
        HOLDS(l4_bytes == 0);
    }
    HOLDS(p->kind == PACKET_TCP || (p->tcp_flags == 0 && p->tcp_seq == 0 && p->tcp_ack == 0));
    HOLDS(p->kind == PACKET_TCP || p->kind == PACKET_UDP ||
          (p->source_port == 0 && p->destination_port == 0));
    HOLDS(p->kind != PACKET_FRAGMENT || p->is_fragment);
}

static void check_packet(const struct packet *p, uint32_t length, uint32_t wire_bytes)
{
    HOLDS(p->kind <= PACKET_DEEP_CHAIN);
    HOLDS(p->vlan_tags <= PARSE_VLAN_MAX);
    HOLDS(p->vlan[0] <= 0xfff && p->vlan[1] <= 0xfff);
    HOLDS(p->l3_offset <= length && p->l3_offset <= 14 + 4 * PARSE_VLAN_MAX);
    if (p->kind == PACKET_MALFORMED) {
        HOLDS(p->reason >= REASON_MALFORMED_ETHERNET && p->reason <= REASON_MALFORMED_ICMP_HEADER);
        return;
    }
    HOLDS(p->reason == REASON_NONE);
    HOLDS(p->l3_offset == 14 + 4 * p->vlan_tags);
    if (p->kind == PACKET_NON_IP || p->kind == PACKET_DEEP_VLAN) {
        HOLDS(p->protocol == 0 && p->ip_bytes == 0 && p->l4_offset == 0);
        return;
    }
    check_ip(p, length, wire_bytes);
    check_kind(p);
}

static void check_rst_checksums(const uint8_t *frame, uint32_t length, const struct packet *rst)
{
    const uint8_t *ip = frame + rst->l3_offset, *tcp = frame + rst->l4_offset;
    uint32_t tcp_bytes = length - rst->l4_offset;
    uint32_t sum = 6 + tcp_bytes;

    if (rst->is_v6) {
        sum = plain_sum(sum, ip + 8, 32);
    } else {
        HOLDS(plain_sum(0, ip, 20) == 0xffff);
        sum = plain_sum(sum, ip + 12, 8);
    }
    HOLDS(plain_sum(sum, tcp, tcp_bytes) == 0xffff);
}

/* RFC 9293 section 3.10.7.1. */
static void check_rst_numbers(const uint8_t *tcp, const struct packet *p)
{
    uint32_t occupied = p->payload_bytes + !!(p->tcp_flags & TCP_SYN) + !!(p->tcp_flags & TCP_FIN);

    if (p->tcp_flags & TCP_ACK) {
        HOLDS(tcp[13] == TCP_RST && get32(tcp + 4) == p->tcp_ack && get32(tcp + 8) == 0);
    } else {
        HOLDS(tcp[13] == (TCP_RST | TCP_ACK) && get32(tcp + 4) == 0);
        HOLDS(get32(tcp + 8) == p->tcp_seq + occupied);
    }
}

static void check_refusal(uint8_t *frame, const uint8_t *original, const struct packet *p)
{
    uint32_t length = refusal_write_rst(frame, p);
    struct packet rst;

    HOLDS(length <= p->l4_offset + 20u);
    HOLDS(parse_frame(frame, length, length, &rst) == PACKET_TCP);
    check_packet(&rst, length, length);
    HOLDS(memcmp(frame, original + 6, 6) == 0 && memcmp(frame + 6, original, 6) == 0);
    HOLDS(memcmp(frame + 12, original + 12, p->l3_offset - 12u) == 0);
    HOLDS(rst.is_v6 == p->is_v6 && !rst.is_fragment);
    HOLDS(address_equal(&rst.source, &p->destination));
    HOLDS(address_equal(&rst.destination, &p->source));
    HOLDS(rst.source_port == p->destination_port && rst.destination_port == p->source_port);
    HOLDS(rst.payload_bytes == 0 && rst.l3_offset + rst.ip_bytes == length);
    check_rst_numbers(frame + rst.l4_offset, p);
    check_rst_checksums(frame, length, &rst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t fields = offsetof(struct packet, is_v6) + sizeof(bool);
    uint32_t length, wire_bytes;
    struct packet packet, again;
    uint8_t *frame;

    if (size == 0)
        return 0;
    length = (uint32_t)size - 1;
    wire_bytes = length + data[0];
    frame = malloc(length); /* exactly so long that the sanitizer sees a read beyond */
    if (!frame)
        return 0;
    if (length)
        memcpy(frame, data + 1, length);

    memset(&packet, 0xa5, sizeof(packet));
    memset(&again, 0x5a, sizeof(again));
    HOLDS(parse_frame(frame, length, wire_bytes, &packet) == packet.kind);
    parse_frame(frame, length, wire_bytes, &again);
    HOLDS(memcmp(&packet, &again, fields) == 0); /* every field is set */
    HOLDS(length == 0 || memcmp(frame, data + 1, length) == 0);
    check_packet(&packet, length, wire_bytes);
    if (packet.kind == PACKET_TCP && !packet.is_fragment && !(packet.tcp_flags & TCP_RST))
        check_refusal(frame, data + 1, &packet);
    free(frame);
    return 0;
}
