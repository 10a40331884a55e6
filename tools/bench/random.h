/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers that a seed repeats: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
 * number generators", 2014).
 */
#ifndef SLUICE_BENCH_RANDOM_H
#define SLUICE_BENCH_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
