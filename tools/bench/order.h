/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which order flows are visited. All of it is drawn before anything is measured, and a seed
 * gives the same order on every machine.
 *
 * random: every flow once, by a shuffle, and then the same again.
 * zipf: flows come again and again, the one of rank k with a probability proportional to 1/k (Zipf
 * with exponent 1, about what web caches see: Breslau, Cao, Fan, Phillips, Shenker: "Web Caching
 * and Zipf-like Distributions", 1999). Drawn by inversion of the distribution's sums, searched by
 * bisection (Devroye: "Non-Uniform Random Variate Generation", 1986, III.2): additions and
 * comparisons alone, so there is no rounding of a libm to differ between machines.
 */
#ifndef SLUICE_BENCH_ORDER_H
#define SLUICE_BENCH_ORDER_H

#include <stdint.h>

enum order { ORDER_RANDOM, ORDER_ZIPF, ORDERS };

/* Draws of Zipf before they repeat, if there are fewer flows. */
#define ORDER_ZIPF_VISITS (1u << 20)

const char *order_name(enum order order);

/* Flows 0 to `flows` - 1 by number; to be freed by the caller. NULL when memory is short. */
uint32_t *order_create(uint32_t flows);

/* The same flows in (another) random order. */
void order_shuffle(uint32_t *order, uint32_t flows, uint64_t seed);

/* `visits` draws of `ranks`, a flow for each rank from the most frequent one on; as order_create().
 */
uint32_t *order_draw_zipf(const uint32_t *ranks, uint32_t flows, uint32_t visits, uint64_t seed);

#endif
