/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/protocol.h"

#include <string.h>

static const struct protocol *const protocols[] = {&protocol_http, &protocol_tcp, &protocol_udp,
                                                   &protocol_dns};

const struct protocol *protocol_find(const char *name)
{
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (strcmp(protocols[i]->name, name) == 0)
            return protocols[i];
    }
    return NULL;
}
