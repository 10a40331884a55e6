/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IP addresses, one form for both versions.
 *
 * An IPv4 address is held IPv4-mapped (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2), in network byte
 * order, so that one comparison, one hash and one prefix lookup serve both versions.
 * Compiles for BPF: no libc, no loops without a bound.
 */
#ifndef SLUICE_POLICY_ADDRESS_H
#define SLUICE_POLICY_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct address {
    union {
        uint8_t bytes[16];
        uint32_t words[4];
        uint64_t halves[2];
    };
};

/* Bits in front of an IPv4 address in its mapped form: prefix /24 of IPv4 is /120 here. */
#define ADDRESS_V4_PREFIX_BITS 96

/* `word` is the IPv4 address as it stands in the header (network byte order). */
static inline struct address address_from_v4(uint32_t word)
{
    struct address a;

    a.halves[0] = 0;
    a.words[2] = __builtin_bswap32(0x0000ffffu);
    a.words[3] = word;
    return a;
}

static inline bool address_is_v4(const struct address *a)
{
    return a->halves[0] == 0 && a->words[2] == __builtin_bswap32(0x0000ffffu);
}

static inline bool address_equal(const struct address *a, const struct address *b)
{
    return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1];
}

_Static_assert(sizeof(struct address) == 16, "an address is two 64-bit words, no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian hosts are not supported yet");

#endif
