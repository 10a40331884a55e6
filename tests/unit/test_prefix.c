/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/policy/prefix.h"
#include "tests/unit/core.h"

#define NOBODY 999

/* Shared by all tests: they have at most so many entries. */
static struct prefix_entry entries[160];

static struct prefix_entry entry(const char *network, unsigned bits, uint32_t value)
{
    struct policy_prefix p = core_prefix(network, bits, value);

    return (struct prefix_entry){.network = p.network, .bits = p.bits, .value = value};
}

static struct prefix_table *build(uint32_t n)
{
    struct prefix_table *table;

    assert_int_equal(prefix_table_create(entries, n, NOBODY, &table), 0);
    return table;
}

static uint32_t find(const struct prefix_table *table, const char *text)
{
    struct address a = core_address(text);

    return prefix_table_find(table, &a);
}

static void nobody_in_an_empty_table(void **state)
{
    struct prefix_table *table = build(0);

    (void)state;
    assert_int_equal(find(table, "0.0.0.0"), NOBODY);
    assert_int_equal(find(table, "::"), NOBODY);
    assert_int_equal(find(table, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), NOBODY);
    prefix_table_free(table);
}

static void case_H05_longest_match_in_either_order(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        struct prefix_table *table;

        entries[order] = entry("10.1.2.0", 24, 1);
        entries[!order] = entry("10.1.2.64", 26, 2);
        table = build(2);
        assert_int_equal(find(table, "10.1.1.255"), NOBODY);
        assert_int_equal(find(table, "10.1.2.0"), 1);
        assert_int_equal(find(table, "10.1.2.63"), 1);
        assert_int_equal(find(table, "10.1.2.64"), 2);
        assert_int_equal(find(table, "10.1.2.127"), 2);
        assert_int_equal(find(table, "10.1.2.128"), 1);
        assert_int_equal(find(table, "10.1.2.255"), 1);
        assert_int_equal(find(table, "10.1.3.0"), NOBODY);
        prefix_table_free(table);
    }
}

static void case_H05_same_network_once_masked(void **state)
{
    struct prefix_table *table = NULL;

    (void)state;
    entries[0] = entry("10.0.0.0", 8, 1);
    entries[1] = entry("10.161.0.0", 8, 2);
    assert_int_equal(prefix_table_create(entries, 2, NOBODY, &table), -EINVAL);
    /* The same tenant twice is a mistake too. */
    entries[0] = entry("fd00:1::", 32, 1);
    entries[1] = entry("10.0.0.0", 8, 1);
    entries[2] = entry("fd00:1::5", 32, 1);
    assert_int_equal(prefix_table_create(entries, 3, NOBODY, &table), -EINVAL);
    assert_null(table);
    /* One address, two lengths: two networks. */
    entries[0] = entry("10.0.0.0", 8, 1);
    entries[1] = entry("10.0.0.0", 9, 2);
    table = build(2);
    assert_int_equal(find(table, "10.127.255.255"), 2);
    assert_int_equal(find(table, "10.128.0.0"), 1);
    prefix_table_free(table);
}

static void case_H05_host_bits_are_masked(void **state)
{
    struct prefix_table *table;

    (void)state;
    entries[0] = entry("10.161.7.9", 8, 1);
    entries[1] = entry("2001:db8::77", 32, 2);
    table = build(2);
    assert_int_equal(find(table, "9.255.255.255"), NOBODY);
    assert_int_equal(find(table, "10.0.0.0"), 1);
    assert_int_equal(find(table, "10.255.255.255"), 1);
    assert_int_equal(find(table, "11.0.0.0"), NOBODY);
    assert_int_equal(find(table, "2001:db8::"), 2);
    assert_int_equal(find(table, "2001:db9::"), NOBODY);
    prefix_table_free(table);
}

static void case_H05_everything_of_one_version(void **state)
{
    struct prefix_table *table;

    (void)state;
    entries[0] = entry("0.0.0.0", 0, 4);
    table = build(1);
    assert_int_equal(find(table, "0.0.0.0"), 4);
    assert_int_equal(find(table, "255.255.255.255"), 4);
    assert_int_equal(find(table, "::"), NOBODY);
    assert_int_equal(find(table, "::fffe:ffff:ffff"), NOBODY);
    assert_int_equal(find(table, "::1:0:0:0"), NOBODY);
    prefix_table_free(table);

    /* ::/0 holds what no IPv4 prefix does, for IPv4 lies inside of it. */
    entries[0] = entry("::", 0, 6);
    entries[1] = entry("0.0.0.0", 0, 4);
    table = build(2);
    assert_int_equal(find(table, "::"), 6);
    assert_int_equal(find(table, "1.2.3.4"), 4);
    assert_int_equal(find(table, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 6);
    prefix_table_free(table);

    entries[0] = entry("::", 0, 6);
    table = build(1);
    assert_int_equal(find(table, "1.2.3.4"), 6);
    prefix_table_free(table);
}

static void case_H05_single_addresses(void **state)
{
    struct prefix_table *table;

    (void)state;
    entries[0] = entry("10.0.0.7", 32, 1);
    entries[1] = entry("fd00::7", 128, 2);
    entries[2] = entry("255.255.255.255", 32, 3);
    entries[3] = entry("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 128, 4);
    entries[4] = entry("::", 128, 5);
    table = build(5);
    assert_int_equal(find(table, "10.0.0.6"), NOBODY);
    assert_int_equal(find(table, "10.0.0.7"), 1);
    assert_int_equal(find(table, "10.0.0.8"), NOBODY);
    assert_int_equal(find(table, "fd00::6"), NOBODY);
    assert_int_equal(find(table, "fd00::7"), 2);
    assert_int_equal(find(table, "fd00::8"), NOBODY);
    assert_int_equal(find(table, "255.255.255.255"), 3);
    assert_int_equal(find(table, "255.255.255.254"), NOBODY);
    assert_int_equal(find(table, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 4);
    assert_int_equal(find(table, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"), NOBODY);
    assert_int_equal(find(table, "::"), 5);
    assert_int_equal(find(table, "::1"), NOBODY);
    prefix_table_free(table);
}

static void too_long_is_rejected(void **state)
{
    struct prefix_table *table;

    (void)state;
    entries[0] = entry("fd00::", 129, 1);
    assert_int_equal(prefix_table_create(entries, 1, NOBODY, &table), -EINVAL);
}

/* Every length over one address, at the low end, the high end and in the middle of the space. */
static void deepest_nesting(void **state)
{
    static const char *const around[] = {"::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                                         "5555:aaaa:5555:aaaa:5555:aaaa:5555:aaaa"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct prefix_table *table;

        for (unsigned bits = 0; bits <= 128; bits++)
            entries[bits] = entry(around[i], bits, bits);
        table = build(129);
        for (unsigned bits = 0; bits <= 128; bits++) {
            struct address a = core_address(around[i]);

            if (bits < 128) /* differs behind the first `bits` bits */
                a.bytes[bits / 8] ^= (uint8_t)(0x80 >> bits % 8);
            assert_int_equal(prefix_table_find(table, &a), bits);
        }
        prefix_table_free(table);
    }
}

static void mask_by_every_length(void **state)
{
    struct address ones = core_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");

    (void)state;
    for (unsigned bits = 0; bits <= 128; bits++) {
        struct address masked = prefix_mask(&ones, (uint8_t)bits);

        for (unsigned i = 0; i < 128; i++)
            assert_int_equal(masked.bytes[i / 8] >> (7 - i % 8) & 1, i < bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_in_an_empty_table),
        cmocka_unit_test(case_H05_longest_match_in_either_order),
        cmocka_unit_test(case_H05_same_network_once_masked),
        cmocka_unit_test(case_H05_host_bits_are_masked),
        cmocka_unit_test(case_H05_everything_of_one_version),
        cmocka_unit_test(case_H05_single_addresses),
        cmocka_unit_test(too_long_is_rejected),
        cmocka_unit_test(deepest_nesting),
        cmocka_unit_test(mask_by_every_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
