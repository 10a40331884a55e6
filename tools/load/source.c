/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/source.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/util.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static in_port_t *port_of(struct source *source)
{
    if (source->address.ss_family == AF_INET)
        return &((struct sockaddr_in *)&source->address)->sin_port;
    return &((struct sockaddr_in6 *)&source->address)->sin6_port;
}

/* libevent's parser reads a port as far as it has digits, and overlooks what follows a bracket. */
static bool ends_cleanly(const char *text, int family)
{
    const char *bracket = strchr(text, ']');
    const char *colon = strrchr(bracket ? bracket : text, ':');

    if (bracket && bracket[1] && colon != bracket + 1)
        return false;
    if (!colon || (family == AF_INET6 && !bracket))
        return true;
    return colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

/* An address, its port 0 when there is none in the text. */
static int parse_address(const char *text, struct source *out)
{
    int length = sizeof(out->address);

    *out = (struct source){0};
    if (evutil_parse_sockaddr_port(text, (struct sockaddr *)&out->address, &length) ||
        !ends_cleanly(text, out->address.ss_family))
        return -EINVAL;
    out->length = (socklen_t)length;
    return 0;
}

int source_parse_target(const char *text, in_port_t port, struct source *out)
{
    int error = parse_address(text, out);

    if (!error && *port_of(out) == 0)
        *port_of(out) = htons(port);
    return error;
}

static int append(struct source_list *list, const struct sockaddr *address, socklen_t length)
{
    struct source *grown;

    if (list->n == SOURCES_MAX)
        return -E2BIG;
    grown = realloc(list->list, (list->n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    list->list = grown;
    memset(&grown[list->n], 0, sizeof(*grown));
    memcpy(&grown[list->n].address, address, length);
    grown[list->n++].length = length;
    return 0;
}

static const uint8_t *address_bytes(const struct sockaddr *address, unsigned int *bits)
{
    if (address->sa_family == AF_INET) {
        *bits = 32;
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    *bits = 128;
    return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

static bool inside_prefix(const struct sockaddr *address, const struct sockaddr *prefix,
                          unsigned int length)
{
    unsigned int bits, whole = length / 8, rest = length % 8;
    const uint8_t *a = address_bytes(address, &bits);
    const uint8_t *p = address_bytes(prefix, &bits);

    if (memcmp(a, p, whole))
        return false;
    return rest == 0 || (a[whole] ^ p[whole]) >> (8 - rest) == 0;
}

int source_list_add_own(struct source_list *list,
                        bool (*fits)(const struct sockaddr *address, const void *arg),
                        const void *arg)
{
    struct ifaddrs *all, *one;
    int error = 0;

    if (getifaddrs(&all))
        return -errno;
    for (one = all; one && !error; one = one->ifa_next) {
        const struct sockaddr *address = one->ifa_addr;

        if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
            continue;
        if (fits(address, arg))
            error = append(list, address,
                           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                         : sizeof(struct sockaddr_in6));
    }
    freeifaddrs(all);
    return error;
}

struct prefix {
    const struct sockaddr *network;
    unsigned int length;
};

static bool fits_prefix(const struct sockaddr *address, const void *arg)
{
    const struct prefix *prefix = arg;

    return address->sa_family == prefix->network->sa_family &&
           inside_prefix(address, prefix->network, prefix->length);
}

static int add_prefix(struct source_list *list, const struct source *network, unsigned int length)
{
    const struct prefix prefix = {(const void *)&network->address, length};
    uint32_t before = list->n;
    int error = source_list_add_own(list, fits_prefix, &prefix);

    return !error && list->n == before ? -ENOENT : error;
}

static int add_one(struct source_list *list, char *text)
{
    char *slash = strchr(text, '/'), *end;
    struct source source;
    unsigned long length;
    unsigned int bits;

    if (slash)
        *slash = '\0';
    if (parse_address(text, &source) || *port_of(&source))
        return -EINVAL;
    if (!slash)
        return append(list, (const void *)&source.address, source.length);
    address_bytes((const void *)&source.address, &bits);
    length = strtoul(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end || length > bits)
        return -EINVAL;
    return add_prefix(list, &source, (unsigned int)length);
}

int source_list_add(struct source_list *list, const char *text)
{
    char *copy = strdup(text), *rest = copy, *item;
    int error = copy ? 0 : -ENOMEM;

    while (!error && (item = strsep(&rest, ",")))
        error = add_one(list, item);
    free(copy);
    return error;
}

void source_list_free(struct source_list *list)
{
    free(list->list);
    *list = (struct source_list){0};
}
