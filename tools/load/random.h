/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers of one seed: the same on every machine. */
#ifndef SLUICE_LOAD_RANDOM_H
#define SLUICE_LOAD_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): small, and good enough to space requests. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in (0, 1]: its logarithm is finite. */
static inline double random_positive(uint64_t *state)
{
    return (double)((random_next(state) >> 11) + 1) * 0x1p-53;
}

#endif
