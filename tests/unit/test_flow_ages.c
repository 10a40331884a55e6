/* SPDX-License-Identifier: BSD-3-Clause */
/* The age clock of a flow table, and the sweep that comes by every entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"
#include "tests/unit/flows.h"

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
        cmocka_unit_test(clock_counts_milliseconds_awake),
        cmocka_unit_test(case_E05_clock_steps),
        cmocka_unit_test(case_E05_a_pause_does_not_expire_flows),
        cmocka_unit_test(sweep_visits_each_entry_once_a_round),
        cmocka_unit_test(visitor_may_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
