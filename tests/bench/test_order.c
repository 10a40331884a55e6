/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which sluice-bench visits flows: who comes how often, and the same again by a seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench/order.h"

#define DRAWS 1100000u

static void shuffled_flows_come_once_each(void **state)
{
    uint32_t *order = order_create(1000), came[1000] = {0}, in_place = 0;

    (void)state;
    order_shuffle(order, 1000, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        came[order[i]]++;
        in_place += order[i] == i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(came[i], 1);
    assert_in_range(in_place, 0, 5); /* one is to be expected */
    free(order);
}

/* The order of two is 0 1 or 1 0, by the seed. */
static void seeds_shuffle_differently(void **state)
{
    unsigned swapped = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint32_t order[2] = {0, 1};

        order_shuffle(order, 2, seed);
        swapped += order[0] == 1;
    }
    assert_in_range(swapped, 30, 70);
}

static void count_zipf(const uint32_t *ranks, uint32_t flows, uint32_t *came)
{
    uint32_t *order = order_draw_zipf(ranks, flows, DRAWS, 1);

    assert_non_null(order);
    memset(came, 0, flows * sizeof(*came));
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_in_range(order[i], 0, flows - 1);
        came[order[i]]++;
    }
    free(order);
}

/* 1 : 1/2 : 1/3 is 6 : 3 : 2 of 11; the bounds are four standard deviations. */
static void three_ranks_come_as_six_to_three_to_two(void **state)
{
    const uint32_t ranks[] = {2, 0, 1};
    uint32_t came[3];

    (void)state;
    count_zipf(ranks, 3, came);
    assert_in_range(came[2], 600000 - 2100, 600000 + 2100);
    assert_in_range(came[0], 300000 - 1870, 300000 + 1870);
    assert_in_range(came[1], 200000 - 1620, 200000 + 1620);
}

/* The sum of 1/k up to 10000 is 9.78761: of 1100000 draws 112387 are of the first rank, 1124 of the
 * hundredth; the upper half, whose sum is 0.69310, get 77895. */
static void ten_thousand_ranks_come_by_their_weights(void **state)
{
    static uint32_t came[10000];
    uint32_t *ranks = order_create(10000), upper_half = 0;

    (void)state;
    count_zipf(ranks, 10000, came);
    for (uint32_t k = 5000; k < 10000; k++)
        upper_half += came[k];
    assert_in_range(came[0], 112387 - 1270, 112387 + 1270);
    assert_in_range(came[99], 1124 - 134, 1124 + 134);
    assert_in_range(upper_half, 77895 - 1076, 77895 + 1076);
    free(ranks);
}

static void zipf_of_one_flow_is_that_flow(void **state)
{
    const uint32_t ranks[] = {0};
    uint32_t came[1];

    (void)state;
    count_zipf(ranks, 1, came);
    assert_int_equal(came[0], DRAWS);
}

static void zipf_follows_its_seed(void **state)
{
    uint32_t *ranks = order_create(100);
    uint32_t *one = order_draw_zipf(ranks, 100, 1000, 1);
    uint32_t *again = order_draw_zipf(ranks, 100, 1000, 1);
    uint32_t *other = order_draw_zipf(ranks, 100, 1000, 2);

    (void)state;
    assert_memory_equal(one, again, 1000 * sizeof(*one));
    assert_memory_not_equal(one, other, 1000 * sizeof(*one));
    free(other);
    free(again);
    free(one);
    free(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffled_flows_come_once_each),
        cmocka_unit_test(seeds_shuffle_differently),
        cmocka_unit_test(three_ranks_come_as_six_to_three_to_two),
        cmocka_unit_test(ten_thousand_ranks_come_by_their_weights),
        cmocka_unit_test(zipf_of_one_flow_is_that_flow),
        cmocka_unit_test(zipf_follows_its_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
