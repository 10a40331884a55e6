/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * (address, protocol, port) -> service, as one sorted array of disjoint port spans and a binary
 * search. Immutable after building; any thread may read.
 */
#ifndef SLUICE_POLICY_SERVICE_MAP_H
#define SLUICE_POLICY_SERVICE_MAP_H

#include "dataplane/policy/policy.h"
#include "dataplane/policy/service_search.h"

struct service_map;

/* 0, -EINVAL (two services overlap, more than SERVICE_SPANS_MAX spans) or -ENOMEM. */
int service_map_create(const struct policy_service *services, uint32_t n, struct service_map **out);
void service_map_free(struct service_map *map);

/* Index of the service, or POLICY_NONE. */
uint32_t service_map_find(const struct service_map *map, const struct address *address,
                          uint8_t protocol, uint16_t port);
bool service_map_names_address(const struct service_map *map, const struct address *address);

/* The array that is searched, of `*n` spans, whose `service` is an index; lives as long as the map.
 */
const struct service_span *service_map_spans(const struct service_map *map, uint32_t *n);

#endif
