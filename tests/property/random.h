/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers that are the same in every run: a failure names its seed and can be repeated.
 * splitmix64 (Steele, Lea, Flood 2014).
 */
#ifndef SLUICE_TESTS_RANDOM_H
#define SLUICE_TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_u64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* 0 .. n - 1; the bias of a remainder does not matter here. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_u64(state) % n;
}

#endif
