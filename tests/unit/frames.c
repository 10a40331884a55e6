/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/frames.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/checksum.h"

static uint8_t *append(struct frame *f, uint32_t n)
{
    uint8_t *at = f->bytes + f->length;

    if (n > FRAME_MAX_BYTES - f->length)
        abort();
    memset(at, 0, n);
    f->length += n;
    return at;
}

static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, (uint16_t)(value >> 16));
    put16(at + 2, (uint16_t)value);
}

static void announce(struct frame *f, uint16_t next)
{
    if (f->next_bytes == 2)
        put16(f->bytes + f->next_at, next);
    else
        f->bytes[f->next_at] = (uint8_t)next;
}

static void expect_next(struct frame *f, uint32_t at, uint32_t bytes)
{
    f->next_at = at;
    f->next_bytes = bytes;
}

static void parse_text(int family, const char *text, void *into)
{
    if (inet_pton(family, text, into) != 1)
        abort();
}

void frame_ethernet(struct frame *f)
{
    uint8_t *eth;

    memset(f, 0, sizeof(*f));
    eth = append(f, 14);
    memcpy(eth, FRAME_GATE_MAC, 6);
    memcpy(eth + 6, FRAME_CLIENT_MAC, 6);
    expect_next(f, 12, 2);
}

void frame_vlan(struct frame *f, uint16_t tpid, uint16_t tci)
{
    uint32_t at = f->length;

    announce(f, tpid);
    put16(append(f, 4), tci);
    expect_next(f, at + 2, 2);
}

void frame_ethertype(struct frame *f, uint16_t ethertype)
{
    announce(f, ethertype);
}

void frame_ipv4(struct frame *f, const struct frame_ipv4 *ip)
{
    uint8_t *at;

    announce(f, 0x0800);
    f->l3 = f->length;
    at = append(f, 20 + ip->option_bytes);
    at[0] = (uint8_t)(0x40 | (20 + ip->option_bytes) / 4);
    put16(at + 4, 0x1234);
    put16(at + 6, ip->fragment);
    at[8] = 64;
    parse_text(AF_INET, ip->source, at + 12);
    parse_text(AF_INET, ip->destination, at + 16);
    if (ip->option_bytes)
        memcpy(at + 20, ip->options, ip->option_bytes);
    f->is_fragment = (ip->fragment & 0x3fff) != 0;
    expect_next(f, f->l3 + 9, 1);
}

void frame_ipv6(struct frame *f, const struct frame_ipv6 *ip)
{
    uint8_t *at;

    announce(f, 0x86dd);
    f->is_v6 = true;
    f->l3 = f->length;
    at = append(f, 40);
    at[0] = 0x60;
    at[7] = ip->hop_limit ? ip->hop_limit : 64;
    parse_text(AF_INET6, ip->source, at + 8);
    parse_text(AF_INET6, ip->destination, at + 24);
    expect_next(f, f->l3 + 6, 1);
}

void frame_extension(struct frame *f, uint8_t type, uint32_t bytes)
{
    uint32_t at = f->length;
    uint8_t *header = append(f, bytes);

    announce(f, type);
    header[1] = (uint8_t)(type == 51 ? bytes / 4 - 2 : bytes / 8 - 1);
    if (type != 51 && type != 43) {
        header[2] = 1; /* PadN */
        header[3] = (uint8_t)(bytes - 4 > 255 ? 255 : bytes - 4);
    }
    expect_next(f, at, 1);
}

void frame_fragment(struct frame *f, uint16_t offset, bool more)
{
    uint32_t at = f->length;
    uint8_t *header = append(f, 8);

    announce(f, 44);
    put16(header + 2, (uint16_t)(offset << 3 | more));
    put32(header + 4, 0xdecade);
    f->is_fragment |= offset != 0 || more;
    expect_next(f, at, 1);
}

static uint8_t *start_l4(struct frame *f, uint8_t protocol, uint32_t n)
{
    announce(f, protocol);
    f->protocol = protocol;
    f->l4 = f->length;
    return append(f, n);
}

void frame_tcp(struct frame *f, const struct frame_tcp *tcp)
{
    uint8_t *at = start_l4(f, 6, 20u + tcp->option_bytes);

    put16(at, tcp->source_port);
    put16(at + 2, tcp->destination_port);
    put32(at + 4, tcp->seq);
    put32(at + 8, tcp->ack);
    at[12] = (uint8_t)((20 + tcp->option_bytes) / 4 << 4);
    at[13] = tcp->flags;
    put16(at + 14, 64240);
    memset(at + 20, 1, tcp->option_bytes);
}

void frame_udp(struct frame *f, uint16_t source_port, uint16_t destination_port)
{
    uint8_t *at = start_l4(f, 17, 8);

    put16(at, source_port);
    put16(at + 2, destination_port);
}

void frame_icmp(struct frame *f, uint8_t type, uint8_t code)
{
    uint8_t *at = start_l4(f, f->is_v6 ? 58 : 1, 8);

    at[0] = type;
    at[1] = code;
}

void frame_protocol(struct frame *f, uint8_t protocol)
{
    announce(f, protocol);
    f->l4 = f->length;
}

void frame_payload(struct frame *f, const void *bytes, uint32_t n)
{
    uint8_t *at = append(f, n);

    if (n)
        memcpy(at, bytes, n);
}

static struct address address_at(const struct frame *f, uint32_t offset)
{
    struct address address;
    uint32_t word;

    if (f->is_v6) {
        memcpy(&address, f->bytes + f->l3 + offset, sizeof(address));
        return address;
    }
    memcpy(&word, f->bytes + f->l3 + offset, sizeof(word));
    return address_from_v4(word);
}

static void finish_l4(struct frame *f)
{
    const uint32_t field = f->protocol == 6 ? 16 : f->protocol == 17 ? 6 : 2;
    struct address source = address_at(f, f->is_v6 ? 8 : 12);
    struct address destination = address_at(f, f->is_v6 ? 24 : 16);
    uint8_t *l4 = f->bytes + f->l4;
    uint16_t checksum;

    if (f->protocol == 17)
        put16(l4 + 4, (uint16_t)(f->length - f->l4));
    if (f->is_fragment)
        return;
    checksum = f->protocol == 1
                   ? checksum_bytes(l4, f->length - f->l4)
                   : checksum_l4(&source, &destination, f->protocol, l4, f->length - f->l4);
    memcpy(l4 + field, &checksum, sizeof(checksum));
}

void frame_finish(struct frame *f)
{
    uint8_t *ip = f->bytes + f->l3;
    uint16_t checksum;

    if (!f->l3)
        return;
    if (f->is_v6) {
        put16(ip + 4, (uint16_t)(f->length - f->l3 - 40));
    } else {
        put16(ip + 2, (uint16_t)(f->length - f->l3));
        checksum = checksum_bytes(ip, (ip[0] & 0x0fu) * 4);
        memcpy(ip + 10, &checksum, sizeof(checksum));
    }
    if (f->protocol == 1 || f->protocol == 6 || f->protocol == 17 || f->protocol == 58)
        finish_l4(f);
}

void frame_trailer(struct frame *f, uint8_t value, uint32_t n)
{
    memset(append(f, n), value, n);
}

void frame_put16(struct frame *f, uint32_t offset, uint16_t value)
{
    put16(f->bytes + offset, value);
}

uint16_t frame_get16(const struct frame *f, uint32_t offset)
{
    return (uint16_t)(f->bytes[offset] << 8 | f->bytes[offset + 1]);
}

uint32_t frame_get32(const struct frame *f, uint32_t offset)
{
    return (uint32_t)frame_get16(f, offset) << 16 | frame_get16(f, offset + 2);
}

struct address frame_address(const char *text)
{
    struct address address;
    uint32_t word;

    if (inet_pton(AF_INET, text, &word) == 1)
        return address_from_v4(word);
    parse_text(AF_INET6, text, &address);
    return address;
}
