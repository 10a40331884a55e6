/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The explicit "no": a TCP RST made in place from the SYN that it refuses.
 *
 * RFC 9293 section 3.10.7.1: answering a segment without ACK, the RST has seq 0 and acknowledges
 * everything the segment occupied (SYN, FIN and data); answering one with ACK, seq is that ACK.
 * MAC and IP addresses and ports are swapped, VLAN tags kept, IP options and extension headers left
 * out, checksums complete. Any thread; touches only the frame.
 */
#ifndef SLUICE_PACKET_REFUSAL_H
#define SLUICE_PACKET_REFUSAL_H

#include <stdint.h>

#include "dataplane/packet/packet.h"

#define REFUSAL_TTL 64

/*
 * Overwrites the frame of `packet` (a PACKET_TCP that is no fragment and no RST; `frame` holds its
 * headers contiguously) with the RST. Returns the frame's new length in bytes, which is never more
 * than l4_offset + 20. There is no padding: a sender of short frames pads by itself.
 */
uint32_t refusal_write_rst(uint8_t *frame, const struct packet *packet);

#endif
