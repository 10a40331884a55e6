/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shedding by what the control loop said last, with the workers' own hash of a client.
 */
#ifndef SLUICE_BPF_SHEDDING_H
#define SLUICE_BPF_SHEDDING_H

#include "bpf/arrival.h"

/* What a worker would hash, where it hashes the client; where it hashes the attempt, whatever is
 * the same in each repeat of it. */
static __always_inline uint64_t shedding_key(const struct arrival *a, bool by_attempt)
{
    const struct xdp_control *c = table_at(&control, 0);
    const struct packet *p = &a->packet;
    uint64_t key = c ? client_hash(&c->seed, &p->source) : 0;

    if (!by_attempt)
        return key;
    key = shed_mix(key ^ p->destination.halves[0]) ^ p->destination.halves[1];
    key = shed_mix(
        key ^ ((uint64_t)p->source_port << 48 | (uint64_t)p->destination_port << 32 | p->tcp_seq));
    return key;
}

static __always_inline bool shedding_hits(const struct arrival *a, const struct xdp_advice *said,
                                          uint32_t p, uint32_t salt)
{
    uint64_t key = shedding_key(a, said->by_attempt);

    return p && shed_hits(shed_hash(key, a->tenant, said->epoch ^ salt), p);
}

/* p as it has become since it was published. */
static __always_inline uint32_t shedding_left(const struct xdp_advice *said, uint32_t p)
{
    uint64_t now_ns = clock_coarse_ns();

    return shed_decay(p, now_ns > said->stamped_ns ? now_ns - said->stamped_ns : 0);
}

#endif
