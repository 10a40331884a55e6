/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/prefix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An address as a number, so that comparing and adding one are plain arithmetic. */
typedef __uint128_t point;

#define V4_SPACE ((point)0xffff << 32) /* the first IPv4 address in its mapped form */

/*
 * Everything from firsts[i] up to firsts[i + 1] has values[i]. Ends of ranges that are all IPv4 are
 * kept as 32-bit numbers: four times as many of them share a cache line.
 */
struct prefix_table {
    uint32_t n, missing;
    uint32_t *values;
    uint32_t *firsts_v4; /* of IPv4 addresses, all others are missing; NULL: */
    point *firsts;       /* of all */
};

static point point_of(const struct address *a)
{
    return (point)__builtin_bswap64(a->halves[0]) << 64 | __builtin_bswap64(a->halves[1]);
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

static void push_range(struct prefix_table *table, point first, uint32_t value)
{
    uint32_t last = table->n - 1;

    if (table->n && table->firsts[last] == first) {
        table->values[last] = value; /* nothing lies between: the inner prefix wins */
    } else if (!table->n || table->values[last] != value) {
        table->firsts[table->n] = first;
        table->values[table->n++] = value;
    }
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

    push_range(table, 0, table->missing);
    for (uint32_t i = 0; i <= n; i++) {
        while (depth > 0) {
            point after = point_after(open[depth - 1]);

            if (i < n && (after == 0 || after > point_of(&entries[i].network)))
                break;
            depth--;
            if (after != 0)
                push_range(table, after, depth ? open[depth - 1]->value : table->missing);
        }
        if (i < n) {
            open[depth++] = &entries[i];
            push_range(table, point_of(&entries[i].network), entries[i].value);
        }
    }
}

static bool all_v4(const struct prefix_entry *entries, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (entries[i].bits < ADDRESS_V4_PREFIX_BITS || !address_is_v4(&entries[i].network))
            return false;
    return true;
}

/* In place: what is below the IPv4 addresses goes, so does what is above. */
static void shorten_to_v4(struct prefix_table *table)
{
    uint32_t *firsts = (uint32_t *)table->firsts, n = 0;

    for (uint32_t i = 0; i < table->n; i++) {
        point first = table->firsts[i];

        if (i + 1 < table->n && table->firsts[i + 1] <= V4_SPACE)
            continue;
        if (first > V4_SPACE + UINT32_MAX)
            break;
        table->values[n] = table->values[i];
        firsts[n++] = first > V4_SPACE ? (uint32_t)first : 0;
    }
    table->n = n;
    table->firsts_v4 = firsts;
}

static struct prefix_table *allocate(uint32_t ranges)
{
    struct prefix_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->firsts = calloc(ranges, sizeof(*table->firsts));
    table->values = calloc(ranges, sizeof(*table->values));
    if (table->firsts && table->values)
        return table;
    prefix_table_free(table);
    return NULL;
}

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

    table = allocate(2 * n + 1);
    if (!table)
        return -ENOMEM;
    table->missing = missing;
    build_ranges(table, entries, n);
    if (all_v4(entries, n))
        shorten_to_v4(table);
    *out = table;
    return 0;
}

void prefix_table_free(struct prefix_table *table)
{
    if (!table)
        return;
    free(table->values);
    free(table->firsts);
    free(table);
}

/* -- lookup: the last range whose first address is not above the wanted one -- */

/* Steps by arithmetic: which half an address is in, no branch predictor knows. */
static uint32_t find_v4(const struct prefix_table *table, uint32_t wanted)
{
    const uint32_t *base = table->firsts_v4;

    for (uint32_t n = table->n; n > 1; n -= n / 2)
        base += n / 2 & -(uint32_t)(base[n / 2] <= wanted);
    return table->values[base - table->firsts_v4];
}

static uint32_t find_any(const struct prefix_table *table, point wanted)
{
    const point *base = table->firsts;

    for (uint32_t n = table->n; n > 1; n -= n / 2)
        base += n / 2 & -(uint32_t)(base[n / 2] <= wanted);
    return table->values[base - table->firsts];
}

uint32_t prefix_table_find(const struct prefix_table *table, const struct address *address)
{
    if (!table->firsts_v4)
        return find_any(table, point_of(address));
    return address_is_v4(address) ? find_v4(table, __builtin_bswap32(address->words[3]))
                                  : table->missing;
}
