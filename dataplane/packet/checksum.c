/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/packet/checksum.h"

#include <string.h>

#define PROTOCOL_UDP 17

/*
 * Sums are kept in 64 bits of host byte order: the one's complement sum does not mind the byte
 * order (RFC 1071 section 2(B)), nor in which width carries come round.
 */
static uint64_t sum_add(uint64_t sum, uint64_t value)
{
    sum += value;
    return sum + (sum < value);
}

static uint64_t sum_bytes(uint64_t sum, const uint8_t *bytes, size_t n)
{
    uint64_t word;

    for (; n >= sizeof(word); n -= sizeof(word), bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum = sum_add(sum, word);
    }
    if (n == 0)
        return sum;
    word = 0; /* an odd byte is padded with zero */
    memcpy(&word, bytes, n);
    return sum_add(sum, word);
}

static uint16_t sum_fold(uint64_t sum)
{
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~sum;
}

uint16_t checksum_bytes(const uint8_t *bytes, size_t n)
{
    return sum_fold(sum_bytes(0, bytes, n));
}

uint16_t checksum_l4(const struct address *source, const struct address *destination,
                     uint8_t protocol, const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;
    uint16_t checksum;

    /* The ffff of an IPv4-mapped address is a zero of one's complement, so that both versions have
     * the same pseudo header. */
    sum = sum_bytes(sum, source->bytes, sizeof(source->bytes));
    sum = sum_bytes(sum, destination->bytes, sizeof(destination->bytes));
    sum = sum_add(sum, __builtin_bswap32((uint32_t)n));
    sum = sum_add(sum, __builtin_bswap32(protocol));
    checksum = sum_fold(sum_bytes(sum, bytes, n));
    if (checksum == 0 && protocol == PROTOCOL_UDP)
        checksum = 0xffff; /* to UDP zero means "not computed" */
    return checksum;
}
