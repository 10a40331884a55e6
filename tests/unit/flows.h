/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow tables and keys for tests. */
#ifndef SLUICE_TESTS_FLOWS_H
#define SLUICE_TESTS_FLOWS_H

#include "dataplane/flow/flow.h"
#include "tests/unit/core.h"

/* Any fixed seed: a test wants the same table in every run. */
static const uint64_t flows_seed[4] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                       0x082efa98ec4e6c89};

static inline struct flow_table *flows_start(uint32_t max)
{
    return flow_table_init(core_memory(flow_table_bytes(max)), max, flows_seed);
}

/* Client number `n` (24 bits of address, 40 000 ports) of one service. */
static inline struct flow_key flows_key(uint32_t n)
{
    return (struct flow_key){
        .outside = address_from_v4(__builtin_bswap32(0x0a000000 | (n & 0xffffff))),
        .inside = address_from_v4(__builtin_bswap32(0x0a09000a)),
        .outside_port = (uint16_t)(20000 + (n >> 24)),
        .inside_port = 80,
        .tags = 6u << 24,
    };
}

static inline struct flow *flows_insert(struct flow_table *table, uint32_t n)
{
    struct flow_key key = flows_key(n);

    return flow_insert(table, &key, flow_hash(table, &key));
}

static inline struct flow *flows_find(struct flow_table *table, uint32_t n)
{
    struct flow_key key = flows_key(n);

    return flow_find(table, &key, flow_hash(table, &key));
}

static inline bool flows_room(const struct flow_table *table, uint32_t n)
{
    struct flow_key key = flows_key(n);

    return flow_has_room(table, flow_hash(table, &key));
}

#endif
