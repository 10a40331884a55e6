/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Internet checksum (RFC 1071), as the 16 bits to store, in network byte order.
 * Any thread, any alignment.
 */
#ifndef SLUICE_PACKET_CHECKSUM_H
#define SLUICE_PACKET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "dataplane/policy/address.h"

uint16_t checksum_bytes(const uint8_t *bytes, size_t n);

/* L4 checksum over pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) and `n` bytes. The
 * checksum field inside `bytes` must be zero. */
uint16_t checksum_l4(const struct address *source, const struct address *destination,
                     uint8_t protocol, const uint8_t *bytes, size_t n);

#endif
