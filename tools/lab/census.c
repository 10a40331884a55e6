/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/census.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void headcount_enter(struct headcount *count)
{
    count->total++;
    if (++count->current > count->peak)
        count->peak = count->current;
}

void headcount_leave(struct headcount *count)
{
    count->current--;
}

void headcount_reset(struct headcount *count)
{
    count->peak = count->total = count->current;
}

static struct census_prefix *find_name(struct census *census, const char *name)
{
    struct census_prefix *prefix;

    for (uint32_t i = 0; i < census->n; i++) {
        if (strcmp(census->prefixes[i].name, name) == 0)
            return &census->prefixes[i];
    }
    if (census->n == CENSUS_PREFIXES_MAX)
        return &census->prefixes[CENSUS_PREFIXES_MAX - 1];
    if (census->n == CENSUS_PREFIXES_MAX - 1)
        name = "other";
    prefix = &census->prefixes[census->n++];
    snprintf(prefix->name, sizeof(prefix->name), "%s", name);
    return prefix;
}

static struct census_prefix *find_bytes(struct census *census, int family, const void *bytes)
{
    unsigned int bits = family == AF_INET ? CENSUS_BITS_OF_IPV4 : CENSUS_BITS_OF_IPV6;
    uint8_t masked[sizeof(struct in6_addr)] = {0};
    char text[INET6_ADDRSTRLEN], name[CENSUS_NAME_BYTES];

    memcpy(masked, bytes, bits / 8);
    inet_ntop(family, masked, text, sizeof(text));
    snprintf(name, sizeof(name), "%s/%u", text, bits);
    return find_name(census, name);
}

struct census_prefix *census_find(struct census *census, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return find_bytes(census, AF_INET,
                          &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    return find_bytes(census, AF_INET6,
                      &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

struct census_prefix *census_find_text(struct census *census, const char *text)
{
    uint8_t bytes[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, text, bytes) == 1)
        return find_bytes(census, AF_INET, bytes);
    if (inet_pton(AF_INET6, text, bytes) == 1)
        return find_bytes(census, AF_INET6, bytes);
    return NULL;
}

void census_reset(struct census *census)
{
    headcount_reset(&census->all);
    for (uint32_t i = 0; i < census->n; i++)
        headcount_reset(&census->prefixes[i].count);
}
