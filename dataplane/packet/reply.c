/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/packet/reply.h"

#include <stdbool.h>
#include <string.h>

#include "dataplane/policy/policy.h"

#define HTTP_START        "HTTP/1."
#define HTTP_START_BYTES  7
#define HTTP_STATUS_AT    9 /* behind the minor version and a space */
#define HTTP_STATUS_BYTES 3

#define DNS_PORT         53
#define DNS_HEADER_BYTES 12
#define DNS_QR           0x80 /* of byte 2: a response */
#define DNS_RCODE        0x0f /* of byte 3 */
#define DNS_SERVFAIL     2

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static enum reply read_http(const uint8_t *line, uint32_t bytes)
{
    const uint8_t *status = line + HTTP_STATUS_AT;

    if (bytes < HTTP_STATUS_AT + HTTP_STATUS_BYTES ||
        memcmp(line, HTTP_START, HTTP_START_BYTES) != 0 || !is_digit(line[HTTP_START_BYTES]) ||
        line[HTTP_START_BYTES + 1] != ' ')
        return REPLY_UNKNOWN;
    if (!is_digit(status[1]) || !is_digit(status[2]))
        return REPLY_UNKNOWN;
    if (bytes > HTTP_STATUS_AT + HTTP_STATUS_BYTES && is_digit(status[HTTP_STATUS_BYTES]))
        return REPLY_UNKNOWN;
    if (status[0] == '5')
        return REPLY_FAILED;
    return status[0] >= '1' && status[0] <= '4' ? REPLY_GOOD : REPLY_UNKNOWN;
}

static enum reply read_dns(const uint8_t *header, uint32_t bytes)
{
    if (bytes < DNS_HEADER_BYTES || !(header[2] & DNS_QR))
        return REPLY_UNKNOWN;
    return (header[3] & DNS_RCODE) == DNS_SERVFAIL ? REPLY_FAILED : REPLY_GOOD;
}

enum reply reply_read(const uint8_t *payload, uint32_t bytes, uint8_t protocol,
                      uint16_t inside_port)
{
    if (protocol == PROTOCOL_TCP)
        return read_http(payload, bytes);
    if (protocol == PROTOCOL_UDP && inside_port == DNS_PORT)
        return read_dns(payload, bytes);
    return REPLY_UNKNOWN;
}
