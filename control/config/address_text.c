/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/address_text.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool address_parse(const char *text, struct address *address)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1) {
        *address = address_from_v4(v4.s_addr);
        return true;
    }
    if (inet_pton(AF_INET6, text, &v6) != 1)
        return false;
    memcpy(address->bytes, &v6, sizeof(address->bytes));
    return !address_is_v4(address);
}

/* One to three digits, no leading zero, at most `max`. */
static bool parse_bits(const char *text, uint32_t max, uint32_t *bits)
{
    size_t length = strlen(text);

    *bits = 0;
    if (length < 1 || length > 3 || (length > 1 && *text == '0'))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        *bits = *bits * 10 + (uint32_t)(*text - '0');
    }
    return *bits <= max;
}

bool prefix_parse(const char *text, struct address *network, uint8_t *bits)
{
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    char host[ADDRESS_TEXT_MAX];
    uint32_t host_bits, value;

    if (length >= sizeof(host))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    if (!address_parse(host, network))
        return false;
    host_bits = address_is_v4(network) ? 32 : 128;
    value = host_bits;
    if (slash && !parse_bits(slash + 1, host_bits, &value))
        return false;
    *bits = (uint8_t)(128 - host_bits + value);
    return true;
}

const char *address_format(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
    if (address_is_v4(address))
        inet_ntop(AF_INET, &address->words[3], text, ADDRESS_TEXT_MAX);
    else
        inet_ntop(AF_INET6, address->bytes, text, ADDRESS_TEXT_MAX);
    return text;
}

const char *prefix_format(const struct address *network, uint8_t bits, char text[ADDRESS_TEXT_MAX])
{
    bool v4 = address_is_v4(network) && bits >= ADDRESS_V4_PREFIX_BITS;
    size_t used;

    if (v4)
        inet_ntop(AF_INET, &network->words[3], text, ADDRESS_TEXT_MAX);
    else
        inet_ntop(AF_INET6, network->bytes, text, ADDRESS_TEXT_MAX);
    used = strlen(text);
    snprintf(text + used, ADDRESS_TEXT_MAX - used, "/%d",
             v4 ? bits - ADDRESS_V4_PREFIX_BITS : bits);
    return text;
}
