/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Internet checksum (RFC 1071), as the 16 bits to store, in network byte order.
 * Any thread, any alignment. Inline, so that a header of constant size is summed without a loop.
 *
 * Sums are kept in 64 bits of host byte order: the one's complement sum does not mind the byte
 * order (RFC 1071 section 2(B)), nor in which width carries come round. Of 32-bit words more than
 * any packet has fit into it without a carry.
 */
#ifndef SLUICE_PACKET_CHECKSUM_H
#define SLUICE_PACKET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/policy/address.h"

#define CHECKSUM_UDP 17 /* the protocol to which no checksum may be zero */

static inline uint64_t checksum_add(uint64_t sum, const uint8_t *bytes, size_t n)
{
    uint32_t word;

    for (; n >= sizeof(word); n -= sizeof(word), bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum += word;
    }
    if (n > 0) {
        word = 0; /* an odd byte is padded with zero */
        memcpy(&word, bytes, n);
        sum += word;
    }
    return sum;
}

static inline uint16_t checksum_fold(uint64_t sum)
{
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff); /* 33 bits, then 18, 17, 16 */
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~sum;
}

static inline uint16_t checksum_bytes(const uint8_t *bytes, size_t n)
{
    return checksum_fold(checksum_add(0, bytes, n));
}

/* L4 checksum over pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) and `n` bytes. The
 * checksum field inside `bytes` must be zero. */
static inline uint16_t checksum_l4(const struct address *source, const struct address *destination,
                                   uint8_t protocol, const uint8_t *bytes, size_t n)
{
    uint64_t sum = (uint64_t)__builtin_bswap32((uint32_t)n) + __builtin_bswap32(protocol);
    uint16_t checksum;

    /* The ffff of an IPv4-mapped address is a zero of one's complement, so that both versions have
     * the same pseudo header. */
    sum = checksum_add(sum, source->bytes, sizeof(source->bytes));
    sum = checksum_add(sum, destination->bytes, sizeof(destination->bytes));
    checksum = checksum_fold(checksum_add(sum, bytes, n));
    if (checksum == 0 && protocol == CHECKSUM_UDP)
        checksum = 0xffff; /* to UDP zero means "not computed" */
    return checksum;
}

#endif
