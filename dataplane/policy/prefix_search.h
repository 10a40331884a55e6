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

/* Element of the array of ranges, counted from its very start; NULL only where a number is out of
 * range. */
typedef const struct prefix_range *prefix_range_fn(const void *arrays, uint32_t number);

/* An address as the searches want it: halves in host byte order. */
struct prefix_point {
    uint64_t high, low;
};

static inline struct prefix_point prefix_point_of(const struct address *address)
{
    return (struct prefix_point){__builtin_bswap64(address->halves[0]),
                                 __builtin_bswap64(address->halves[1])};
}

/* The 64 bits of an address behind its first `bits`, 0 .. 127. */
static inline uint64_t prefix_bits_behind(struct prefix_point at, uint32_t bits)
{
    if (bits >= 64)
        return at.low << (bits - 64);
    return bits ? at.high << bits | at.low >> (64 - bits) : at.high;
}

/* Are the bits that all prefixes share those of this address, too? If not it is in none. */
static inline bool prefix_is_shared(const struct prefix_shape *shape, struct prefix_point at)
{
    uint32_t bits = shape->shared_bits; /* 0 .. 128 */
    uint64_t high = at.high ^ shape->shared_high, low = at.low ^ shape->shared_low;

    if (bits > 64)
        return high == 0 && low >> (128 - bits) == 0;
    return bits == 0 || high >> (64 - bits) == 0;
}

/* The slot of an address that has the shared bits, counted from the table's first. */
static inline uint32_t prefix_slot_of(const struct prefix_shape *shape, struct prefix_point at)
{
    return (uint32_t)(prefix_bits_behind(at, shape->shared_bits & 127) >> 1 >>
                      (63 - (shape->index_bits & 63))); /* a shift by 64 is none */
}

/* Whether it begins at the address or before. As one number: two comparisons would be a branch that
 * nobody can predict. */
static inline bool prefix_begins_by(const struct prefix_range *range, struct prefix_point at)
{
    typedef __uint128_t number;

    return ((number)range->first_high << 64 | range->first_low) <= ((number)at.high << 64 | at.low);
}

/* Value of the last of `n` ranges, from number `first` of the table on, that begins at the address
 * or before. The first of them does. The function is inlined: BPF has no calls by pointer. */
static inline __attribute__((always_inline)) uint32_t
prefix_search(const struct prefix_shape *shape, struct prefix_point at, uint32_t first, uint32_t n,
              const void *arrays, prefix_range_fn *range_at)
{
    uint32_t base = shape->first_range + first;
    const struct prefix_range *range;

    for (int step = 0; step < PREFIX_STEPS_MAX && n > 1; step++) {
        range = range_at(arrays, base + n / 2);
        if (range && prefix_begins_by(range, at))
            base += n / 2;
        n -= n / 2;
    }
    range = range_at(arrays, base);
    return range ? range->value : shape->missing;
}

#endif
