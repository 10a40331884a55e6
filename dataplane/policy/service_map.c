/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/service_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct span {
    struct address address;
    uint8_t protocol;
    uint16_t first, last;
    uint32_t service;
};

struct service_map {
    uint32_t n;
    struct span spans[];
};

static int place_compare(const struct span *span, const struct address *address, uint8_t protocol)
{
    int order = memcmp(span->address.bytes, address->bytes, sizeof(address->bytes));

    return order ? order : (int)span->protocol - (int)protocol;
}

static int span_compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    int order = place_compare(a, &b->address, b->protocol);

    return order ? order : (int)a->first - (int)b->first;
}

static bool spans_overlap(const struct span *before, const struct span *after)
{
    return place_compare(before, &after->address, after->protocol) == 0 &&
           before->last >= after->first;
}

static void add_spans(struct service_map *map, const struct policy_service *service, uint32_t index)
{
    for (uint32_t a = 0; a < service->n_addresses; a++)
        for (uint32_t p = 0; p < service->n_ports; p++)
            map->spans[map->n++] = (struct span){.address = service->addresses[a],
                                                 .protocol = (uint8_t)service->protocol,
                                                 .first = service->ports[p].first,
                                                 .last = service->ports[p].last,
                                                 .service = index};
}

int service_map_create(const struct policy_service *services, uint32_t n, struct service_map **out)
{
    struct service_map *map;
    size_t spans = 0;

    for (uint32_t i = 0; i < n; i++)
        spans += (size_t)services[i].n_addresses * services[i].n_ports;
    map = calloc(1, sizeof(*map) + spans * sizeof(map->spans[0]));
    if (!map)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        add_spans(map, &services[i], i);
    qsort(map->spans, map->n, sizeof(map->spans[0]), span_compare);
    for (uint32_t i = 1; i < map->n; i++)
        if (spans_overlap(&map->spans[i - 1], &map->spans[i])) {
            free(map);
            return -EINVAL;
        }
    *out = map;
    return 0;
}

void service_map_free(struct service_map *map)
{
    free(map);
}

/* The last span that starts at or before (address, protocol, port); NULL if there is none. */
static const struct span *span_before(const struct service_map *map, const struct address *address,
                                      uint8_t protocol, uint16_t port)
{
    const struct span wanted = {.address = *address, .protocol = protocol, .first = port};
    uint32_t low = 0, high = map->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (span_compare(&map->spans[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &map->spans[low - 1] : NULL;
}

uint32_t service_map_find(const struct service_map *map, const struct address *address,
                          uint8_t protocol, uint16_t port)
{
    const struct span *span = span_before(map, address, protocol, port);

    if (!span || place_compare(span, address, protocol) != 0 || port > span->last)
        return POLICY_NONE;
    return span->service;
}

bool service_map_names_address(const struct service_map *map, const struct address *address)
{
    const struct span *span = span_before(map, address, UINT8_MAX, UINT16_MAX);

    return span && address_equal(&span->address, address);
}
