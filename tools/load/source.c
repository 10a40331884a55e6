/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/source.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/load/options.h"

#define SOURCE_TEXT_MAX_BYTES 64u

static int parse_host(const char *host, const char *port, struct source *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;

    if (getaddrinfo(host, port, &hints, &found))
        return -EINVAL;
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

int source_parse_target(const char *text, struct source *out)
{
    char copy[SOURCE_TEXT_MAX_BYTES];
    const char *port = LOAD_PORT_OF_HTTP;
    char *host = copy, *end;

    if (strlen(text) >= sizeof(copy))
        return -EINVAL;
    strcpy(copy, text);
    if (*host == '[') {
        host++;
        end = strchr(host, ']');
        if (!end)
            return -EINVAL;
        *end++ = '\0';
        if (*end == ':')
            port = end + 1;
        else if (*end)
            return -EINVAL;
    } else if ((end = strchr(host, ':')) && !strchr(end + 1, ':')) {
        *end = '\0';
        port = end + 1;
    }
    return parse_host(host, port, out);
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

    if (address->sa_family != prefix->sa_family || memcmp(a, p, whole))
        return false;
    return rest == 0 || (a[whole] ^ p[whole]) >> (8 - rest) == 0;
}

static int add_prefix(struct source_list *list, const struct source *prefix, unsigned int length)
{
    const struct sockaddr *net = (const void *)&prefix->address;
    uint32_t before = list->n;
    struct ifaddrs *all, *one;
    int error = 0;

    if (getifaddrs(&all))
        return -errno;
    for (one = all; one && !error; one = one->ifa_next) {
        if (one->ifa_addr && one->ifa_addr->sa_family == net->sa_family &&
            inside_prefix(one->ifa_addr, net, length))
            error = append(list, one->ifa_addr, prefix->length);
    }
    freeifaddrs(all);
    if (!error && list->n == before)
        error = -ENOENT;
    return error;
}

static int add_one(struct source_list *list, char *text)
{
    char *slash = strchr(text, '/'), *end;
    struct source source = {0};
    unsigned long length;
    unsigned int bits;
    int error;

    if (slash)
        *slash = '\0';
    error = parse_host(text, "0", &source);
    if (error)
        return error;
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
