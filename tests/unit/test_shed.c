/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/shed.h"

#define S       1000000000ull
#define CLIENTS 65536
#define TENTH   429496729u /* of all hashes */

static void stale_probabilities_decay(void **state)
{
    (void)state;
    assert_int_equal(shed_decay(0x80000000u, 0), 0x80000000u);
    assert_int_equal(shed_decay(0x80000000u, SHED_STALE_NS), 0x80000000u);
    assert_int_equal(shed_decay(0x80000000u, SHED_STALE_NS + S - 1), 0x80000000u);
    assert_int_equal(shed_decay(0x80000000u, SHED_STALE_NS + S), 0x40000000u);
    assert_int_equal(shed_decay(0x80000000u, SHED_STALE_NS + 3 * S), 0x10000000u);
    assert_int_equal(shed_decay(0x80000000u, SHED_STALE_NS + 31 * S), 1);
    assert_int_equal(shed_decay(UINT32_MAX, SHED_STALE_NS + 32 * S), 0);
    assert_int_equal(shed_decay(UINT32_MAX, UINT64_MAX), 0);
    assert_int_equal(shed_decay(0, 0), 0);
}

static void a_hash_is_hit_below_p(void **state)
{
    (void)state;
    assert_false(shed_hits(0, 0));
    assert_true(shed_hits(0, 1));
    assert_false(shed_hits(1, 1));
    assert_true(shed_hits(UINT32_MAX - 1, UINT32_MAX));
}

/* Clients as addresses are: they differ in their low bits alone. */
static unsigned shed_of(uint32_t tenant, uint32_t epoch, uint32_t p)
{
    unsigned n = 0;

    for (uint64_t client = 0; client < CLIENTS; client++)
        n += shed_hits(shed_hash(0x0a010000u + client, tenant, epoch), p);
    return n;
}

/* p * CLIENTS within 4 standard deviations, for every tenth. */
static void the_share_meets_p(void **state)
{
    (void)state;
    for (unsigned tenths = 1; tenths < 10; tenths++) {
        unsigned hit = shed_of(3, 7, tenths * TENTH), expected = CLIENTS / 10 * tenths;

        assert_in_range(hit, expected - 512, expected + 512);
    }
}

/* Chi squared over 64 boxes: mean 63, standard deviation 11.2. Too even is as wrong as too uneven.
 */
static void hashes_are_uniform(void **state)
{
    unsigned boxes[64] = {0}, low[64] = {0};
    uint64_t sum = 0, sum_low = 0;

    (void)state;
    for (uint64_t client = 0; client < CLIENTS; client++) {
        uint32_t hash = shed_hash(client << 32, 1, 1);

        boxes[hash >> 26]++;
        low[hash & 63]++;
    }
    for (unsigned i = 0; i < 64; i++) {
        sum += (uint64_t)boxes[i] * boxes[i];
        sum_low += (uint64_t)low[i] * low[i];
    }
    assert_in_range(sum * 64 / CLIENTS - CLIENTS, 25, 113);
    assert_in_range(sum_low * 64 / CLIENTS - CLIENTS, 25, 113);
}

static void retries_get_the_same_answer(void **state)
{
    uint32_t first = shed_hash(42, 1, 5);

    (void)state;
    for (unsigned retry = 0; retry < 3; retry++)
        assert_int_equal(shed_hash(42, 1, 5), first);
    assert_int_not_equal(shed_hash(42, 1, 6), first);
    assert_int_not_equal(shed_hash(42, 2, 5), first);
    assert_int_not_equal(shed_hash(43, 1, 5), first);
}

/* Half of those whom one draw hits are hit by another: a quarter of all, +- 4 deviations. */
static void tenants_and_epochs_draw_apart(void **state)
{
    static const uint32_t other[][2] = {{2, 1}, {1, 2}, {2, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        unsigned both = 0;

        for (uint64_t client = 0; client < CLIENTS; client++)
            both += shed_hits(shed_hash(client, 1, 1), 1u << 31) &&
                    shed_hits(shed_hash(client, other[i][0], other[i][1]), 1u << 31);
        assert_in_range(both, CLIENTS / 4 - 444, CLIENTS / 4 + 444);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_probabilities_decay),
        cmocka_unit_test(a_hash_is_hit_below_p),
        cmocka_unit_test(the_share_meets_p),
        cmocka_unit_test(hashes_are_uniform),
        cmocka_unit_test(retries_get_the_same_answer),
        cmocka_unit_test(tenants_and_epochs_draw_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
