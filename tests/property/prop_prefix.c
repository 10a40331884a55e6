/* SPDX-License-Identifier: BSD-3-Clause */
/* Longest-prefix match against a comparison with every prefix, bit by bit. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/policy/prefix.h"
#include "tests/property/random.h"
#include "tests/unit/core.h"

#define TABLES       100
#define ENTRIES_MAX  300
#define LOOKUPS_EACH 1000
#define NOBODY       UINT32_MAX

static bool bit_of(const struct address *a, unsigned i)
{
    return a->bytes[i / 8] >> (7 - i % 8) & 1;
}

static bool covers(const struct prefix_entry *e, const struct address *a)
{
    for (unsigned i = 0; i < e->bits; i++)
        if (bit_of(&e->network, i) != bit_of(a, i))
            return false;
    return true;
}

static uint32_t find_by_looking_at_all(const struct prefix_entry *entries, uint32_t n,
                                       const struct address *a)
{
    const struct prefix_entry *best = NULL;

    for (uint32_t i = 0; i < n; i++)
        if (covers(&entries[i], a) && (!best || entries[i].bits > best->bits))
            best = &entries[i];
    return best ? best->value : NOBODY;
}

static struct address random_address(uint64_t *seed, bool v4)
{
    struct address a;

    if (v4)
        return address_from_v4((uint32_t)random_u64(seed));
    a.halves[0] = random_u64(seed);
    a.halves[1] = random_u64(seed);
    return a;
}

/* Near `a`: the same up to a random bit, then anything. */
static struct address random_neighbour(uint64_t *seed, const struct address *a, unsigned from)
{
    struct address b = *a;

    for (unsigned i = from + (unsigned)random_below(seed, 128 - from); i < 128; i++)
        if (random_u64(seed) & 1)
            b.bytes[i / 8] ^= (uint8_t)(0x80 >> i % 8);
    return b;
}

/* New prefixes, half of them inside or around one that is there. Duplicates are left out. Every
 * other table has nothing but IPv4. */
static uint32_t random_entries(uint64_t *seed, struct prefix_entry *entries, uint32_t wanted)
{
    bool only_v4 = *seed & 1;
    uint32_t n = 0;

    for (uint32_t k = 0; k < wanted; k++) {
        bool v4 = random_below(seed, 2) || only_v4;
        unsigned from = v4 ? ADDRESS_V4_PREFIX_BITS : 0;
        struct prefix_entry e = {.network = random_address(seed, v4), .value = k % 17};
        bool known = false;

        if (n && random_below(seed, 2)) {
            e.network = entries[random_below(seed, n)].network;
            from = address_is_v4(&e.network) ? ADDRESS_V4_PREFIX_BITS : 0;
            e.network = random_neighbour(seed, &e.network, from);
        }
        e.bits = (uint8_t)(from + random_below(seed, 129 - from));
        for (uint32_t i = 0; i < n; i++)
            known |= entries[i].bits == e.bits && covers(&entries[i], &e.network);
        if (!known)
            entries[n++] = e;
    }
    return n;
}

/* Anywhere, near a prefix, or one step beyond either end of it. */
static struct address random_probe(uint64_t *seed, const struct prefix_entry *entries, uint32_t n)
{
    const struct prefix_entry *e = &entries[random_below(seed, n)];
    struct address a = prefix_mask(&e->network, e->bits);
    unsigned way = (unsigned)random_below(seed, 8);

    if (way == 0)
        return random_address(seed, random_below(seed, 2));
    if (way < 4)
        return random_neighbour(seed, &e->network, address_is_v4(&e->network) ? 96 : 0);
    if (way & 1) /* the last address of it */
        for (unsigned i = e->bits; i < 128; i++)
            a.bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
    if (way & 2) { /* one beyond */
        uint8_t step = way & 1 ? 1 : 0xff, carry = way & 1 ? 0x00 : 0xff;

        for (int i = 15; i >= 0; i--)
            if ((a.bytes[i] = (uint8_t)(a.bytes[i] + step)) != carry)
                break;
    }
    return a;
}

static void finds_the_longest_prefix(void **state)
{
    static struct prefix_entry entries[ENTRIES_MAX], sorted[ENTRIES_MAX];
    uint64_t lookups = 0, found = 0;

    (void)state;
    for (uint64_t t = 0; t < TABLES; t++) {
        uint64_t seed = t;
        uint32_t n = random_entries(&seed, entries, 1 + t * ENTRIES_MAX / TABLES);
        struct prefix_table *table;

        memcpy(sorted, entries, sizeof(entries));
        assert_int_equal(prefix_table_create(sorted, n, NOBODY, &table), 0);
        for (unsigned k = 0; k < LOOKUPS_EACH; k++, lookups++) {
            struct address a = random_probe(&seed, entries, n);
            uint32_t expected = find_by_looking_at_all(entries, n, &a);

            if (prefix_table_find(table, &a) != expected)
                fail_msg("table %" PRIu64 ", lookup %u: not %" PRIu32, t, k, expected);
            found += expected != NOBODY;
        }
        prefix_table_free(table);
    }
    assert_int_equal(lookups, 100000);
    assert_in_range(found, lookups / 2, lookups - lookups / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_longest_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
