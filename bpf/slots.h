/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the program looks for the longest prefix: the slots of struct prefix_shape, each with the
 * ranges that lie in it. Where that is a single one the slot holds its value, and the range need
 * not be read: with as many networks as slots a source costs one line of the cache. Compiles for
 * BPF.
 */
#ifndef SLUICE_BPF_SLOTS_H
#define SLUICE_BPF_SLOTS_H

#include <stdint.h>

#include "dataplane/policy/prefix_search.h"

/* Eight bytes, as wide as elements of a map are anyway. */
struct xdp_slot {
    uint32_t first; /* of its ranges, counted from the table's first; where n is 0, the value */
    uint32_t n;
};

/* Element of the array of slots, counted from its very start; NULL only where a number is out of
 * range. */
typedef const struct xdp_slot *xdp_slot_fn(const void *arrays, uint32_t number);

/* Value of the longest prefix over `address`; the table's `missing` where there is none. */
static inline __attribute__((always_inline)) uint32_t
xdp_slots_search(const struct prefix_shape *shape, const struct address *address,
                 const void *arrays, xdp_slot_fn *slot_at, prefix_range_fn *range_at)
{
    const struct prefix_point at = prefix_point_of(address);
    const struct xdp_slot *slot;

    if (!prefix_is_shared(shape, at))
        return shape->missing;
    slot = slot_at(arrays, shape->first_slot + prefix_slot_of(shape, at));
    if (!slot)
        return shape->missing;
    return slot->n ? prefix_search(shape, at, slot->first, slot->n, arrays, range_at) : slot->first;
}

#endif
