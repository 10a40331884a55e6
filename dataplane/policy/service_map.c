/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/service_map.h"

#include <errno.h>
#include <stdlib.h>

/* An address as a number, and protocol << 16 | port: where a span starts, or what is wanted. */
struct place {
    __uint128_t address;
    uint32_t port;
};

struct span {
    struct place first;
    uint32_t last; /* protocol << 16 | port, included */
    uint32_t service;
};

struct service_map {
    uint32_t n;
    struct span *spans;
};

static struct place place_of(const struct address *address, uint8_t protocol, uint16_t port)
{
    return (struct place){
        .address = (__uint128_t)address->halves[0] << 64 | address->halves[1],
        .port = (uint32_t)protocol << 16 | port,
    };
}

static bool is_above(const struct place *a, const struct place *b)
{
    return a->address > b->address || (a->address == b->address && a->port > b->port);
}

static int span_compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    return is_above(&a->first, &b->first) - is_above(&b->first, &a->first);
}

static void add_spans(struct service_map *map, const struct policy_service *service, uint32_t index)
{
    uint8_t protocol = (uint8_t)service->protocol;

    for (uint32_t a = 0; a < service->n_addresses; a++)
        for (uint32_t p = 0; p < service->n_ports; p++) {
            const struct policy_ports *ports = &service->ports[p];

            map->spans[map->n++] = (struct span){
                .first = place_of(&service->addresses[a], protocol, ports->first),
                .last = (uint32_t)protocol << 16 | ports->last,
                .service = index,
            };
        }
}

int service_map_create(const struct policy_service *services, uint32_t n, struct service_map **out)
{
    struct service_map *map = calloc(1, sizeof(*map));
    size_t spans = 0;

    for (uint32_t i = 0; i < n; i++)
        spans += (size_t)services[i].n_addresses * services[i].n_ports;
    if (map && spans)
        map->spans = calloc(spans, sizeof(*map->spans));
    if (!map || (spans && !map->spans)) {
        service_map_free(map);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        add_spans(map, &services[i], i);
    if (map->n)
        qsort(map->spans, map->n, sizeof(map->spans[0]), span_compare);
    for (uint32_t i = 1; i < map->n; i++)
        if (map->spans[i].first.address == map->spans[i - 1].first.address &&
            map->spans[i].first.port <= map->spans[i - 1].last) {
            service_map_free(map);
            return -EINVAL;
        }
    *out = map;
    return 0;
}

void service_map_free(struct service_map *map)
{
    if (map)
        free(map->spans);
    free(map);
}

/* The last span that starts at the place or before it; the first one if none does. */
static const struct span *span_before(const struct service_map *map, const struct place *wanted)
{
    const struct span *base = map->spans;

    for (uint32_t n = map->n; n > 1; n -= n / 2)
        if (!is_above(&base[n / 2].first, wanted))
            base += n / 2;
    return base;
}

uint32_t service_map_find(const struct service_map *map, const struct address *address,
                          uint8_t protocol, uint16_t port)
{
    const struct place wanted = place_of(address, protocol, port);
    const struct span *span;

    if (map->n == 0)
        return POLICY_NONE;
    span = span_before(map, &wanted);
    if (span->first.address != wanted.address || span->first.port > wanted.port ||
        span->last < wanted.port)
        return POLICY_NONE;
    return span->service;
}

bool service_map_names_address(const struct service_map *map, const struct address *address)
{
    const struct place wanted = place_of(address, UINT8_MAX, UINT16_MAX);

    return map->n && span_before(map, &wanted)->first.address == wanted.address;
}
