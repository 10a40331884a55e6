/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/prefix.h"

#include <errno.h>
#include <stdlib.h>

/* An address as a number, so that comparing and adding one are plain arithmetic. */
typedef __uint128_t point;

struct prefix_table {
    struct prefix_shape shape;
    uint32_t n; /* ranges */
    struct prefix_range *ranges;
    uint32_t *slots;
};

static point point_from(uint64_t high, uint64_t low)
{
    return (point)high << 64 | low;
}

static point point_of(const struct address *a)
{
    return point_from(__builtin_bswap64(a->halves[0]), __builtin_bswap64(a->halves[1]));
}

/* Ones behind the first `bits` bits. */
static point host_mask(uint8_t bits)
{
    return bits < 128 ? ~(point)0 >> bits : 0;
}

struct address prefix_mask(const struct address *a, uint8_t bits)
{
    point mask = host_mask(bits);
    struct address masked;

    masked.halves[0] = a->halves[0] & ~__builtin_bswap64((uint64_t)(mask >> 64));
    masked.halves[1] = a->halves[1] & ~__builtin_bswap64((uint64_t)mask);
    return masked;
}

/* Outer prefixes before the ones nested in them. */
static int entry_compare(const void *left, const void *right)
{
    const struct prefix_entry *a = left, *b = right;
    point first_a = point_of(&a->network), first_b = point_of(&b->network);

    if (first_a != first_b)
        return first_a < first_b ? -1 : 1;
    return (int)a->bits - (int)b->bits;
}

/* -- building -- */

static point first_of(const struct prefix_range *range)
{
    return point_from(range->first_high, range->first_low);
}

static void push_range(struct prefix_table *table, point first, uint32_t value)
{
    struct prefix_range *last = table->n ? &table->ranges[table->n - 1] : NULL;

    if (last && first_of(last) == first)
        last->value = value; /* nothing lies between: the inner prefix wins */
    else if (!last || last->value != value)
        table->ranges[table->n++] = (struct prefix_range){
            .first_high = (uint64_t)(first >> 64), .first_low = (uint64_t)first, .value = value};
}

/* The first address behind a prefix; 0 where the prefix reaches the end of the space. */
static point point_after(const struct prefix_entry *e)
{
    return (point_of(&e->network) | host_mask(e->bits)) + 1;
}

/*
 * Sweeps over the sorted prefixes with a stack of those that are open. Nested prefixes form a
 * chain, so the stack is at most 129 deep.
 */
static void build_ranges(struct prefix_table *table, const struct prefix_entry *entries, uint32_t n)
{
    const struct prefix_entry *open[129];
    unsigned depth = 0;

    push_range(table, 0, table->shape.missing);
    for (uint32_t i = 0; i <= n; i++) {
        while (depth > 0) {
            point after = point_after(open[depth - 1]);

            if (i < n && (after == 0 || after > point_of(&entries[i].network)))
                break;
            depth--;
            if (after != 0)
                push_range(table, after, depth ? open[depth - 1]->value : table->shape.missing);
        }
        if (i < n) {
            open[depth++] = &entries[i];
            push_range(table, point_of(&entries[i].network), entries[i].value);
        }
    }
}

/* -- the index -- */

static uint8_t leading_zeros(point p)
{
    uint64_t high = (uint64_t)(p >> 64), low = (uint64_t)p;

    return (uint8_t)(high ? __builtin_clzll(high) : low ? 64 + __builtin_clzll(low) : 128);
}

/* The leading bits that all networks have in common, as far as every prefix holds them: who differs
 * there is in no prefix. */
static void find_shared_bits(struct prefix_table *table, const struct prefix_entry *entries,
                             uint32_t n)
{
    uint8_t bits = n ? 128 : 0;

    for (uint32_t i = 0; i < n; i++) {
        uint8_t same = leading_zeros(point_of(&entries[0].network) ^ point_of(&entries[i].network));

        bits = same < bits ? same : bits;
        bits = entries[i].bits < bits ? entries[i].bits : bits;
    }
    table->shape.shared_bits = bits;
    if (n) {
        point shared = point_of(&entries[0].network) & ~host_mask(bits);

        table->shape.shared_high = (uint64_t)(shared >> 64);
        table->shape.shared_low = (uint64_t)shared;
    }
}

/* One slot for each prefix or two; a single one where all prefixes share every bit. */
static uint8_t index_bits_for(uint32_t n, uint8_t shared_bits)
{
    uint8_t bits = 0;

    while (bits < PREFIX_INDEX_BITS_MAX && bits + shared_bits < 128 && 1u << bits < n)
        bits++;
    return bits;
}

static void build_index(struct prefix_table *table)
{
    const struct prefix_shape *shape = &table->shape;
    uint32_t at = 0, slots = 1u << shape->index_bits;
    uint8_t bits = (uint8_t)(shape->shared_bits + shape->index_bits);
    point slot = point_from(shape->shared_high, shape->shared_low);

    for (uint32_t i = 0; i < slots; i++) {
        while (at + 1 < table->n && first_of(&table->ranges[at + 1]) <= slot)
            at++;
        table->slots[i] = at;
        slot = (slot | host_mask(bits)) + 1;
    }
    /* Up to the end of the last slot, whose next one may begin at zero again. */
    while (at + 1 < table->n && first_of(&table->ranges[at + 1]) <= slot - 1)
        at++;
    table->slots[slots] = at;
}

static struct prefix_table *allocate(const struct prefix_entry *entries, uint32_t n)
{
    struct prefix_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    find_shared_bits(table, entries, n);
    table->shape.index_bits = index_bits_for(n, table->shape.shared_bits);
    table->ranges = calloc(2 * (size_t)n + 1, sizeof(*table->ranges));
    table->slots = calloc((1u << table->shape.index_bits) + 1, sizeof(*table->slots));
    if (table->ranges && table->slots)
        return table;
    prefix_table_free(table);
    return NULL;
}

/* -- life -- */

int prefix_table_create(struct prefix_entry *entries, uint32_t n, uint32_t missing,
                        struct prefix_table **out)
{
    struct prefix_table *table;

    for (uint32_t i = 0; i < n; i++) {
        if (entries[i].bits > 128)
            return -EINVAL;
        entries[i].network = prefix_mask(&entries[i].network, entries[i].bits);
    }
    if (n)
        qsort(entries, n, sizeof(*entries), entry_compare);
    for (uint32_t i = 1; i < n; i++)
        if (entry_compare(&entries[i - 1], &entries[i]) == 0)
            return -EINVAL;

    table = allocate(entries, n);
    if (!table)
        return -ENOMEM;
    table->shape.missing = missing;
    build_ranges(table, entries, n);
    build_index(table);
    *out = table;
    return 0;
}

void prefix_table_free(struct prefix_table *table)
{
    if (!table)
        return;
    free(table->ranges);
    free(table->slots);
    free(table);
}

/* -- lookup -- */

static inline const struct prefix_range *range_at(const void *arrays, uint32_t number)
{
    const struct prefix_range *range = &((const struct prefix_table *)arrays)->ranges[number];

    if (!range) /* never: the search need not look, as it must where ranges are in maps */
        __builtin_unreachable();
    return range;
}

uint32_t prefix_table_find(const struct prefix_table *table, const struct address *address)
{
    const struct prefix_shape *shape = &table->shape;
    const struct prefix_point at = prefix_point_of(address);
    const uint32_t *slot;

    if (!prefix_is_shared(shape, at))
        return shape->missing;
    slot = &table->slots[prefix_slot_of(shape, at)];
    return prefix_search(shape, at, slot[0], slot[1] - slot[0] + 1, table, range_at);
}

struct prefix_view prefix_table_view(const struct prefix_table *table)
{
    return (struct prefix_view){
        .shape = &table->shape,
        .slots = table->slots,
        .n_slots = (1u << table->shape.index_bits) + 1,
        .ranges = table->ranges,
        .n_ranges = table->n,
    };
}
