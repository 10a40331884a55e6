/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Longest-prefix match as a sorted array of disjoint address ranges.
 *
 * Nested prefixes are flattened once, when the table is built: each address then belongs to exactly
 * one range, whose value is that of the longest prefix over it. An index by the bits behind those
 * that all prefixes share says which few ranges to search. n prefixes make at most 2n + 1 ranges of
 * 24 bytes, and an index of at most 8n bytes and never more than 256 KiB. Immutable after building;
 * any thread may read.
 */
#ifndef SLUICE_POLICY_PREFIX_H
#define SLUICE_POLICY_PREFIX_H

#include <stdint.h>

#include "dataplane/policy/address.h"
#include "dataplane/policy/prefix_search.h"

struct prefix_entry {
    struct address network;
    uint8_t bits; /* 0 .. 128 */
    uint32_t value;
};

struct prefix_table;

/* `missing` is returned where no prefix covers an address. Sorts `entries` in place and masks their
 * host bits. 0, -EINVAL (two entries are the same network, bits > 128) or -ENOMEM. */
int prefix_table_create(struct prefix_entry *entries, uint32_t n, uint32_t missing,
                        struct prefix_table **out);
void prefix_table_free(struct prefix_table *table);
uint32_t prefix_table_find(const struct prefix_table *table, const struct address *address);

/* The arrays of a table, for who searches copies of them; they live as long as the table. */
struct prefix_view {
    const struct prefix_shape *shape;
    const uint32_t *slots;
    const struct prefix_range *ranges;
    uint32_t n_slots, n_ranges;
};
struct prefix_view prefix_table_view(const struct prefix_table *table);

/* Zeroes the bits of `a` behind the first `bits`. */
struct address prefix_mask(const struct address *a, uint8_t bits);

#endif
