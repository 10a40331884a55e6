/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks, as one number: a keyed hash of the client's address, from whatever port, the same on
 * every worker. Keyed so that nobody outside can choose clients that look alike.
 */
#ifndef SLUICE_WORKER_CLIENT_H
#define SLUICE_WORKER_CLIENT_H

#include <stdint.h>

#include "dataplane/policy/address.h"

struct client_seed {
    uint64_t words[3]; /* random */
};

/* The two halves of a 128-bit product folded: every input bit reaches every output bit. */
static inline uint64_t client_fold(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t client_hash(const struct client_seed *seed, const struct address *client)
{
    return client_fold(
        client_fold(client->halves[0] ^ seed->words[0], client->halves[1] ^ seed->words[1]),
        seed->words[2] | 1);
}

#endif
