/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes of tenants, addresses that are looked up in them, and what must be found: worked out
 * beforehand by DPDK's binary tree of routes (rte_rib6), which none of the measured tables shares.
 */
#ifndef SLUICE_BENCH_SOURCES_H
#define SLUICE_BENCH_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/policy.h"

/* Whoever no prefix names. */
#define SOURCES_DEFAULT_TENANT 0

enum sources_shape {
    SOURCES_V4_24,    /* IPv4 /24s, one beside the other, as in the journeys */
    SOURCES_V4_MIXED, /* IPv4 /8 to /32, scattered, some within others; of eight sources one is
                         anybody */
    SOURCES_V6_MIXED, /* the same in IPv6, /32 to /128 */
};

struct sources {
    struct policy_prefix *prefixes; /* prefix i is tenant i's */
    struct address *addresses;      /* of flow i, in the prefix i % n_prefixes */
    uint32_t *tenants;              /* of flow i */
    uint32_t n_prefixes, n_flows;
};

/* False when memory is short; sources_free() what is there. */
bool sources_create(struct sources *sources, enum sources_shape shape, uint32_t n_prefixes,
                    uint32_t n_flows, uint64_t seed);
void sources_free(struct sources *sources);

#endif
