/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the start of a reply, where it can be read, say that the work failed?
 *
 * Plain HTTP/1 (RFC 9112 section 4): a status of 5xx. DNS over UDP (RFC 1035 section 4.1.1): rcode
 * SERVFAIL. Anything else, all of TLS among it, is unknown: neither good nor bad. Pure function of
 * the bytes, none of which is trusted; any thread.
 */
#ifndef SLUICE_PACKET_REPLY_H
#define SLUICE_PACKET_REPLY_H

#include <stdint.h>

enum reply { REPLY_UNKNOWN, REPLY_GOOD, REPLY_FAILED };

/*
 * `payload`: the first `bytes` contiguous bytes that a service sent in reply, of protocol TCP or
 * UDP, from its port `inside_port` (host byte order). HTTP is known by its status line on whatever
 * port, DNS by port 53. A status line in less than 12 bytes is unknown.
 */
enum reply reply_read(const uint8_t *payload, uint32_t bytes, uint8_t protocol,
                      uint16_t inside_port);

#endif
