/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/order.h"

#include <stdlib.h>

#include "tools/bench/random.h"

const char *order_name(enum order order)
{
    static const char *const names[ORDERS] = {"random", "zipf"};

    return names[order];
}

uint32_t *order_create(uint32_t flows)
{
    uint32_t *order = malloc(flows * sizeof(*order));

    for (uint32_t i = 0; order && i < flows; i++)
        order[i] = i;
    return order;
}

void order_shuffle(uint32_t *order, uint32_t flows, uint64_t seed)
{
    for (uint32_t i = flows - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(random_next(&seed) % (i + 1)), flow = order[i];

        order[i] = order[other];
        order[other] = flow;
    }
}

/* sums[k]: weight of the ranks up to k, counted from 0. */
static double *create_sums(uint32_t ranks)
{
    double *sums = malloc(ranks * sizeof(*sums)), sum = 0;

    for (uint32_t k = 0; sums && k < ranks; k++)
        sums[k] = sum += 1.0 / (k + 1);
    return sums;
}

/* The first rank whose sum is above `at`; the last one if none is. */
static uint32_t find_rank(const double *sums, uint32_t ranks, double at)
{
    uint32_t low = 0, high = ranks - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t *order_draw_zipf(const uint32_t *ranks, uint32_t flows, uint32_t visits, uint64_t seed)
{
    double *sums = create_sums(flows);
    uint32_t *order = sums ? malloc(visits * sizeof(*order)) : NULL;

    for (uint32_t i = 0; order && i < visits; i++) {
        double uniform = (double)(random_next(&seed) >> 11) * 0x1p-53;

        order[i] = ranks[find_rank(sums, flows, uniform * sums[flows - 1])];
    }
    free(sums);
    return order;
}
