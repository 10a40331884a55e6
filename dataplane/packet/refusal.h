/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The explicit "no". To a SYN: a TCP RST made in place from it. To a request on an open connection:
 * a reply of plain HTTP that closes it, or a RST, made in place from the request's segment; and, so
 * that the service does not keep the connection, a RST to it.
 *
 * RFC 9293 section 3.10.7.1: answering a segment without ACK, the RST has seq 0 and acknowledges
 * everything the segment occupied (SYN, FIN and data); answering one with ACK, seq is that ACK,
 * which is what the client expects next. The service expects the segment that it has not seen, so
 * the RST to it has the segment's seq (RFC 5961 section 3.2: any other would be challenged).
 *
 * In answers MAC and IP addresses and ports are swapped. VLAN tags are kept, IP options and
 * extension headers left out, checksums complete. There is no padding: a sender of short frames
 * pads by itself. Any thread; touches only the frames. `frame` always holds the headers of `packet`
 * contiguously, a PACKET_TCP that is no fragment and no RST.
 */
#ifndef SLUICE_PACKET_REFUSAL_H
#define SLUICE_PACKET_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/packet.h"

#define REFUSAL_TTL 64

/* Overwrites the frame with the RST to its sender. Returns the frame's new length in bytes, which
 * is never more than l4_offset + 20. */
uint32_t refusal_write_rst(uint8_t *frame, const struct packet *packet);

/* Writes to `out` (room for REFUSAL_RST_BYTES_MAX) the RST to the receiver of a segment that has
 * not been let through: to be called before the frame itself is overwritten. Returns its length. */
#define REFUSAL_RST_BYTES_MAX (14 + 4 * PARSE_VLAN_MAX + 40 + 20)
uint32_t refusal_write_reset_inside(uint8_t *out, const uint8_t *frame,
                                    const struct packet *packet);

/* Do the first `bytes` (contiguous) of a request look like plain HTTP/1: a method, a blank, a
 * target? Nobody else could read the answer. */
bool refusal_fits_http(const uint8_t *payload, uint32_t bytes);

/* Capacity and quota are told apart (RFC 9110 section 15.6.4, RFC 6585 section 4). */
enum refusal_status { REFUSAL_503, REFUSAL_429 };

/*
 * Overwrites the frame, a data segment with ACK in a buffer with room for `room_bytes` from `frame`
 * on, with a reply that acknowledges the segment and ends the connection: PSH, FIN. It has no body,
 * so that it answers a HEAD as well. Retry-After is no more than REFUSAL_RETRY_AFTER_MAX_S. Returns
 * the new length, below 220 bytes; 0 if there is no room, and the frame is untouched.
 */
#define REFUSAL_RETRY_AFTER_MAX_S 999
uint32_t refusal_write_http(uint8_t *frame, uint32_t room_bytes, const struct packet *packet,
                            enum refusal_status status, uint32_t retry_after_s);

#endif
