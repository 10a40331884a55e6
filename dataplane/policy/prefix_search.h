/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search of a prefix table (prefix.h), over arrays that the caller knows how to read: those of
 * a policy, or the maps of the XDP program. Compiles for BPF.
 */
#ifndef SLUICE_POLICY_PREFIX_SEARCH_H
#define SLUICE_POLICY_PREFIX_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/address.h"

/* Everything from `first` up to the next range's first has `value`. Halves in host byte order. */
struct prefix_range {
    uint64_t first_high, first_low;
    uint32_t value;
};

#define PREFIX_INDEX_BITS_MAX 16
#define PREFIX_STEPS_MAX      22 /* of a search among 2 * POLICY_PREFIXES_MAX + 1 ranges */

/*
 * Where to search: the bits behind those that all prefixes share choose a slot, which holds the
 * number of the last range that begins at or before the slot's first address. There is one slot
 * more, for the end.
 */
struct prefix_shape {
    uint64_t shared_high, shared_low; /* zero behind the shared bits */
    uint32_t first_slot, first_range; /* of the arrays: where this table's begin */
    uint32_t missing;                 /* value of an address that no prefix covers */
    uint8_t shared_bits, index_bits;
    uint8_t unused[2];
};

/* Elements of the arrays, counted from their very start; NULL only where a number is out of range.
 * Of a slot: what it holds, and behind that what the next one does. */
typedef const uint32_t *prefix_slot_fn(const void *arrays, uint32_t number);
typedef const struct prefix_range *prefix_range_fn(const void *arrays, uint32_t number);

/* The 64 bits of an address behind its first `bits`, 0 .. 127. */
static inline uint64_t prefix_bits_behind(uint64_t high, uint64_t low, uint32_t bits)
{
    if (bits >= 64)
        return low << (bits - 64);
    return bits ? high << bits | low >> (64 - bits) : high;
}

static inline bool prefix_is_shared(const struct prefix_shape *shape, uint64_t high, uint64_t low)
{
    uint32_t bits = shape->shared_bits; /* 0 .. 128 */

    high ^= shape->shared_high;
    low ^= shape->shared_low;
    if (bits > 64)
        return high == 0 && low >> (128 - bits) == 0;
    return bits == 0 || high >> (64 - bits) == 0;
}

/* Whether it begins at the address or before. As one number: two comparisons would be a branch that
 * nobody can predict. */
static inline bool prefix_begins_by(const struct prefix_range *range, uint64_t high, uint64_t low)
{
    typedef __uint128_t point;

    return ((point)range->first_high << 64 | range->first_low) <= ((point)high << 64 | low);
}

/* Value of the longest prefix over `address`; the table's `missing` where there is none. The two
 * functions are inlined: BPF has no calls by pointer. */
static inline __attribute__((always_inline)) uint32_t
prefix_search(const struct prefix_shape *shape, const struct address *address, const void *arrays,
              prefix_slot_fn *slot_at, prefix_range_fn *range_at)
{
    uint64_t high = __builtin_bswap64(address->halves[0]);
    uint64_t low = __builtin_bswap64(address->halves[1]);
    uint32_t slot, base, n;
    const uint32_t *at;
    const struct prefix_range *range;

    if (!prefix_is_shared(shape, high, low))
        return shape->missing;
    slot = (uint32_t)(prefix_bits_behind(high, low, shape->shared_bits & 127) >> 1 >>
                      (63 - (shape->index_bits & 63))); /* a shift by 64 is none */
    at = slot_at(arrays, shape->first_slot + slot);
    if (!at)
        return shape->missing;
    /* The last range whose first address is not above the wanted one; the first starts at zero. */
    base = shape->first_range + at[0];
    n = at[1] - at[0] + 1;
    for (int step = 0; step < PREFIX_STEPS_MAX && n > 1; step++) {
        range = range_at(arrays, base + n / 2);
        if (range && prefix_begins_by(range, high, low))
            base += n / 2;
        n -= n / 2;
    }
    range = range_at(arrays, base);
    return range ? range->value : shape->missing;
}

#endif
