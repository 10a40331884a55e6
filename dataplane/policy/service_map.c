/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/service_map.h"

#include <errno.h>
#include <stdlib.h>

struct service_map {
    uint32_t n;
    struct service_span *spans;
};

static int span_compare(const void *left, const void *right)
{
    const struct service_span *a = left, *b = right;

    for (int i = 0; i < 2; i++)
        if (a->halves[i] != b->halves[i])
            return a->halves[i] > b->halves[i] ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static void add_spans(struct service_map *map, const struct policy_service *service, uint32_t index)
{
    uint8_t protocol = (uint8_t)service->protocol;

    for (uint32_t a = 0; a < service->n_addresses; a++)
        for (uint32_t p = 0; p < service->n_ports; p++)
            map->spans[map->n++] = (struct service_span){
                .halves = {service->addresses[a].halves[0], service->addresses[a].halves[1]},
                .first = service_place(protocol, service->ports[p].first),
                .last = service_place(protocol, service->ports[p].last),
                .service = index,
            };
}

static bool overlap(const struct service_span *a, const struct service_span *b)
{
    return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1] && b->first <= a->last;
}

int service_map_create(const struct policy_service *services, uint32_t n, struct service_map **out)
{
    struct service_map *map;
    size_t spans = 0;

    for (uint32_t i = 0; i < n; i++)
        spans += (size_t)services[i].n_addresses * services[i].n_ports;
    if (spans > SERVICE_SPANS_MAX)
        return -EINVAL;
    map = calloc(1, sizeof(*map));
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
        if (overlap(&map->spans[i - 1], &map->spans[i])) {
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

static inline const struct service_span *span_at(const void *array, uint32_t number)
{
    return &((const struct service_span *)array)[number];
}

uint32_t service_map_find(const struct service_map *map, const struct address *address,
                          uint8_t protocol, uint16_t port)
{
    uint32_t place = service_place(protocol, port);
    const struct service_span *span =
        service_span_before(0, map->n, address, place, map->spans, span_at);

    return span && service_span_holds(span, address, place) ? span->service : POLICY_NONE;
}

bool service_map_names_address(const struct service_map *map, const struct address *address)
{
    const struct service_span *span =
        service_span_before(0, map->n, address, UINT32_MAX, map->spans, span_at);

    return span && service_span_is_of(span, address);
}

const struct service_span *service_map_spans(const struct service_map *map, uint32_t *n)
{
    *n = map->n;
    return map->spans;
}
