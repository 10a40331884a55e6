/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request and reply of 16 bytes: "sluice-1", then 64 bits of id in network order. The service sends
 * back what it got (RFC 862), and may add to it; any other datagram is not a reply to this request.
 */
#include <endian.h>
#include <string.h>
#include <sys/socket.h>

#include "tools/load/protocol.h"

#define MAGIC       "sluice-1"
#define MAGIC_BYTES 8u
#define ECHO_BYTES  16u

static void compose(const struct load_options *options, const char *kind, struct request_text *out)
{
    (void)options;
    (void)kind;
    memcpy(out->text, MAGIC, MAGIC_BYTES);
    out->bytes = ECHO_BYTES;
}

static void begin(struct attempt *attempt)
{
    uint64_t id = htobe64(attempt->id);

    memcpy(attempt->text->text + MAGIC_BYTES, &id, sizeof(id));
}

static enum reading read_echo(struct attempt *attempt, const char *bytes, size_t n)
{
    uint64_t id;

    if (n < ECHO_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES))
        return READ_MORE;
    memcpy(&id, bytes + MAGIC_BYTES, sizeof(id));
    if (id != htobe64(attempt->id))
        return READ_MORE;
    attempt->verdict = OUTCOME_USEFUL;
    return READ_COMPLETE;
}

const struct protocol protocol_udp = {.name = "udp",
                                      .socket_type = SOCK_DGRAM,
                                      .port = 7,
                                      .compose = compose,
                                      .begin = begin,
                                      .read = read_echo};
