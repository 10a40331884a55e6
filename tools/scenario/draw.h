/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers of a run: MT19937 (Matsumoto, Nishimura 1998), seeded and read as Python's
 * `random.seed(n)` and `random.random()` do, so that published SimPy models can be reproduced
 * number by number: init_by_array of the seed's 32-bit digits, u = ((a >> 5) 2^26 + (b >> 6)) /
 * 2^53. The caller owns the state; one thread at a time.
 */
#ifndef SLUICE_SCENARIO_DRAW_H
#define SLUICE_SCENARIO_DRAW_H

#include "tools/scenario/scenario.h"

#define RANDOM_WORDS 624

struct random_state {
    uint32_t words[RANDOM_WORDS];
    uint32_t next;
};
void random_seed(struct random_state *state, uint64_t seed);
double random_uniform(struct random_state *state); /* [0, 1) */

/* -log(1 - u) / rate_per_s, as Python's expovariate. */
double random_exponential(struct random_state *state, double rate_per_s);

/* A time of the distribution. `n` is how often it was drawn before (DRAW_EVERY). */
double draw_time_s(struct random_state *state, const struct draw *draw, uint64_t n);

/* min(max, base x 2^k) x jitter: how long to wait before try k + 2 (k from 0). */
double draw_backoff_s(struct random_state *state, const struct scenario_clients *clients,
                      uint32_t k);

/* When the next of `arrivals` comes after `now_s` (the one before, or its start), INFINITY: never.
 * `n` have come so far. Not for ARRIVE_CLOSED. */
double draw_next_arrival_s(struct random_state *state, const struct scenario_arrivals *arrivals,
                           double now_s, uint64_t n);

/* Index of a kind, of those that `arrivals` names. */
uint32_t draw_kind(struct random_state *state, const struct scenario *scenario,
                   const struct scenario_arrivals *arrivals);

#endif
