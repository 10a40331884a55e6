/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/sources.h"

#include <rte_lcore.h>
#include <rte_random.h>
#include <rte_rib6.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/prefix.h"
#include "tools/bench/frames.h"

#define STRANGERS 8 /* of so many sources one is anybody, where the shape is mixed */

/* Up to this share of the prefixes is `first` to `last` bits long. */
struct length {
    unsigned percent;
    uint8_t first, last;
};

static const struct length lengths_v4[] = {{1, 8, 15},   {10, 16, 19}, {30, 20, 23},
                                           {80, 24, 24}, {90, 25, 31}, {100, 32, 32}};
static const struct length lengths_v6[] = {
    {10, 32, 32}, {70, 48, 48}, {85, 56, 56}, {95, 64, 64}, {100, 128, 128}};

static uint8_t draw_length(const struct length *length)
{
    unsigned percent = (unsigned)rte_rand_max(100);

    while (percent >= length->percent)
        length++;
    return (uint8_t)(length->first + rte_rand_max(length->last - length->first + 1u));
}

/* Any address; of IPv6 one of 2001::/16. */
static struct address draw_address(enum sources_shape shape)
{
    struct address a = {.halves = {rte_rand(), rte_rand()}};

    if (shape != SOURCES_V6_MIXED)
        return address_from_v4((uint32_t)a.halves[0]);
    a.bytes[0] = 0x20;
    a.bytes[1] = 0x01;
    return a;
}

static struct policy_prefix draw_prefix(enum sources_shape shape, uint32_t tenant)
{
    struct policy_prefix prefix = {.tenant = tenant};

    if (shape == SOURCES_V4_24)
        return (struct policy_prefix){frame_prefix(tenant), FRAME_PREFIX_BITS, tenant};
    prefix.bits = shape == SOURCES_V6_MIXED
                      ? draw_length(lengths_v6)
                      : (uint8_t)(ADDRESS_V4_PREFIX_BITS + draw_length(lengths_v4));
    prefix.network = draw_address(shape);
    prefix.network = prefix_mask(&prefix.network, prefix.bits);
    return prefix;
}

static bool draw_prefixes(struct sources *s, enum sources_shape shape, struct rte_rib6 *truth)
{
    for (uint32_t i = 0; i < s->n_prefixes; i++) {
        struct policy_prefix *prefix = &s->prefixes[i];
        struct rte_rib6_node *node;

        do
            *prefix = draw_prefix(shape, i);
        while (rte_rib6_lookup_exact(truth, prefix->network.bytes, prefix->bits));
        node = rte_rib6_insert(truth, prefix->network.bytes, prefix->bits);
        if (!node)
            return false;
        rte_rib6_set_nh(node, i);
    }
    return true;
}

/* Some host of a prefix. */
static struct address draw_host(enum sources_shape shape, const struct policy_prefix *prefix)
{
    struct address host = draw_address(shape), masked = prefix_mask(&host, prefix->bits);

    host.halves[0] ^= masked.halves[0] ^ prefix->network.halves[0];
    host.halves[1] ^= masked.halves[1] ^ prefix->network.halves[1];
    return host;
}

static void draw_flows(struct sources *s, enum sources_shape shape, struct rte_rib6 *truth)
{
    for (uint32_t i = 0; i < s->n_flows; i++) {
        bool stranger = shape != SOURCES_V4_24 && i % STRANGERS == STRANGERS - 1;
        struct rte_rib6_node *node;
        uint64_t tenant = SOURCES_DEFAULT_TENANT;

        s->addresses[i] =
            stranger ? draw_address(shape) : draw_host(shape, &s->prefixes[i % s->n_prefixes]);
        node = rte_rib6_lookup(truth, s->addresses[i].bytes);
        if (node)
            rte_rib6_get_nh(node, &tenant);
        s->tenants[i] = (uint32_t)tenant;
    }
}

bool sources_create(struct sources *s, enum sources_shape shape, uint32_t n_prefixes,
                    uint32_t n_flows, uint64_t seed)
{
    const struct rte_rib6_conf conf = {.max_nodes = 2 * (int)n_prefixes + 1};
    struct rte_rib6 *truth = rte_rib6_create("bench", (int)rte_socket_id(), &conf);
    bool done;

    *s = (struct sources){.prefixes = calloc(n_prefixes, sizeof(*s->prefixes)),
                          .addresses = calloc(n_flows, sizeof(*s->addresses)),
                          .tenants = calloc(n_flows, sizeof(*s->tenants)),
                          .n_prefixes = n_prefixes,
                          .n_flows = n_flows};
    rte_srand(seed);
    done = truth && s->prefixes && s->addresses && s->tenants && draw_prefixes(s, shape, truth);
    if (done)
        draw_flows(s, shape, truth);
    rte_rib6_free(truth);
    return done;
}

void sources_free(struct sources *s)
{
    free(s->prefixes);
    free(s->addresses);
    free(s->tenants);
}
