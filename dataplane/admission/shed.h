/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shedding as a worker does it: for each attempt, compare a hash with its class's probability.
 *
 * The control thread sets the probabilities (shed_control.h). A probability p is a u32, p * 2^32:
 * 0 sheds nothing, UINT32_MAX all but one hash in 2^32. No random numbers: a client that is shed
 * stays shed for the rest of its epoch, so retries win nothing (the user hash of DAGOR, Zhou et al.
 * 2018). Compiles for BPF.
 */
#ifndef SLUICE_ADMISSION_SHED_H
#define SLUICE_ADMISSION_SHED_H

#include <stdbool.h>
#include <stdint.h>

#define SHED_STALE_NS 500000000ull   /* a probability published longer ago than this decays */
#define SHED_HALVE_NS 1000000000ull  /* and halves each time this passes again */
#define SHED_EPOCH_NS 60000000000ull /* how long a client keeps its answer */
/* Into the epoch: the operator's ramp turns others away than shedding does. */
#define SHED_SALT_TURNED_AWAY 0x5bd1e995u

/*
 * What is left of `p`, published `age_ns` ago: all of it until it is stale, half of it
 * SHED_HALVE_NS later, and so on to 0. So a control thread that has stalled does not go on refusing
 * work that there may be room for; window and wait queue still bound what enters.
 */
static inline uint32_t shed_decay(uint32_t p, uint64_t age_ns)
{
    uint64_t over_ns = age_ns > SHED_STALE_NS ? age_ns - SHED_STALE_NS : 0;

    for (unsigned bit = 0; bit < 32 && over_ns >= SHED_HALVE_NS; bit++) {
        over_ns -= SHED_HALVE_NS;
        p >>= 1;
    }
    return p;
}

static inline bool shed_hits(uint32_t hash, uint32_t p)
{
    return hash < p;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the input moves every other.
 */
static inline uint64_t shed_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/*
 * Hash of one client (`client_hash`, of its address, need not be a good hash), as `tenant` sees it
 * during `epoch` (time / SHED_EPOCH_NS). Another tenant or epoch draws anew. Where few clients make
 * the load (shed_control.h: by_attempt) the caller gives the hash of the attempt in their place, so
 * that the share that is shed meets p; retries of that attempt still get its answer.
 */
static inline uint32_t shed_hash(uint64_t client_hash, uint32_t tenant, uint32_t epoch)
{
    uint64_t draw = shed_mix(((uint64_t)tenant << 32 | epoch) + 0x9e3779b97f4a7c15ull);

    return shed_mix(client_hash ^ draw) >> 32;
}

#endif
