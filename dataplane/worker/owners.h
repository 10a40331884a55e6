/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker owns a flow: owner = table[symmetric hash].
 *
 * The hash is Toeplitz (as NICs compute for RSS) under a key that repeats one 16-bit word. Such a
 * key hashes every 16-bit word of the tuple alike, so the hash of a tuple is that of the
 * exclusive-or of its words: equal for both directions, and two table reads here. A NIC given the
 * same key and the same table delivers packets to their owner by itself; where it cannot, they are
 * handed over. The word is drawn at start, so nobody outside can tell who owns which flow. But
 * tuples of one exclusive-or have one owner under any word: who may choose source addresses and
 * ports freely can load a single worker, as with any symmetric hash of a NIC. Source: Woo and Park,
 * "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling" (2012).
 *
 * Immutable after owners_init(); any thread.
 */
#ifndef SLUICE_WORKER_OWNERS_H
#define SLUICE_WORKER_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/packet.h"

#define OWNERS_TABLE     128 /* the smallest redirection table that NICs have */
#define OWNERS_KEY_BYTES 52  /* the longest RSS key that NICs want; shorter ones take its start */

struct owners {
    uint32_t low[256], high[256]; /* hash of a byte in the low and high half of the word */
    uint8_t worker[OWNERS_TABLE];
    uint8_t key[OWNERS_KEY_BYTES];
};

/* `word` must not be 0 or a pattern of period below 16; owners_word_is_good() tells. */
void owners_init(struct owners *owners, uint16_t word, uint32_t workers);
bool owners_word_is_good(uint16_t word);

static inline uint16_t owners_fold(const struct address *source, const struct address *destination,
                                   uint32_t rest)
{
    uint64_t fold =
        source->halves[0] ^ source->halves[1] ^ destination->halves[0] ^ destination->halves[1];

    fold ^= fold >> 32;
    fold ^= fold >> 16;
    /* addresses are in network byte order, the rest is not */
    return (uint16_t)(__builtin_bswap16((uint16_t)fold) ^ rest ^ (rest >> 16));
}

/* As a NIC hashes it: source, destination and ports of TCP and UDP; fragments by their id. */
static inline uint32_t owners_hash(const struct owners *owners, const struct packet *packet)
{
    uint32_t rest = packet->kind == PACKET_FRAGMENT
                        ? packet->fragment_id
                        : (uint32_t)(packet->source_port ^ packet->destination_port);
    uint16_t word = owners_fold(&packet->source, &packet->destination, rest);

    return owners->high[word >> 8] ^ owners->low[word & 0xff];
}

static inline uint32_t owners_find(const struct owners *owners, const struct packet *packet)
{
    return owners->worker[owners_hash(owners, packet) % OWNERS_TABLE];
}

#endif
