/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/packet/refusal.h"

#include <stddef.h>
#include <string.h>

#include "dataplane/packet/checksum.h"

#define MAC_BYTES      6
#define IPV4_BYTES     20
#define IPV6_BYTES     40
#define TCP_BYTES      20
#define PROTOCOL_TCP   6
#define IPV4_DONT_FRAG 0x40

static void store16(uint8_t *at, uint16_t value)
{
    value = __builtin_bswap16(value);
    memcpy(at, &value, sizeof(value));
}

static void store32(uint8_t *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof(value));
}

static void swap_macs(uint8_t *frame)
{
    uint8_t mac[MAC_BYTES];

    memcpy(mac, frame, MAC_BYTES);
    memcpy(frame, frame + MAC_BYTES, MAC_BYTES);
    memcpy(frame + MAC_BYTES, mac, MAC_BYTES);
}

/* Returns the header's size. The identification may stay 0: the packet is atomic (RFC 6864). */
static uint32_t write_ipv4(uint8_t *ip, const struct packet *packet)
{
    uint16_t checksum;

    memset(ip, 0, IPV4_BYTES);
    ip[0] = 0x45;
    store16(ip + 2, IPV4_BYTES + TCP_BYTES);
    ip[6] = IPV4_DONT_FRAG;
    ip[8] = REFUSAL_TTL;
    ip[9] = PROTOCOL_TCP;
    memcpy(ip + 12, &packet->destination.words[3], 4);
    memcpy(ip + 16, &packet->source.words[3], 4);
    checksum = checksum_bytes(ip, IPV4_BYTES);
    memcpy(ip + 10, &checksum, sizeof(checksum));
    return IPV4_BYTES;
}

static uint32_t write_ipv6(uint8_t *ip, const struct packet *packet)
{
    memset(ip, 0, 8);
    ip[0] = 0x60;
    store16(ip + 4, TCP_BYTES);
    ip[6] = PROTOCOL_TCP;
    ip[7] = REFUSAL_TTL;
    memcpy(ip + 8, packet->destination.bytes, 16);
    memcpy(ip + 24, packet->source.bytes, 16);
    return IPV6_BYTES;
}

/* The sequence space that the segment takes: its data, and one each for SYN and FIN. */
static uint32_t segment_length(const struct packet *packet)
{
    return packet->payload_bytes + !!(packet->tcp_flags & TCP_SYN) +
           !!(packet->tcp_flags & TCP_FIN);
}

static void write_tcp(uint8_t *tcp, const struct packet *packet)
{
    uint16_t checksum;

    memset(tcp, 0, TCP_BYTES);
    store16(tcp, packet->destination_port);
    store16(tcp + 2, packet->source_port);
    tcp[12] = TCP_BYTES / 4 << 4;
    if (packet->tcp_flags & TCP_ACK) {
        store32(tcp + 4, packet->tcp_ack);
        tcp[13] = TCP_RST;
    } else {
        store32(tcp + 8, packet->tcp_seq + segment_length(packet));
        tcp[13] = TCP_RST | TCP_ACK;
    }
    checksum = checksum_l4(&packet->destination, &packet->source, PROTOCOL_TCP, tcp, TCP_BYTES);
    memcpy(tcp + 16, &checksum, sizeof(checksum));
}

uint32_t refusal_write_rst(uint8_t *frame, const struct packet *packet)
{
    uint8_t *ip = frame + packet->l3_offset;
    uint32_t ip_header_bytes;

    swap_macs(frame);
    ip_header_bytes = packet->is_v6 ? write_ipv6(ip, packet) : write_ipv4(ip, packet);
    write_tcp(ip + ip_header_bytes, packet);
    return packet->l3_offset + ip_header_bytes + TCP_BYTES;
}
