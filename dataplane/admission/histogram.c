/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/histogram.h"

#define MILLION 1000000ull

void histogram_sum(struct histogram *dst, const struct histogram *src)
{
    for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++)
        dst->cells[i] += __atomic_load_n(&src->cells[i], __ATOMIC_RELAXED);
}

void histogram_diff(struct histogram *dst, const struct histogram *newer,
                    const struct histogram *older)
{
    for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++)
        dst->cells[i] = newer->cells[i] - older->cells[i];
}

uint64_t histogram_from(const struct histogram *h, uint64_t ns)
{
    uint64_t n = 0;

    for (uint32_t i = histogram_index(ns); i < HISTOGRAM_CELLS; i++)
        n += h->cells[i];
    return n;
}

uint64_t histogram_count(const struct histogram *h)
{
    return histogram_from(h, 0);
}

bool histogram_quantile_ns(const struct histogram *h, uint32_t ppm, uint64_t *ns)
{
    uint64_t n = histogram_count(h), rank, seen = 0;

    if (n == 0)
        return false;
    /* In two parts, as n * ppm may not fit. */
    rank = n / MILLION * ppm + (n % MILLION * ppm + MILLION - 1) / MILLION;
    if (rank == 0)
        rank = 1;
    for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++) {
        seen += h->cells[i];
        if (seen >= rank) {
            *ns = histogram_upper_ns(i);
            return true;
        }
    }
    return false;
}
