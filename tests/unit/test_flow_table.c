/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"
#include "tests/unit/flows.h"

static void new_entry_is_clean(void **state)
{
    struct flow_table *table = flows_start(16);
    struct flow_key key = flows_key(5);

    (void)state;
    assert_int_equal(flow_table_max(table), 16);
    assert_null(flows_find(table, 5));
    for (unsigned round = 0; round < 3; round++) {
        struct flow *flow = flows_insert(table, 5);

        assert_ptr_equal(flows_find(table, 5), flow);
        assert_null(flows_find(table, 6));
        assert_memory_equal(&flow->key, &key, sizeof(key));
        assert_int_equal(flow->state, FLOW_OPENING);
        assert_int_equal(flow->flags, 0);
        assert_int_equal(flow->service, FLOW_NO_SERVICE);
        assert_int_equal(flow->tenant, 0);
        assert_int_equal(flow->heard_ms, 0);
        assert_int_equal(flow_table_used(table), 1);
        flow->flags = FLOW_HAS_SLOT | FLOW_HAS_FIN_INSIDE; /* must not shine through later */
        flow->service = 3;
        flow->tenant = 4;
        flow->heard_ms = 5;
        flow_remove(table, flow);
        assert_null(flows_find(table, 5));
        assert_int_equal(flow_table_used(table), 0);
    }
    free(table);
}

/* Ten million flows of one worker take less than 1.6 GB: an entry line and four bytes of free list
 * each, 2^22 index lines, two lines for the table itself and one for the entry that is none. */
static void memory_of_ten_million_flows(void **state)
{
    (void)state;
    assert_int_equal(flow_table_bytes(10000000), 948435648);
    assert_int_equal(flow_table_bytes(1), 388);
}

/* Every field of a key counts; and the outside is not the inside. */
static void keys_differ_in_any_field(void **state)
{
    struct flow_table *table = flows_start(64);
    struct flow_key keys[8];

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        keys[i] = flows_key(1);
    keys[1].outside_port++;
    keys[2].inside_port++;
    keys[3].tags = 17u << 24;
    keys[4].tags |= 7;
    keys[5].tags |= 7 << 12;
    keys[6].outside.bytes[0] = 1;
    keys[7].inside = keys[0].outside;
    keys[7].outside = keys[0].inside;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t hash = flow_hash(table, &keys[i]);

        assert_null(flow_find(table, &keys[i], hash));
        flow_insert(table, &keys[i], hash)->tenant = i;
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(flow_find(table, &keys[i], flow_hash(table, &keys[i]))->tenant, i);
        /* The full key decides, not the hash: here another key comes with the same one. */
        assert_null(flow_find(table, &keys[(i + 1) % 8], flow_hash(table, &keys[i])));
    }
    free(table);
}

static void both_directions_are_one_flow(void **state)
{
    struct flow_table *table = flows_start(16);
    const struct packet in = {.source = core_address("10.1.0.5"),
                              .destination = core_address("10.9.0.10"),
                              .source_port = 40000,
                              .destination_port = 80,
                              .vlan = {7, 9},
                              .vlan_tags = 2,
                              .protocol = PROTOCOL_TCP,
                              .kind = PACKET_TCP};
    struct packet out = in;
    struct flow_key there = flow_key_of(&in, DIRECTION_IN), back;

    (void)state;
    out.source = in.destination;
    out.destination = in.source;
    out.source_port = in.destination_port;
    out.destination_port = in.source_port;
    back = flow_key_of(&out, DIRECTION_OUT);
    assert_memory_equal(&there, &back, sizeof(there));
    assert_true(flow_hash(table, &there) == flow_hash(table, &back));
    assert_int_equal(there.tags, 6u << 24 | 9u << 12 | 7u);
    assert_int_equal(there.outside_port, 40000);

    /* A connection the inside opens over the same addresses is another one. */
    back = flow_key_of(&in, DIRECTION_OUT);
    assert_memory_not_equal(&there, &back, sizeof(there));
    free(table);
}

static void seed_decides_the_hash(void **state)
{
    const uint64_t other[4] = {1, 2, 3, 4};
    void *memory = core_memory(flow_table_bytes(16));
    struct flow_table *a = flows_start(16), *b = flow_table_init(memory, 16, other);
    unsigned same = 0;

    (void)state;
    for (uint32_t n = 0; n < 1000; n++) {
        struct flow_key key = flows_key(n);

        same += (flow_hash(a, &key) & 0xff) == (flow_hash(b, &key) & 0xff);
    }
    assert_true(same < 30); /* 4 are expected */
    free(a);
    free(b);
}

/* A table of one entry and two lines, and one of a line's length: the first keys displace others.
 */
static void smallest_tables(void **state)
{
    (void)state;
    for (uint32_t max = 1; max <= 2 * FLOW_WAYS; max++) {
        struct flow_table *table = flows_start(max);
        uint32_t inserted = 0;

        for (uint32_t n = 0; n < 100; n++) {
            bool room = flows_room(table, n);
            struct flow *flow = flows_insert(table, n);

            assert_int_equal(room, flow != NULL);
            inserted += flow != NULL;
        }
        assert_int_equal(flow_table_used(table), inserted);
        /* Both lines are candidates of every key, and each has FLOW_WAYS places. */
        if (max <= 2 * 5)
            assert_int_equal(inserted, max);
        for (uint32_t n = 0; n < 100; n++) {
            struct flow *flow = flows_find(table, n);

            if (flow) {
                flow_remove(table, flow);
                inserted--;
            }
            assert_null(flows_find(table, n));
        }
        assert_int_equal(inserted, 0);
        assert_int_equal(flow_table_used(table), 0);
        free(table);
    }
}

/* The next key at or behind `n` whose hash ends in three zeros: its first line is that of the
 * others, in a table of eight lines. */
static uint32_t next_colliding(const struct flow_table *table, uint32_t n)
{
    struct flow_key key = flows_key(n);

    while (flow_hash(table, &key) & 7)
        key = flows_key(++n);
    return n;
}

/* Sixteen flows of one first line, so half of them live in their second. Often enough to pass the
 * range of a 16-bit count of them. */
static void displaced_flows_are_found(void **state)
{
    struct flow_table *table = flows_start(16);
    struct flow *flows[16];
    uint32_t keys[16], n = 0;

    (void)state;
    for (unsigned round = 0; round < 8500; round++) {
        for (uint32_t i = 0; i < 16; i++, n++) {
            n = keys[i] = next_colliding(table, n);
            flows[i] = flows_insert(table, n);
            assert_non_null(flows[i]);
            assert_ptr_equal(flows_find(table, n), flows[i]);
        }
        for (uint32_t gone = 0; gone < 16; gone++) {
            for (uint32_t i = 0; i < 16; i++)
                assert_ptr_equal(flows_find(table, keys[i]), i < gone ? NULL : flows[i]);
            flow_remove(table, flows[gone]);
        }
    }
    free(table);
}

static void case_G01_full_table(void **state)
{
    const uint32_t max = 1024, established = 10, newcomers = 10000;
    struct flow_table *table = flows_start(max);
    struct flow *old[10];
    uint32_t inserted = established, refused = 0;

    (void)state;
    for (uint32_t n = 0; n < established; n++) {
        old[n] = flows_insert(table, n);
        flow_start_established(old[n], &(struct packet){0}, UNIT_CONNECTION, flow_moment(77, 0));
        old[n]->tenant = n;
    }
    for (uint32_t n = established; n < established + newcomers; n++) {
        bool room = flows_room(table, n);
        struct flow *flow = flows_insert(table, n);

        assert_int_equal(room, flow != NULL);
        inserted += flow != NULL;
        refused += flow == NULL;
    }
    assert_int_equal(inserted, max); /* every entry was given out */
    assert_int_equal(refused, newcomers + established - max);
    assert_int_equal(flow_table_used(table), max);
    for (uint32_t n = 0; n < established; n++) {
        assert_ptr_equal(flows_find(table, n), old[n]);
        assert_in_range(flow_index(table, old[n]), 1, max);
        assert_ptr_equal(flow_at(table, flow_index(table, old[n])), old[n]);
        assert_int_equal(old[n]->state, FLOW_ESTABLISHED);
        assert_int_equal(old[n]->heard_ms, 77);
        assert_int_equal(old[n]->tenant, n);
    }
    /* Space returns, entry by entry. */
    assert_false(flows_room(table, 20000));
    flow_remove(table, old[3]);
    assert_true(flows_room(table, 20000));
    assert_non_null(flows_insert(table, 20000));
    assert_null(flows_insert(table, 20001));
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_entry_is_clean),        cmocka_unit_test(memory_of_ten_million_flows),
        cmocka_unit_test(keys_differ_in_any_field),  cmocka_unit_test(both_directions_are_one_flow),
        cmocka_unit_test(seed_decides_the_hash),     cmocka_unit_test(smallest_tables),
        cmocka_unit_test(displaced_flows_are_found), cmocka_unit_test(case_G01_full_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
