/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/owners.h"

static uint32_t rotate_left(uint32_t value, unsigned bits)
{
    return bits ? value << bits | value >> (32 - bits) : value;
}

/* Toeplitz of one 16-bit word: the key's window moves a bit for each bit of the word, and comes
 * round after 16. */
static uint32_t toeplitz(uint16_t key, uint16_t word)
{
    uint32_t window = (uint32_t)key << 16 | key, hash = 0;

    for (unsigned bit = 0; bit < 16; bit++)
        if (word & (0x8000u >> bit))
            hash ^= rotate_left(window, bit);
    return hash;
}

/* The table index comes from seven bits; each bit of the word should reach them in its own way. */
bool owners_word_is_good(uint16_t word)
{
    bool seen[OWNERS_TABLE] = {false};
    unsigned different = 0;

    for (unsigned bit = 0; bit < 16; bit++) {
        uint32_t index = toeplitz(word, (uint16_t)(1u << bit)) % OWNERS_TABLE;

        different += index != 0 && !seen[index];
        seen[index] = true;
    }
    return different >= 12;
}

void owners_init(struct owners *owners, uint16_t word, uint32_t workers)
{
    for (unsigned i = 0; i < 256; i++) {
        owners->low[i] = toeplitz(word, (uint16_t)i);
        owners->high[i] = toeplitz(word, (uint16_t)(i << 8));
    }
    for (unsigned i = 0; i < OWNERS_TABLE; i++)
        owners->worker[i] = (uint8_t)(i % workers);
    for (unsigned i = 0; i < OWNERS_KEY_BYTES; i++)
        owners->key[i] = (uint8_t)(i % 2 ? word : word >> 8);
}
