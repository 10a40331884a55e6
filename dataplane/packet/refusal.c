/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/packet/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dataplane/packet/checksum.h"

#define MAC_BYTES      6
#define IPV4_BYTES     20
#define IPV6_BYTES     40
#define TCP_BYTES      20
#define PROTOCOL_TCP   6
#define IPV4_DONT_FRAG 0x40

/* More of the request may come, and is lost; a window of 0 would only have the client probe. */
#define WINDOW  0xffff
#define TCP_PSH 0x08

#define METHOD_MAX 24  /* letters; the longest that is registered has 17 */
#define HTTP_MAX   128 /* bytes of a reply */

/* A refusal costs what these cost: with their sizes known, headers are summed without a loop. */
#define ALWAYS __attribute__((always_inline))

/* A segment without options; its payload is already in place. */
struct segment {
    const struct address *source, *destination;
    uint32_t seq, ack;
    uint16_t source_port, destination_port, window;
    uint8_t flags;
    bool is_v6;
};

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
static inline ALWAYS uint32_t write_ipv4(uint8_t *ip, const struct segment *segment,
                                         uint32_t tcp_bytes)
{
    uint16_t checksum;

    memset(ip, 0, IPV4_BYTES);
    ip[0] = 0x45;
    store16(ip + 2, (uint16_t)(IPV4_BYTES + tcp_bytes));
    ip[6] = IPV4_DONT_FRAG;
    ip[8] = REFUSAL_TTL;
    ip[9] = PROTOCOL_TCP;
    memcpy(ip + 12, &segment->source->words[3], 4);
    memcpy(ip + 16, &segment->destination->words[3], 4);
    checksum = checksum_bytes(ip, IPV4_BYTES);
    memcpy(ip + 10, &checksum, sizeof(checksum));
    return IPV4_BYTES;
}

static uint32_t write_ipv6(uint8_t *ip, const struct segment *segment, uint32_t tcp_bytes)
{
    memset(ip, 0, 8);
    ip[0] = 0x60;
    store16(ip + 4, (uint16_t)tcp_bytes);
    ip[6] = PROTOCOL_TCP;
    ip[7] = REFUSAL_TTL;
    memcpy(ip + 8, segment->source->bytes, 16);
    memcpy(ip + 24, segment->destination->bytes, 16);
    return IPV6_BYTES;
}

static inline ALWAYS void write_tcp(uint8_t *tcp, const struct segment *segment, uint32_t tcp_bytes)
{
    uint16_t checksum;

    memset(tcp, 0, TCP_BYTES);
    store16(tcp, segment->source_port);
    store16(tcp + 2, segment->destination_port);
    store32(tcp + 4, segment->seq);
    store32(tcp + 8, segment->ack);
    tcp[12] = TCP_BYTES / 4 << 4;
    tcp[13] = segment->flags;
    store16(tcp + 14, segment->window);
    checksum = checksum_l4(segment->source, segment->destination, PROTOCOL_TCP, tcp, tcp_bytes);
    memcpy(tcp + 16, &checksum, sizeof(checksum));
}

/* Returns the size of the IP packet. */
static inline ALWAYS uint32_t write_segment(uint8_t *ip, const struct segment *segment,
                                            uint32_t payload_bytes)
{
    uint32_t tcp_bytes = TCP_BYTES + payload_bytes, ip_header_bytes;

    ip_header_bytes =
        segment->is_v6 ? write_ipv6(ip, segment, tcp_bytes) : write_ipv4(ip, segment, tcp_bytes);
    write_tcp(ip + ip_header_bytes, segment, tcp_bytes);
    return ip_header_bytes + tcp_bytes;
}

/* The sequence space that the segment takes: its data, and one each for SYN and FIN. */
static uint32_t segment_length(const struct packet *packet)
{
    return packet->payload_bytes + !!(packet->tcp_flags & TCP_SYN) +
           !!(packet->tcp_flags & TCP_FIN);
}

/* Whom the answer goes to; what it says is added. */
static struct segment answer_to(const struct packet *packet)
{
    return (struct segment){
        .source = &packet->destination,
        .destination = &packet->source,
        .source_port = packet->destination_port,
        .destination_port = packet->source_port,
        .is_v6 = packet->is_v6,
    };
}

uint32_t refusal_write_rst(uint8_t *frame, const struct packet *packet)
{
    struct segment rst = answer_to(packet);

    if (packet->tcp_flags & TCP_ACK) {
        rst.seq = packet->tcp_ack;
        rst.flags = TCP_RST;
    } else {
        rst.ack = packet->tcp_seq + segment_length(packet);
        rst.flags = TCP_RST | TCP_ACK;
    }
    swap_macs(frame);
    return packet->l3_offset + write_segment(frame + packet->l3_offset, &rst, 0);
}

uint32_t refusal_write_reset_inside(uint8_t *out, const uint8_t *frame, const struct packet *packet)
{
    const struct segment rst = {
        .source = &packet->source,
        .destination = &packet->destination,
        .source_port = packet->source_port,
        .destination_port = packet->destination_port,
        .seq = packet->tcp_seq,
        .flags = TCP_RST,
        .is_v6 = packet->is_v6,
    };

    memcpy(out, frame, packet->l3_offset);
    return packet->l3_offset + write_segment(out + packet->l3_offset, &rst, 0);
}

/* -- on plain HTTP -- */

bool refusal_fits_http(const uint8_t *payload, uint32_t bytes)
{
    uint32_t letters = 0;

    while (letters < bytes && letters < METHOD_MAX && payload[letters] >= 'A' &&
           payload[letters] <= 'Z')
        letters++;
    return letters > 0 && letters + 1 < bytes && payload[letters] == ' ' &&
           payload[letters + 1] > ' ' && payload[letters + 1] < 0x7f;
}

static uint32_t append(char *text, uint32_t bytes, const char *more)
{
    size_t n = strlen(more);

    memcpy(text + bytes, more, n);
    return bytes + (uint32_t)n;
}

/* Returns its size, at most HTTP_MAX. */
static uint32_t compose(char *text, enum refusal_status status, uint32_t retry_after_s)
{
    char seconds[] = "000";
    uint32_t n = 0, leading;

    if (retry_after_s > REFUSAL_RETRY_AFTER_MAX_S)
        retry_after_s = REFUSAL_RETRY_AFTER_MAX_S;
    for (; retry_after_s >= 100; retry_after_s -= 100)
        seconds[0]++;
    for (; retry_after_s >= 10; retry_after_s -= 10)
        seconds[1]++;
    seconds[2] = (char)(seconds[2] + retry_after_s);
    leading = seconds[0] != '0' ? 0 : seconds[1] != '0' ? 1 : 2;
    n = append(text, n,
               status == REFUSAL_429 ? "HTTP/1.1 429 Too Many Requests\r\nRetry-After: "
                                     : "HTTP/1.1 503 Service Unavailable\r\nRetry-After: ");
    n = append(text, n, seconds + leading);
    return append(text, n, "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

uint32_t refusal_write_http(uint8_t *frame, uint32_t room_bytes, const struct packet *packet,
                            enum refusal_status status, uint32_t retry_after_s)
{
    struct segment answer = answer_to(packet);
    uint8_t *ip = frame + packet->l3_offset;
    uint32_t headers_bytes =
        packet->l3_offset + (packet->is_v6 ? IPV6_BYTES : IPV4_BYTES) + TCP_BYTES;
    char text[HTTP_MAX];
    uint32_t bytes = compose(text, status, retry_after_s);

    if (headers_bytes + bytes > room_bytes)
        return 0;
    answer.seq = packet->tcp_ack;
    answer.ack = packet->tcp_seq + segment_length(packet);
    answer.flags = TCP_PSH | TCP_FIN | TCP_ACK;
    answer.window = WINDOW;
    swap_macs(frame);
    memcpy(frame + headers_bytes, text, bytes);
    return packet->l3_offset + write_segment(ip, &answer, bytes);
}
