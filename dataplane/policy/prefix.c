/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/prefix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An address as two host-order words, so that comparing and adding one are plain arithmetic. */
struct point {
    uint64_t high, low;
};

/* Everything from `first` up to the next range's first has `value`. */
struct range {
    struct point first;
    uint32_t value;
};

struct prefix_table {
    uint32_t n;
    struct range ranges[];
};

static struct point point_of(const struct address *a)
{
    return (struct point){__builtin_bswap64(a->halves[0]), __builtin_bswap64(a->halves[1])};
}

static int point_compare(struct point a, struct point b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

/* Ones behind the first `bits` bits, as host-order words. */
static struct point host_mask(uint8_t bits)
{
    return (struct point){
        bits >= 64 ? 0 : UINT64_MAX >> bits,
        bits >= 128  ? 0
        : bits <= 64 ? UINT64_MAX
                     : UINT64_MAX >> (bits - 64),
    };
}

struct address prefix_mask(const struct address *a, uint8_t bits)
{
    struct point mask = host_mask(bits);
    struct address masked;

    masked.halves[0] = a->halves[0] & ~__builtin_bswap64(mask.high);
    masked.halves[1] = a->halves[1] & ~__builtin_bswap64(mask.low);
    return masked;
}

/* Outer prefixes before the ones nested in them. */
static int entry_compare(const void *left, const void *right)
{
    const struct prefix_entry *a = left, *b = right;
    int order = point_compare(point_of(&a->network), point_of(&b->network));

    return order ? order : (int)a->bits - (int)b->bits;
}

static void push_range(struct prefix_table *table, struct point first, uint32_t value)
{
    struct range *last = table->n ? &table->ranges[table->n - 1] : NULL;

    if (last && point_compare(last->first, first) == 0)
        last->value = value; /* nothing lies between: the inner prefix wins */
    else if (!last || last->value != value)
        table->ranges[table->n++] = (struct range){first, value};
}

/* The first address behind a prefix; false where the prefix reaches the end of the space. */
static bool point_after(const struct prefix_entry *e, struct point *after)
{
    struct point mask = host_mask(e->bits), first = point_of(&e->network);

    after->low = (first.low | mask.low) + 1;
    after->high = (first.high | mask.high) + (after->low == 0);
    return after->high != 0 || after->low != 0;
}

/*
 * Sweeps over the sorted prefixes with a stack of those that are open. Nested prefixes form a
 * chain, so the stack is at most 129 deep.
 */
static void build_ranges(struct prefix_table *table, const struct prefix_entry *entries, uint32_t n,
                         uint32_t missing)
{
    const struct prefix_entry *open[129];
    unsigned depth = 0;
    struct point after;

    push_range(table, (struct point){0, 0}, missing);
    for (uint32_t i = 0; i <= n; i++) {
        while (depth > 0) {
            bool ends = point_after(open[depth - 1], &after);

            if (i < n && (!ends || point_compare(after, point_of(&entries[i].network)) > 0))
                break;
            depth--;
            if (ends)
                push_range(table, after, depth ? open[depth - 1]->value : missing);
        }
        if (i < n) {
            open[depth++] = &entries[i];
            push_range(table, point_of(&entries[i].network), entries[i].value);
        }
    }
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

    table = calloc(1, sizeof(*table) + (2 * (size_t)n + 1) * sizeof(table->ranges[0]));
    if (!table)
        return -ENOMEM;
    build_ranges(table, entries, n, missing);
    *out = table;
    return 0;
}

void prefix_table_free(struct prefix_table *table)
{
    free(table);
}

uint32_t prefix_table_find(const struct prefix_table *table, const struct address *address)
{
    struct point wanted = point_of(address);
    const struct range *base = table->ranges;
    uint32_t n = table->n;

    /* The last range whose first address is not above the wanted one; ranges[0] starts at zero. */
    while (n > 1) {
        uint32_t half = n / 2;

        if (point_compare(base[half].first, wanted) <= 0)
            base += half;
        n -= half;
    }
    return base->value;
}
