/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot says just which ranges lie in it, and of a single one its value, so that none is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "control/plane/xdp_slots.h"
#include "dataplane/policy/prefix.h"
#include "tests/unit/core.h"

#define MISSING   0xffffffffu
#define SLOTS_MAX 16

static struct prefix_table *table;
static struct prefix_view view;
static struct xdp_slot slots[SLOTS_MAX];
static unsigned read_ranges;

static void open_table(const struct prefix_entry *from, uint32_t n)
{
    struct prefix_entry entries[SLOTS_MAX];

    for (uint32_t i = 0; i < n; i++)
        entries[i] = from[i];
    assert_int_equal(prefix_table_create(entries, n, MISSING, &table), 0);
    view = prefix_table_view(table);
    assert_in_range(xdp_slots_count(&view), 1, SLOTS_MAX);
    xdp_slots_fill(slots, &view, view.ranges);
}

static const struct xdp_slot *slot_at(const void *unused, uint32_t number)
{
    (void)unused;
    assert_in_range(number, 0, xdp_slots_count(&view) - 1);
    return &slots[number];
}

static const struct prefix_range *range_at(const void *unused, uint32_t number)
{
    (void)unused;
    assert_in_range(number, 0, view.n_ranges - 1);
    read_ranges++;
    return &view.ranges[number];
}

/* Value of an address, and how many ranges were read for it. */
static void assert_finds(const char *text, uint32_t value, unsigned reads)
{
    const struct address address = core_address(text);

    read_ranges = 0;
    assert_int_equal(xdp_slots_search(view.shape, &address, NULL, slot_at, range_at), value);
    assert_int_equal(prefix_table_find(table, &address), value);
    assert_int_equal(read_ranges, reads);
}

static struct prefix_entry entry(const char *network, uint8_t bits, uint32_t value)
{
    return (struct prefix_entry){core_address(network), bits, value};
}

static void a_network_that_fills_its_slot_is_its_value(void **state)
{
    const struct prefix_entry entries[] = {entry("10.0.0.0", 120, 7), entry("10.0.1.0", 120, 5),
                                           entry("10.0.2.0", 120, 7), entry("10.0.3.0", 120, 0)};

    (void)state;
    open_table(entries, 4);
    assert_int_equal(xdp_slots_count(&view), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(slots[i].n, 0);
        assert_int_equal(slots[i].first, entries[i].value);
    }
    assert_finds("10.0.0.0", 7, 0);
    assert_finds("10.0.1.255", 5, 0);
    assert_finds("10.0.3.255", 0, 0);
    assert_finds("10.0.4.0", MISSING, 0);
    assert_finds("9.255.255.255", MISSING, 0);
    prefix_table_free(table);
}

/* 10.0.1.0/24 has a network inside, behind which it goes on, and 10.0.3.0/24 is half of its slot:
 * what begins where the next slot does is none of theirs. */
static void a_slot_of_several_ranges_searches_only_those(void **state)
{
    const struct prefix_entry entries[] = {entry("10.0.0.0", 120, 1), entry("10.0.1.0", 120, 2),
                                           entry("10.0.1.64", 126, 3), entry("10.0.3.128", 121, 4)};

    (void)state;
    open_table(entries, 4);
    assert_int_equal(xdp_slots_count(&view), 4);
    assert_int_equal(slots[0].n, 0);
    assert_int_equal(slots[1].n, 3);
    assert_int_equal(slots[2].n, 0);
    assert_int_equal(slots[2].first, MISSING);
    assert_int_equal(slots[3].n, 2);
    assert_finds("10.0.0.255", 1, 0);
    assert_finds("10.0.1.63", 2, 3);
    assert_finds("10.0.1.64", 3, 3);
    assert_finds("10.0.1.67", 3, 3);
    assert_finds("10.0.1.68", 2, 3);
    assert_finds("10.0.2.1", MISSING, 0);
    assert_finds("10.0.3.127", MISSING, 2);
    assert_finds("10.0.3.128", 4, 2);
    assert_finds("10.0.3.255", 4, 2);
    prefix_table_free(table);
}

static void the_last_slot_may_end_the_space(void **state)
{
    const struct prefix_entry entries[] = {entry("8000::", 1, 1), entry("ffff::", 16, 2)};

    (void)state;
    open_table(entries, 2);
    assert_int_equal(view.shape->shared_bits, 1);
    assert_int_equal(xdp_slots_count(&view), 2);
    assert_finds("8000::1", 1, 0);
    assert_finds("fffe:ffff::", 1, 2);
    assert_finds("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 2, 2);
    assert_finds("7fff::", MISSING, 0);
    prefix_table_free(table);
}

static void no_network_at_all_is_one_slot(void **state)
{
    (void)state;
    open_table(NULL, 0);
    assert_int_equal(xdp_slots_count(&view), 1);
    assert_finds("10.0.0.1", MISSING, 0);
    assert_finds("::", MISSING, 0);
    prefix_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_that_fills_its_slot_is_its_value),
        cmocka_unit_test(a_slot_of_several_ranges_searches_only_those),
        cmocka_unit_test(the_last_slot_may_end_the_space),
        cmocka_unit_test(no_network_at_all_is_one_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
