/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/frames.h"

#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/policy/policy.h"

#define CLIENTS_V4    0x0a000000u /* 10.0.0.0 */
#define SERVICE_V4    0xc6120001u /* 198.18.0.1, of the range for benchmarks (RFC 2544) */
#define FIRST_PORT    1024
#define HOSTS         256
#define HEADERS_BYTES 40
#define DATA_BYTES    6

/* Offsets in the frame. */
enum {
    AT_IP_BYTES = 16,
    AT_SOURCE = 26,
    AT_DESTINATION = 30,
    AT_SOURCE_PORT = 34,
    AT_DESTINATION_PORT = 36,
    AT_TCP_FLAGS = 47,
};

static const uint8_t pattern[FRAME_BYTES] = {
    0x02, 0, 0, 0, 0, 0x02,          /* to */
    0x02, 0, 0, 0, 0, 0x01,          /* from */
    0x08, 0,                         /* IPv4 */
    0x45, 0, 0, 0, 0, 1,    0x40, 0, /* length to be set; identification; DF */
    64,   6, 0, 0,                   /* TTL, TCP; nobody on the way verifies the checksum */
    0,    0, 0, 0, 0, 0,    0,    0, /* addresses to be set */
    0,    0, 0, 0,                   /* ports to be set */
    0,    0, 1, 0, 0, 0,    2,    0, /* FRAME_SEQUENCE, acknowledgement */
    0x50, 0, 4, 0, 0, 0,    0,    0, /* no options; flags to be set; window */
    0,    0, 0, 0, 0, 0,             /* data or padding */
};

struct client {
    uint32_t address;
    uint16_t port;
};

static struct client client_of(uint32_t flow, uint32_t tenants)
{
    uint32_t tenant = flow % tenants, nth = flow / tenants;

    return (struct client){CLIENTS_V4 + tenant * HOSTS + nth % HOSTS,
                           (uint16_t)(FIRST_PORT + nth / HOSTS)};
}

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

struct address frame_service(void)
{
    return address_from_v4(__builtin_bswap32(SERVICE_V4));
}

struct address frame_prefix(uint32_t tenant)
{
    return address_from_v4(__builtin_bswap32(CLIENTS_V4 + tenant * HOSTS));
}

uint32_t frame_ip_bytes(uint8_t tcp_flags)
{
    return tcp_flags & TCP_SYN ? HEADERS_BYTES : HEADERS_BYTES + DATA_BYTES;
}

void frame_write(uint8_t *frame, uint32_t flow, uint32_t tenants, struct frame_kind kind)
{
    struct client client = client_of(flow, tenants);

    memcpy(frame, pattern, sizeof(pattern));
    store16(frame + AT_IP_BYTES, (uint16_t)frame_ip_bytes(kind.tcp_flags));
    store32(frame + (kind.from_inside ? AT_DESTINATION : AT_SOURCE), client.address);
    store32(frame + (kind.from_inside ? AT_SOURCE : AT_DESTINATION), SERVICE_V4);
    store16(frame + (kind.from_inside ? AT_DESTINATION_PORT : AT_SOURCE_PORT), client.port);
    store16(frame + (kind.from_inside ? AT_SOURCE_PORT : AT_DESTINATION_PORT), FRAME_SERVICE_PORT);
    frame[AT_TCP_FLAGS] = kind.tcp_flags;
}

struct flow_key frame_flow_key(uint32_t flow, uint32_t tenants)
{
    struct client client = client_of(flow, tenants);

    return (struct flow_key){.outside = address_from_v4(__builtin_bswap32(client.address)),
                             .inside = frame_service(),
                             .outside_port = client.port,
                             .inside_port = FRAME_SERVICE_PORT,
                             .tags = (uint32_t)PROTOCOL_TCP << 24};
}

bool frame_is_swapped(const uint8_t *frame)
{
    return memcmp(frame, pattern + 6, 6) == 0 && memcmp(frame + 6, pattern, 6) == 0;
}

bool frame_is_forwarded(const uint8_t *frame)
{
    return memcmp(frame, pattern, 14) == 0;
}

bool frame_is_reset(const uint8_t *frame)
{
    return frame_is_swapped(frame) && frame[AT_TCP_FLAGS] == (TCP_RST | TCP_ACK);
}
