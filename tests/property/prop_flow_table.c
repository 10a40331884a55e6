/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow table against a plain array that says which keys are in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/flows.h"

#define KEYS       3000
#define OPERATIONS 1000000

/* model[n]: the entry of key n, NULL while it is not in the table. */
struct model {
    struct flow *entry[KEYS];
    uint32_t used;
};

static void check_find(struct flow_table *table, const struct model *m, uint32_t n)
{
    struct flow *flow = flows_find(table, n);

    assert_ptr_equal(flow, m->entry[n]);
    if (flow)
        assert_int_equal(flow->tenant, n); /* nobody else wrote to it */
}

#define BURST 32

/* Any keys, some of them twice, and gaps between them: the same answers as one by one. */
static void check_burst(struct flow_table *table, const struct model *m, uint32_t keys,
                        uint64_t *seed)
{
    struct flow_query queries[BURST];
    uint32_t asked[BURST];
    struct flow *const untouched = (struct flow *)queries;
    unsigned n = (unsigned)(random_u64(seed) % (BURST + 1));

    for (unsigned i = 0; i < n; i++) {
        asked[i] = (uint32_t)(random_u64(seed) % keys);
        queries[i] = (struct flow_query){.key = flows_key(asked[i]), .flow = untouched};
        if (random_u64(seed) % 4 == 0)
            queries[i].key.tags = 0;
    }
    flow_find_burst(table, queries, n);
    for (unsigned i = 0; i < n; i++) {
        if (queries[i].key.tags == 0) {
            assert_ptr_equal(queries[i].flow, untouched);
            continue;
        }
        assert_ptr_equal(queries[i].flow, m->entry[asked[i]]);
        assert_true(queries[i].hash == flow_hash(table, &queries[i].key));
    }
}

static void insert_new(struct flow_table *table, struct model *m, uint32_t n)
{
    bool room = flows_room(table, n);
    struct flow *flow = flows_insert(table, n);

    assert_int_equal(room, flow != NULL);
    if (m->used == flow_table_max(table))
        assert_null(flow);
    if (!flow)
        return;
    flow->tenant = n;
    m->entry[n] = flow;
    m->used++;
}

static void remove_old(struct flow_table *table, struct model *m, uint32_t n)
{
    flow_remove(table, m->entry[n]);
    m->entry[n] = NULL;
    m->used--;
}

/* Up to `keys` different keys, so that small tables are full most of the time. */
static void walk(uint32_t max, uint32_t keys, unsigned operations)
{
    static struct model m;
    struct flow_table *table = flows_start(max);
    uint64_t seed = max;

    m = (struct model){0};
    for (unsigned i = 0; i < operations; i++) {
        uint64_t r = random_u64(&seed);
        uint32_t n = (uint32_t)(r >> 8) % keys;

        check_find(table, &m, n);
        /* Phases of growth and of decline. */
        if (!m.entry[n])
            insert_new(table, &m, n);
        else if ((r & 0xff) < (i / 4096 % 2 ? 230 : 40))
            remove_old(table, &m, n);
        assert_int_equal(flow_table_used(table), m.used);
        if (i % 8 == 0)
            check_burst(table, &m, keys, &seed);
    }
    for (uint32_t n = 0; n < keys; n++) {
        check_find(table, &m, n);
        if (m.entry[n])
            remove_old(table, &m, n);
    }
    for (uint32_t n = 0; n < keys; n++)
        check_find(table, &m, n);
    assert_int_equal(flow_table_used(table), 0);
    free(table);
}

static void table_agrees_with_the_model(void **state)
{
    static const uint32_t maxima[] = {1, 5, 10, 20, 40, 80, 100, 640, 1000, 2560};
    const unsigned n = sizeof(maxima) / sizeof(maxima[0]);

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        uint32_t keys = maxima[i] * 2 + 10;

        walk(maxima[i], keys < KEYS ? keys : KEYS, OPERATIONS / n);
    }
}

/* Offers new keys from number `n` until `end`; returns how many found no place. */
static uint32_t fill(struct flow_table *table, uint32_t n, uint32_t end, uint32_t *first_failure)
{
    uint32_t failed = 0;

    for (; n < end; n++)
        if (!flows_insert(table, n)) {
            failed++;
            if (*first_failure == 0)
                *first_failure = n;
        }
    return failed;
}

/* Few keys find both of their lines full, even where the index has no spare lines (5 * 2^k). */
static void few_keys_fail_before_the_table_is_full(void **state)
{
    static const uint32_t maxima[] = {1280, 20480, 65536, 81920, 327680, 1310720};

    (void)state;
    for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
        uint32_t max = maxima[i], first = 0;
        struct flow_table *table = flows_start(max);
        uint32_t failed_early = fill(table, 0, max / 4 * 3, &first);
        uint32_t failed = failed_early + fill(table, max / 4 * 3, max, &first);

        assert_int_equal(flow_table_used(table), max - failed);
        print_message(
            "# %u flows: %u keys failed up to 75 %%, %u up to 100 %%, the first at %.1f %%\n", max,
            failed_early, failed, 100.0 * (first ? first : max) / max);
        assert_true(failed_early <= max / 50000);
        assert_true(failed <= max / 1000);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_agrees_with_the_model),
        cmocka_unit_test(few_keys_fail_before_the_table_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
