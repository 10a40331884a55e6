/* SPDX-License-Identifier: BSD-3-Clause */
/* Connect only: useful once the handshake is done, and then closed. */
#include <sys/socket.h>

#include "tools/load/protocol.h"

static void compose(const struct load_options *options, const char *kind, struct request_text *out)
{
    (void)options;
    (void)kind;
    out->bytes = 0;
}

const struct protocol protocol_tcp = {
    .name = "tcp", .socket_type = SOCK_STREAM, .port = 80, .compose = compose};
