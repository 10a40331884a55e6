/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks, as one number: a keyed hash of the client's address, from whatever port, the same on
 * every worker and in the kernel. Keyed so that nobody outside can choose clients that look alike.
 * Compiles for BPF, which has no 128-bit product.
 */
#ifndef SLUICE_ADMISSION_CLIENT_H
#define SLUICE_ADMISSION_CLIENT_H

#include <stdint.h>

#include "dataplane/admission/shed.h"
#include "dataplane/policy/address.h"

struct client_seed {
    uint64_t words[2]; /* random */
};

static inline uint64_t client_hash(const struct client_seed *seed, const struct address *client)
{
    uint64_t first = shed_mix(client->halves[0] ^ seed->words[0]);

    return shed_mix((first + client->halves[1]) ^ seed->words[1]);
}

#endif
