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

/* -- the age clock -- */

#define NS_PER_MS 1000000ull

static void clock_counts_milliseconds_awake(void **state)
{
    struct flow_table *table = flows_start(16);
    uint64_t now_ns = 400ull * 86400 * 1000 * NS_PER_MS;

    (void)state;
    assert_int_equal(flow_table_tick(table, now_ns), 0); /* the first only starts it */
    for (unsigned i = 0; i < 10; i++)
        flow_table_tick(table, now_ns += NS_PER_MS / 4);
    assert_int_equal(flow_table_now_ms(table), 2); /* parts of a millisecond are kept */
    assert_int_equal(flow_table_tick(table, now_ns += NS_PER_MS / 2), 3);
    assert_int_equal(flow_table_tick(table, now_ns += 1000 * NS_PER_MS), 1003);
    free(table);
}

static void case_E05_clock_steps(void **state)
{
    struct flow_table *table = flows_start(16);
    uint64_t now_ns = 5000 * NS_PER_MS;

    (void)state;
    flow_table_tick(table, now_ns);
    assert_int_equal(flow_table_tick(table, now_ns + 100 * NS_PER_MS), 100);
    /* Back by 50 us, by an hour: no time passed, and it is not counted twice either. */
    assert_int_equal(flow_table_tick(table, now_ns + 100 * NS_PER_MS - 50000), 100);
    assert_int_equal(flow_table_tick(table, 1), 100);
    assert_int_equal(flow_table_tick(table, now_ns + 101 * NS_PER_MS), 101);
    /* A pause of a minute is one second of age. */
    assert_int_equal(flow_table_tick(table, now_ns + 60101 * NS_PER_MS), 101 + FLOW_TICK_MAX_MS);
    assert_int_equal(flow_table_tick(table, now_ns + 60102 * NS_PER_MS), 102 + FLOW_TICK_MAX_MS);
    free(table);
}

static void expire(struct flow_table *table, struct flow *flow, void *context)
{
    static const struct flow_timeouts timeouts = {3000, 60000, 30000, 2000, 1000, 300000};
    enum outcome outcome;

    (void)context;
    if (flow_expired(flow, &timeouts, flow_table_now_ms(table), &outcome))
        flow_remove(table, flow);
}

static void case_E05_a_pause_does_not_expire_flows(void **state)
{
    struct flow_table *table = flows_start(256);
    uint64_t now_ns = NS_PER_MS;

    (void)state;
    flow_table_tick(table, now_ns);
    for (uint32_t n = 0; n < 256; n++)
        flow_start_established(flows_insert(table, n), &(struct packet){0}, UNIT_CONNECTION,
                               flow_moment(0, 0));
    flow_table_tick(table, now_ns += 3600 * 1000 * NS_PER_MS);
    flow_table_sweep(table, expire, NULL);
    assert_int_equal(flow_table_used(table), 256);
    /* And they do expire when the silence was real. */
    for (unsigned s = 1; s < 60; s++)
        flow_table_tick(table, now_ns += 1000 * NS_PER_MS);
    flow_table_sweep(table, expire, NULL);
    assert_int_equal(flow_table_used(table), 0);
    assert_non_null(flows_insert(table, 1));
    free(table);
}

/* -- the sweep -- */

struct visits {
    uint32_t total;
    uint32_t of[2000]; /* by tenant, which the tests use as a number */
};

static void note_visit(struct flow_table *table, struct flow *flow, void *context)
{
    struct visits *v = context;

    (void)table;
    assert_int_not_equal(flow->state, FLOW_FREE);
    v->total++;
    v->of[flow->tenant]++;
}

/* However often it is called: once for each entry in FLOW_SWEEP_MS, give or take one for the
 * entries at the seam of two rounds. */
static void case_sweep(uint32_t entries, uint32_t step_us)
{
    static struct visits v;
    struct flow_table *table = flows_start(2000);
    const unsigned rounds = 4;
    uint64_t now_ns = NS_PER_MS, end_ns = now_ns + rounds * FLOW_SWEEP_MS * NS_PER_MS;

    v = (struct visits){0};
    flow_table_tick(table, now_ns);
    for (uint32_t i = 0; i < entries; i++)
        flows_insert(table, i)->tenant = i;
    while (now_ns < end_ns) {
        uint32_t before = v.total;

        now_ns = now_ns + step_us * 1000 < end_ns ? now_ns + step_us * 1000 : end_ns;
        flow_table_tick(table, now_ns);
        flow_table_sweep(table, note_visit, &v);
        assert_true(v.total - before <= entries * step_us / 1000 / FLOW_SWEEP_MS + entries / 8 + 1);
    }
    if (v.total != rounds * entries)
        fail_msg("%u entries, a call each %u us: %u visits", entries, step_us, v.total);
    for (uint32_t i = 0; i < entries; i++)
        assert_int_equal(v.of[i], rounds);
    free(table);
}

static void sweep_visits_each_entry_once_a_round(void **state)
{
    static const uint32_t entries[] = {1, 7, 255, 256, 257, 300, 511, 1024, 1777};
    static const uint32_t steps_us[] = {10, 999, 1000, 1500, 7000, 32000};

    (void)state;
    for (size_t e = 0; e < sizeof(entries) / sizeof(entries[0]); e++)
        for (size_t s = 0; s < sizeof(steps_us) / sizeof(steps_us[0]); s++)
            case_sweep(entries[e], steps_us[s]);
}

static void remove_visited(struct flow_table *table, struct flow *flow, void *context)
{
    note_visit(table, flow, context);
    flow_remove(table, flow);
}

static void visitor_may_remove(void **state)
{
    static struct visits v;
    struct flow_table *table = flows_start(500);

    (void)state;
    flow_table_tick(table, NS_PER_MS);
    for (uint32_t i = 0; i < 500; i++)
        flows_insert(table, i)->tenant = i;
    flow_table_tick(table, (1 + FLOW_SWEEP_MS) * NS_PER_MS);
    flow_table_sweep(table, remove_visited, &v);
    assert_int_equal(v.total, 500);
    assert_int_equal(flow_table_used(table), 0);
    /* Nothing is left to visit, and freed entries serve again. */
    flow_table_tick(table, (1 + 2 * FLOW_SWEEP_MS) * NS_PER_MS);
    flow_table_sweep(table, remove_visited, &v);
    assert_int_equal(v.total, 500);
    for (uint32_t i = 0; i < 500; i++)
        assert_non_null(flows_insert(table, 1000 + i));
    assert_null(flows_insert(table, 2000));
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_entry_is_clean),
        cmocka_unit_test(memory_of_ten_million_flows),
        cmocka_unit_test(keys_differ_in_any_field),
        cmocka_unit_test(both_directions_are_one_flow),
        cmocka_unit_test(seed_decides_the_hash),
        cmocka_unit_test(smallest_tables),
        cmocka_unit_test(displaced_flows_are_found),
        cmocka_unit_test(case_G01_full_table),
        cmocka_unit_test(clock_counts_milliseconds_awake),
        cmocka_unit_test(case_E05_clock_steps),
        cmocka_unit_test(case_E05_a_pause_does_not_expire_flows),
        cmocka_unit_test(sweep_visits_each_entry_once_a_round),
        cmocka_unit_test(visitor_may_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
