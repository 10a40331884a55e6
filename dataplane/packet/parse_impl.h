/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse_frame(), included by parse.h only.
 *
 * A cursor walks the headers; parse_take() is the only way forward and the only bounds check. Each
 * layer is called from one place, so that the compiler lays the common case (IPv4, TCP or UDP) out
 * as one straight line.
 */
#ifndef SLUICE_PACKET_PARSE_IMPL_H
#define SLUICE_PACKET_PARSE_IMPL_H

#include <stddef.h>

#define PARSE_RARELY(condition) __builtin_expect(!!(condition), 0)

enum parse_ethertype {
    PARSE_TYPE_MIN = 0x0600, /* below, the field is an 802.3 length */
    PARSE_TYPE_IPV4 = 0x0800,
    PARSE_TYPE_VLAN = 0x8100,
    PARSE_TYPE_IPV6 = 0x86dd,
    PARSE_TYPE_QINQ = 0x88a8,
    PARSE_TYPE_QINQ_OLD = 0x9100, /* from before 802.1ad, still in use */
    PARSE_TYPE_CUT = 0x10000,     /* no ethertype: the frame ends inside its L2 headers */
};

enum parse_protocol {
    PARSE_HOP_BY_HOP = 0,
    PARSE_ICMP = 1,
    PARSE_IGMP = 2,
    PARSE_TCP = 6,
    PARSE_UDP = 17,
    PARSE_ROUTING = 43,
    PARSE_IPV6_FRAGMENT = 44,
    PARSE_AH = 51,
    PARSE_ICMPV6 = 58,
    PARSE_DESTINATION = 60,
    PARSE_EIGRP = 88,
    PARSE_OSPF = 89,
    PARSE_PIM = 103,
    PARSE_VRRP = 112,
    PARSE_MOBILITY = 135,
    PARSE_HIP = 139,
    PARSE_SHIM6 = 140,
};

enum parse_bytes {
    PARSE_ETHERNET_BYTES = 14,
    PARSE_TAG_BYTES = 4,
    PARSE_IPV4_BYTES = 20,
    PARSE_IPV6_BYTES = 40,
    PARSE_EXTENSION_BYTES = 8, /* the least any IPv6 extension header has */
    PARSE_TCP_BYTES = 20,
    PARSE_UDP_BYTES = 8,
    PARSE_ICMP_BYTES = 8,
};

struct parse_cursor {
    const uint8_t *start, *at, *end; /* of the readable bytes */
    uint32_t left; /* bytes from `at` that belong to the packet: by the wire, then by IP length */
    uint8_t hop_limit; /* IPv6 only */
};

/* To the BPF compiler a packet's bytes are aligned to nothing, and it would load them one by one;
 * the kernel takes whole words wherever the machine does. */
#ifdef __bpf__
#define PARSE_WORD(at, bytes) __builtin_assume_aligned(at, bytes)
#else
#define PARSE_WORD(at, bytes) (at)
#endif

static inline uint16_t parse_load16(const uint8_t *at)
{
    uint16_t value;

    __builtin_memcpy(&value, PARSE_WORD(at, 2), sizeof(value));
    return __builtin_bswap16(value);
}

static inline uint32_t parse_load32(const uint8_t *at)
{
    uint32_t value;

    __builtin_memcpy(&value, PARSE_WORD(at, 4), sizeof(value));
    return __builtin_bswap32(value);
}

/* Steps over `n` bytes and returns where they start; NULL, and no step, if they are not all there.
 */
static inline const uint8_t *parse_take(struct parse_cursor *c, uint32_t n)
{
    const uint8_t *at = c->at;

    if (PARSE_RARELY(n > c->left || at + n > c->end))
        return NULL;
    c->at = at + n;
    c->left -= n;
    return at;
}

static inline void parse_malformed(struct packet *packet, enum reason reason)
{
    packet->kind = PACKET_MALFORMED;
    packet->reason = (uint8_t)reason;
}

/* The L4 header is not all there. In a first fragment that is RFC 1858's tiny fragment: the rest
 * would arrive where no filter reads it. */
static inline void parse_cut_l4(struct packet *packet, enum reason reason)
{
    parse_malformed(packet, packet->is_fragment ? REASON_MALFORMED_FRAGMENT : reason);
}

static inline bool parse_is_tag(uint32_t type)
{
    return type == PARSE_TYPE_VLAN || type == PARSE_TYPE_QINQ || type == PARSE_TYPE_QINQ_OLD;
}

/* Ethernet and its tags. Returns the ethertype behind them. */
static inline uint32_t parse_ethernet(struct parse_cursor *c, struct packet *packet)
{
    const uint8_t *header = parse_take(c, PARSE_ETHERNET_BYTES);
    uint32_t type;

    if (!header)
        return PARSE_TYPE_CUT;
    type = parse_load16(header + 12);
    for (uint8_t i = 0; i < PARSE_VLAN_MAX && PARSE_RARELY(parse_is_tag(type)); i++) {
        header = parse_take(c, PARSE_TAG_BYTES);
        if (!header)
            return PARSE_TYPE_CUT;
        packet->vlan[i] = parse_load16(header) & 0x0fff;
        packet->vlan_tags = i + 1;
        type = parse_load16(header + 2);
    }
    return type;
}

static inline void parse_mark_payload(const struct parse_cursor *c, struct packet *packet)
{
    packet->payload_offset = (uint16_t)(c->at - c->start);
    packet->payload_bytes = c->left;
}

/* Everything behind the IP headers is payload until an L4 header is read. */
static inline void parse_mark_l4(const struct parse_cursor *c, struct packet *packet)
{
    parse_mark_payload(c, packet);
    packet->l4_offset = packet->payload_offset;
}

/* A fragment that does not start with an L4 header. Offset 1 would rewrite a TCP header's flags
 * after a filter saw them (RFC 1858 section 3), so nobody honest sends it. */
static inline void parse_later_fragment(struct parse_cursor *c, struct packet *packet,
                                        uint32_t offset_8bytes)
{
    parse_mark_l4(c, packet);
    if (offset_8bytes == 1 && packet->protocol == PARSE_TCP)
        parse_malformed(packet, REASON_MALFORMED_FRAGMENT);
    else
        packet->kind = PACKET_FRAGMENT;
}

/* Returns true if an L4 header follows; otherwise the packet's kind is settled. */
static inline bool parse_ipv4(struct parse_cursor *c, struct packet *packet)
{
    const uint8_t *ip = parse_take(c, PARSE_IPV4_BYTES);
    uint32_t header_bytes, fragment;
    uint32_t source, destination;

    if (!ip || (ip[0] & 0xf0) != 0x40 || (ip[0] & 0x0f) < PARSE_IPV4_BYTES / 4) {
        parse_malformed(packet, REASON_MALFORMED_IP_HEADER);
        return false;
    }
    header_bytes = (ip[0] & 0x0fu) * 4;
    __builtin_memcpy(&source, PARSE_WORD(ip + 12, 4), sizeof(source));
    __builtin_memcpy(&destination, PARSE_WORD(ip + 16, 4), sizeof(destination));
    packet->source = address_from_v4(source);
    packet->destination = address_from_v4(destination);
    packet->protocol = ip[9];
    packet->ip_bytes = parse_load16(ip + 2);
    if (!parse_take(c, header_bytes - PARSE_IPV4_BYTES)) {
        parse_malformed(packet, REASON_MALFORMED_IP_HEADER);
        return false;
    }
    if (PARSE_RARELY(packet->ip_bytes < header_bytes ||
                     packet->ip_bytes - header_bytes > c->left)) {
        parse_malformed(packet, REASON_MALFORMED_IP_LENGTH);
        return false;
    }
    c->left = packet->ip_bytes - header_bytes;

    fragment = parse_load16(ip + 6) & 0x3fff; /* "more fragments" and the offset */
    if (PARSE_RARELY(fragment)) {
        packet->is_fragment = true;
        packet->fragment_id = parse_load16(ip + 4);
        if (fragment & 0x1fff) {
            parse_later_fragment(c, packet, fragment & 0x1fff);
            return false;
        }
    }
    return true;
}

static inline bool parse_is_extension(uint8_t protocol)
{
    switch (protocol) {
    case PARSE_HOP_BY_HOP:
    case PARSE_ROUTING:
    case PARSE_IPV6_FRAGMENT:
    case PARSE_AH:
    case PARSE_DESTINATION:
    case PARSE_MOBILITY:
    case PARSE_HIP:
    case PARSE_SHIM6:
        return true;
    default:
        return false;
    }
}

/* Steps over the extension header that packet->protocol names. Returns false if it is cut;
 * `fragment_offset` is in units of 8 bytes, 0 for anything but a later fragment. */
static inline bool parse_extension(struct parse_cursor *c, struct packet *packet,
                                   uint32_t *fragment_offset)
{
    const uint8_t *header = parse_take(c, PARSE_EXTENSION_BYTES);
    uint32_t more_bytes, fragment;

    if (!header)
        return false;
    switch (packet->protocol) {
    case PARSE_IPV6_FRAGMENT:
        fragment = parse_load16(header + 2) & 0xfff9; /* offset and "more fragments" */
        packet->is_fragment |= fragment != 0;         /* an atomic fragment (RFC 6946) is whole */
        packet->fragment_id = parse_load32(header + 4);
        *fragment_offset = fragment >> 3;
        more_bytes = 0;
        break;
    case PARSE_AH:
        more_bytes = header[1] * 4u; /* its length counts words, two of them excluded */
        break;
    default:
        more_bytes = header[1] * 8u;
    }
    packet->protocol = header[0];
    return parse_take(c, more_bytes) != NULL;
}

/* Returns true if an L4 header follows; otherwise the packet's kind is settled. */
static inline bool parse_ipv6_chain(struct parse_cursor *c, struct packet *packet)
{
    uint32_t fragment_offset = 0;

    for (int i = 0; i < PARSE_IPV6_CHAIN_MAX; i++) {
        if (!parse_is_extension(packet->protocol))
            return true;
        if (!parse_extension(c, packet, &fragment_offset)) {
            parse_malformed(packet, REASON_MALFORMED_IPV6_CHAIN);
            return false;
        }
        if (fragment_offset) {
            parse_later_fragment(c, packet, fragment_offset);
            return false;
        }
    }
    if (!parse_is_extension(packet->protocol))
        return true;
    parse_mark_l4(c, packet);
    packet->kind = PACKET_DEEP_CHAIN;
    return false;
}

/* Returns true if an L4 header follows; otherwise the packet's kind is settled. */
static inline bool parse_ipv6(struct parse_cursor *c, struct packet *packet)
{
    const uint8_t *ip = parse_take(c, PARSE_IPV6_BYTES);
    uint32_t payload_bytes;

    if (!ip || (ip[0] & 0xf0) != 0x60) {
        parse_malformed(packet, REASON_MALFORMED_IP_HEADER);
        return false;
    }
    __builtin_memcpy(&packet->source, PARSE_WORD(ip + 8, 8), sizeof(packet->source));
    __builtin_memcpy(&packet->destination, PARSE_WORD(ip + 24, 8), sizeof(packet->destination));
    /* An IPv4-mapped address never stands on the wire (RFC 4291 section 2.5.5.2): here it would
     * pass for the IPv4 host, in prefixes and flows alike. */
    if (PARSE_RARELY(address_is_v4(&packet->source) || address_is_v4(&packet->destination))) {
        parse_malformed(packet, REASON_MALFORMED_IP_HEADER);
        return false;
    }
    packet->is_v6 = true;
    packet->protocol = ip[6];
    c->hop_limit = ip[7];
    payload_bytes = parse_load16(ip + 4);
    packet->ip_bytes = PARSE_IPV6_BYTES + payload_bytes;
    if (PARSE_RARELY(payload_bytes > c->left)) {
        parse_malformed(packet, REASON_MALFORMED_IP_LENGTH);
        return false;
    }
    c->left = payload_bytes;
    return parse_ipv6_chain(c, packet);
}

/* Of SYN, FIN, RST and ACK only these occur together: the rest are scans and mistakes. ECN bits,
 * PSH and URG say nothing about that. */
static inline bool parse_tcp_flags_valid(uint8_t flags)
{
    const uint32_t valid = 1u << TCP_SYN | 1u << (TCP_SYN | TCP_ACK) | 1u << TCP_RST |
                           1u << (TCP_RST | TCP_ACK) | 1u << (TCP_FIN | TCP_ACK) | 1u << TCP_ACK;

    return valid >> (flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK)) & 1;
}

static inline void parse_tcp(struct parse_cursor *c, struct packet *packet)
{
    const uint8_t *tcp = parse_take(c, PARSE_TCP_BYTES);
    uint32_t header_bytes;

    if (!tcp) {
        parse_cut_l4(packet, REASON_MALFORMED_TCP_HEADER);
        return;
    }
    header_bytes = (tcp[12] >> 4) * 4u;
    if (PARSE_RARELY(header_bytes < PARSE_TCP_BYTES)) {
        parse_malformed(packet, REASON_MALFORMED_TCP_HEADER);
        return;
    }
    if (!parse_take(c, header_bytes - PARSE_TCP_BYTES)) {
        parse_cut_l4(packet, REASON_MALFORMED_TCP_HEADER);
        return;
    }
    packet->source_port = parse_load16(tcp);
    packet->destination_port = parse_load16(tcp + 2);
    packet->tcp_seq = parse_load32(tcp + 4);
    packet->tcp_ack = parse_load32(tcp + 8);
    packet->tcp_flags = tcp[13];
    parse_mark_payload(c, packet);
    packet->kind = PACKET_TCP;
    if (PARSE_RARELY(!parse_tcp_flags_valid(packet->tcp_flags)))
        parse_malformed(packet, REASON_MALFORMED_TCP_FLAGS);
}

static inline void parse_udp(struct parse_cursor *c, struct packet *packet)
{
    uint32_t left = c->left, udp_bytes;
    const uint8_t *udp = parse_take(c, PARSE_UDP_BYTES);

    if (!udp) {
        parse_cut_l4(packet, REASON_MALFORMED_UDP_LENGTH);
        return;
    }
    /* The length is that of the whole datagram, of which a first fragment has only a part. */
    udp_bytes = parse_load16(udp + 4);
    if (PARSE_RARELY(udp_bytes < PARSE_UDP_BYTES || (udp_bytes > left && !packet->is_fragment))) {
        parse_malformed(packet, REASON_MALFORMED_UDP_LENGTH);
        return;
    }
    packet->source_port = parse_load16(udp);
    packet->destination_port = parse_load16(udp + 2);
    parse_mark_payload(c, packet);
    packet->kind = PACKET_UDP;
}

static inline enum packet_kind parse_icmpv4_kind(uint8_t type)
{
    switch (type) {
    case 3:  /* destination unreachable */
    case 4:  /* source quench, deprecated, but it quotes */
    case 5:  /* redirect */
    case 11: /* time exceeded */
    case 12: /* parameter problem */
        return PACKET_ICMP_ERROR;
    default:
        return PACKET_ICMP;
    }
}

static inline enum packet_kind parse_icmpv6_kind(uint8_t type, uint8_t hop_limit)
{
    if (type < 128)
        return PACKET_ICMP_ERROR;
    if ((type >= 130 && type <= 132) || type == 143) /* multicast listener discovery */
        return PACKET_CONTROL;
    /* Neighbour discovery that a router has forwarded is forged (RFC 4861 section 6.1). */
    if (type >= 133 && type <= 137 && hop_limit == 255)
        return PACKET_CONTROL;
    return PACKET_ICMP;
}

static inline void parse_icmp(struct parse_cursor *c, struct packet *packet)
{
    const uint8_t *icmp = parse_take(c, PARSE_ICMP_BYTES);

    if (!icmp) {
        parse_cut_l4(packet, REASON_MALFORMED_ICMP_HEADER);
        return;
    }
    parse_mark_payload(c, packet);
    packet->kind = packet->is_v6 ? (uint8_t)parse_icmpv6_kind(icmp[0], c->hop_limit)
                                 : (uint8_t)parse_icmpv4_kind(icmp[0]);
}

static inline void parse_l4(struct parse_cursor *c, struct packet *packet)
{
    parse_mark_l4(c, packet);
    if (__builtin_expect(packet->protocol == PARSE_TCP, 1)) {
        parse_tcp(c, packet);
        return;
    }
    if (packet->protocol == PARSE_UDP) {
        parse_udp(c, packet);
        return;
    }
    if (packet->protocol == (packet->is_v6 ? PARSE_ICMPV6 : PARSE_ICMP)) {
        parse_icmp(c, packet);
        return;
    }
    switch (packet->protocol) {
    case PARSE_IGMP:
    case PARSE_EIGRP:
    case PARSE_OSPF:
    case PARSE_PIM:
    case PARSE_VRRP:
        packet->kind = PACKET_CONTROL;
        return;
    default:
        packet->kind = PACKET_OTHER;
    }
}

static inline enum packet_kind parse_frame_until(const uint8_t *frame, const uint8_t *end,
                                                 uint32_t wire_bytes, struct packet *packet)
{
    struct parse_cursor c = {.start = frame, .at = frame, .end = end, .left = wire_bytes};
    bool has_l4 = false;
    uint32_t type;

    *packet = (struct packet){0};
    type = parse_ethernet(&c, packet);
    packet->l3_offset = (uint16_t)(c.at - frame);
    if (__builtin_expect(type == PARSE_TYPE_IPV4, 1))
        has_l4 = parse_ipv4(&c, packet);
    else if (type == PARSE_TYPE_IPV6)
        has_l4 = parse_ipv6(&c, packet);
    else if (type == PARSE_TYPE_CUT)
        parse_malformed(packet, REASON_MALFORMED_ETHERNET);
    else
        packet->kind = parse_is_tag(type) ? PACKET_DEEP_VLAN : PACKET_NON_IP;
    if (has_l4)
        parse_l4(&c, packet);
    return packet->kind;
}

static inline enum packet_kind parse_frame(const uint8_t *frame, uint32_t length,
                                           uint32_t wire_bytes, struct packet *packet)
{
    return parse_frame_until(frame, frame + length, wire_bytes, packet);
}

#endif
