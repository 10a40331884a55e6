/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of IPv4 addresses in buckets of four. Whether it holds an address takes no branch that
 * depends on which one it is; a search among ranges has several, and what a processor guesses of
 * them is worth little where sources come at random. Compiles for BPF.
 */
#ifndef SLUICE_BPF_HOSTS_H
#define SLUICE_BPF_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#define HOSTS_PLACES   4
#define HOSTS_FACTOR   0x9e3779b1u
#define HOSTS_BITS_MAX 15 /* 2^15 buckets a bank: two of POLICY_DENIED_MAX in each */

/* Addresses in host byte order, in no order. An empty place holds one of another bucket. */
struct hosts_bucket {
    uint32_t addresses[HOSTS_PLACES];
};

/* Bucket of an address among 2^(32 - shift), 2 .. HOSTS_BITS_MAX bits. Knuth, "The Art of Computer
 * Programming" 3, 6.4: the golden ratio keeps neighbours and even steps apart. */
static inline __attribute__((always_inline)) uint32_t hosts_number(uint32_t address, uint32_t shift)
{
    return address * HOSTS_FACTOR >> (shift & 31);
}

/* Only where two are the same, their difference less one is negative. BPF compares by jumps. */
static inline __attribute__((always_inline)) bool hosts_hold(const struct hosts_bucket *bucket,
                                                             uint32_t address)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < HOSTS_PLACES; i++)
        found |= (uint64_t)(bucket->addresses[i] ^ address) - 1;
    return found >> 63;
}

#endif
