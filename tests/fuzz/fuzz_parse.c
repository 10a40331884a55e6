/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse_frame(), refusals and replies on any bytes (libFuzzer).
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
#include "dataplane/packet/reply.h"

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

static void check_checksums(const uint8_t *frame, uint32_t length, const struct packet *rst)
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

/* A segment of ours between the same ends as `p`: back to its sender, or on to its receiver. */
static struct packet check_segment(const uint8_t *frame, uint32_t length, const uint8_t *original,
                                   const struct packet *p, bool back)
{
    const uint8_t *first = back ? original + 6 : original, *second = back ? original : original + 6;
    struct packet ours;

    HOLDS(parse_frame(frame, length, length, &ours) == PACKET_TCP);
    check_packet(&ours, length, length);
    HOLDS(memcmp(frame, first, 6) == 0 && memcmp(frame + 6, second, 6) == 0);
    HOLDS(memcmp(frame + 12, original + 12, p->l3_offset - 12u) == 0);
    HOLDS(ours.is_v6 == p->is_v6 && !ours.is_fragment);
    HOLDS(address_equal(&ours.source, back ? &p->destination : &p->source));
    HOLDS(address_equal(&ours.destination, back ? &p->source : &p->destination));
    HOLDS(ours.source_port == (back ? p->destination_port : p->source_port));
    HOLDS(ours.destination_port == (back ? p->source_port : p->destination_port));
    HOLDS(ours.l3_offset + ours.ip_bytes == length);
    check_checksums(frame, length, &ours);
    return ours;
}

static void check_rst(uint8_t *frame, const uint8_t *original, const struct packet *p)
{
    uint32_t length = refusal_write_rst(frame, p);
    struct packet rst = check_segment(frame, length, original, p, true);

    HOLDS(length <= p->l4_offset + 20u && rst.payload_bytes == 0);
    check_rst_numbers(frame + rst.l4_offset, p);
}

static void check_reset_inside(const uint8_t *original, const struct packet *p)
{
    uint8_t out[REFUSAL_RST_BYTES_MAX];
    uint32_t length = refusal_write_reset_inside(out, original, p);
    struct packet rst = check_segment(out, length, original, p, false);

    HOLDS(rst.payload_bytes == 0 && rst.tcp_flags == TCP_RST && rst.tcp_seq == p->tcp_seq);
}

static void check_http(const uint8_t *original, const struct packet *p, uint32_t room_bytes)
{
    uint8_t *out = malloc(room_bytes);
    uint32_t length;

    if (!out)
        return;
    memcpy(out, original, p->payload_offset);
    length = refusal_write_http(out, room_bytes, p, REFUSAL_429, p->tcp_seq);
    HOLDS(length != 0 || room_bytes < 220);
    if (length != 0) {
        struct packet http = check_segment(out, length, original, p, true);

        HOLDS(http.tcp_seq == p->tcp_ack && http.tcp_flags == (0x08 | TCP_FIN | TCP_ACK));
        HOLDS(reply_read(out + http.payload_offset, http.payload_bytes, 6, 80) == REPLY_GOOD);
    }
    free(out);
}

static void check_refusals(uint8_t *frame, const uint8_t *original, const struct packet *p)
{
    check_reset_inside(original, p);
    check_http(original, p, 300);
    check_http(original, p, p->payload_offset + p->payload_bytes % 200);
    check_rst(frame, original, p);
}

/* Whatever stands in it, no byte beyond it is read. */
static void read_payload(const uint8_t *frame, uint32_t length, const struct packet *p)
{
    uint32_t bytes = length - p->payload_offset;

    if (bytes > p->payload_bytes)
        bytes = p->payload_bytes;
    HOLDS(reply_read(frame + p->payload_offset, bytes, p->protocol, 53) <= REPLY_FAILED);
    HOLDS(bytes >= 3 || !refusal_fits_http(frame + p->payload_offset, bytes));
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
    if (packet.kind == PACKET_TCP || packet.kind == PACKET_UDP)
        read_payload(frame, length, &packet);
    if (packet.kind == PACKET_TCP && !packet.is_fragment && !(packet.tcp_flags & TCP_RST))
        check_refusals(frame, data + 1, &packet);
    free(frame);
    return 0;
}
