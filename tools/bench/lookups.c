/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose address is this? policy_find_tenant() beside DPDK's tables, on the same addresses in bursts
 * as a worker meets them.
 */
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_vect.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/prefix.h"
#include "tools/bench/memory_use.h"
#include "tools/bench/rows.h"
#include "tools/bench/sources.h"

struct tables {
    struct policy *policy;
    struct rte_fib *fib;
    struct rte_fib6 *fib6;
    struct rte_lpm *lpm;
};

/* What a row keeps in its scene. */
struct lookup {
    struct sources sources;
    struct tables tables;
    struct memory_use use;
    uint64_t right;                    /* tenants found that had to be */
    struct address batch[RINGS_BATCH]; /* as if parsed out of packets just now */
    uint32_t expected[RINGS_BATCH];
};

struct lookup_shape {
    enum sources_shape sources;
    bool (*build)(struct lookup *lookup);
};

/* -- building -- */

static uint32_t v4_of(const struct address *address)
{
    return __builtin_bswap32(address->words[3]);
}

/* The prefixes' share of a policy, built by itself. */
static bool weigh_prefixes(struct lookup *lookup)
{
    const struct sources *s = &lookup->sources;
    struct prefix_entry *entries = calloc(s->n_prefixes, sizeof(*entries));
    struct memory_use before = memory_use_now();
    struct prefix_table *table = NULL;

    for (uint32_t i = 0; entries && i < s->n_prefixes; i++)
        entries[i] = (struct prefix_entry){s->prefixes[i].network, s->prefixes[i].bits,
                                           s->prefixes[i].tenant};
    if (entries)
        prefix_table_create(entries, s->n_prefixes, POLICY_NONE, &table);
    lookup->use = memory_use_since(before);
    prefix_table_free(table);
    free(entries);
    return table;
}

static bool build_policy(struct lookup *lookup)
{
    const struct sources *s = &lookup->sources;
    struct policy_spec spec = {.tenants = calloc(s->n_prefixes, sizeof(*spec.tenants)),
                               .prefixes = s->prefixes,
                               .n_tenants = s->n_prefixes,
                               .n_prefixes = s->n_prefixes,
                               .default_tenant = SOURCES_DEFAULT_TENANT};
    int err = spec.tenants ? policy_create(&spec, &lookup->tables.policy) : -1;

    free(spec.tenants);
    return err == 0 && weigh_prefixes(lookup);
}

/* Next hops of four bytes: those of two end at 32767, below the number of tenants. */
static bool build_fib(struct lookup *lookup)
{
    const struct sources *s = &lookup->sources;
    struct memory_use before = memory_use_now();
    struct rte_fib_conf conf = {
        .type = RTE_FIB_DIR24_8,
        .default_nh = SOURCES_DEFAULT_TENANT,
        .max_routes = (int)s->n_prefixes + 1,
        .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = s->n_prefixes / 4 + 256}};
    struct rte_fib *fib = rte_fib_create("bench", (int)rte_socket_id(), &conf);
    int err = fib ? 0 : -1;

    lookup->tables.fib = fib;
    for (uint32_t i = 0; !err && i < s->n_prefixes; i++)
        err = rte_fib_add(fib, v4_of(&s->prefixes[i].network),
                          (uint8_t)(s->prefixes[i].bits - ADDRESS_V4_PREFIX_BITS), i);
    lookup->use = memory_use_since(before);
    return err == 0;
}

static bool build_fib6(struct lookup *lookup)
{
    const struct sources *s = &lookup->sources;
    struct memory_use before = memory_use_now();
    struct rte_fib6_conf conf = {
        .type = RTE_FIB6_TRIE,
        .default_nh = SOURCES_DEFAULT_TENANT,
        .max_routes = (int)s->n_prefixes + 1,
        .trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = 4 * s->n_prefixes + 256}};
    struct rte_fib6 *fib6 = rte_fib6_create("bench", (int)rte_socket_id(), &conf);
    int err = fib6 ? 0 : -1;

    lookup->tables.fib6 = fib6;
    for (uint32_t i = 0; !err && i < s->n_prefixes; i++)
        err = rte_fib6_add(fib6, s->prefixes[i].network.bytes, s->prefixes[i].bits, i);
    lookup->use = memory_use_since(before);
    return err == 0;
}

static bool build_lpm(struct lookup *lookup)
{
    const struct sources *s = &lookup->sources;
    struct memory_use before = memory_use_now();
    const struct rte_lpm_config config = {.max_rules = s->n_prefixes,
                                          .number_tbl8s = s->n_prefixes / 4 + 256};
    struct rte_lpm *lpm = rte_lpm_create("bench", (int)rte_socket_id(), &config);
    int err = lpm ? 0 : -1;

    lookup->tables.lpm = lpm;
    for (uint32_t i = 0; !err && i < s->n_prefixes; i++)
        err = rte_lpm_add(lpm, v4_of(&s->prefixes[i].network),
                          (uint8_t)(s->prefixes[i].bits - ADDRESS_V4_PREFIX_BITS), i);
    lookup->use = memory_use_since(before);
    return err == 0;
}

/* Lookups on vectors of 512 bits, which DPDK takes only when told that it may: for this table, not
 * for the rows that follow. */
static bool select_512(const struct tables *tables)
{
    uint16_t usual_bits = rte_vect_get_max_simd_bitwidth();
    int err;

    rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
    err = tables->fib ? rte_fib_select_lookup(tables->fib, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512)
                      : rte_fib6_select_lookup(tables->fib6, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512);
    rte_vect_set_max_simd_bitwidth(usual_bits);
    if (err)
        fprintf(stderr, "sluice-bench: this CPU, or this DPDK, offers no lookups by AVX-512\n");
    return err == 0;
}

static bool build_fib_512(struct lookup *lookup)
{
    return build_fib(lookup) && select_512(&lookup->tables);
}

static bool build_fib6_512(struct lookup *lookup)
{
    return build_fib6(lookup) && select_512(&lookup->tables);
}

static bool set_up(struct scene *scene)
{
    const struct lookup_shape *shape = scene->shape;
    struct lookup *lookup = scene->own = calloc(1, sizeof(*lookup));

    return lookup &&
           sources_create(&lookup->sources, shape->sources, scene->plan.tenants, scene->plan.flows,
                          scene->plan.seed) &&
           shape->build(lookup);
}

static void tear_down(struct scene *scene)
{
    struct lookup *lookup = scene->own;

    if (!lookup)
        return;
    policy_free(lookup->tables.policy);
    rte_fib_free(lookup->tables.fib);
    rte_fib6_free(lookup->tables.fib6);
    rte_lpm_free(lookup->tables.lpm);
    sources_free(&lookup->sources);
    free(lookup);
}

/* -- looking up -- */

static void prepare(struct scene *scene, unsigned n)
{
    struct lookup *lookup = scene->own;

    for (unsigned i = 0; i < n; i++) {
        uint32_t flow = scene->batch_flows[i];

        lookup->batch[i] = lookup->sources.addresses[flow];
        lookup->expected[i] = lookup->sources.tenants[flow];
    }
}

static void run_policy(struct scene *scene, unsigned n)
{
    struct lookup *lookup = scene->own;

    for (unsigned i = 0; i < n; i++)
        lookup->right += policy_find_tenant(lookup->tables.policy, &lookup->batch[i],
                                            POLICY_NONE) == lookup->expected[i];
}

static void settle(struct lookup *lookup, unsigned at, const uint64_t *hops, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        lookup->right += hops[i] == lookup->expected[at + i];
}

static void run_fib(struct scene *scene, unsigned n)
{
    struct lookup *lookup = scene->own;
    uint32_t addresses[BURST_MAX];
    uint64_t hops[BURST_MAX];

    for (unsigned at = 0; at < n; at += BURST_MAX) {
        unsigned burst = RTE_MIN(n - at, (unsigned)BURST_MAX);

        for (unsigned i = 0; i < burst; i++)
            addresses[i] = v4_of(&lookup->batch[at + i]);
        rte_fib_lookup_bulk(lookup->tables.fib, addresses, hops, (int)burst);
        settle(lookup, at, hops, burst);
    }
}

static void run_fib6(struct scene *scene, unsigned n)
{
    struct lookup *lookup = scene->own;
    uint8_t addresses[BURST_MAX][RTE_FIB6_IPV6_ADDR_SIZE];
    uint64_t hops[BURST_MAX];

    for (unsigned at = 0; at < n; at += BURST_MAX) {
        unsigned burst = RTE_MIN(n - at, (unsigned)BURST_MAX);

        for (unsigned i = 0; i < burst; i++)
            memcpy(addresses[i], lookup->batch[at + i].bytes, sizeof(addresses[i]));
        rte_fib6_lookup_bulk(lookup->tables.fib6, addresses, hops, (int)burst);
        settle(lookup, at, hops, burst);
    }
}

#define LPM_AT_ONCE 4

/* A burst that is no multiple of four ends with lookups of whatever was there before. */
static void run_lpm(struct scene *scene, unsigned n)
{
    struct lookup *lookup = scene->own;
    uint32_t addresses[BURST_MAX] = {0}, hops[BURST_MAX];

    for (unsigned at = 0; at < n; at += BURST_MAX) {
        unsigned burst = RTE_MIN(n - at, (unsigned)BURST_MAX);

        for (unsigned i = 0; i < burst; i++)
            addresses[i] = v4_of(&lookup->batch[at + i]);
        for (unsigned i = 0; i < burst; i += LPM_AT_ONCE) {
            xmm_t four;

            memcpy(&four, &addresses[i], sizeof(four));
            rte_lpm_lookupx4(lookup->tables.lpm, four, &hops[i], SOURCES_DEFAULT_TENANT);
        }
        for (unsigned i = 0; i < burst; i++)
            lookup->right += hops[i] == lookup->expected[at + i];
    }
}

static uint64_t claimed(const struct scene *scene)
{
    return ((const struct lookup *)scene->own)->right;
}

static void add_fields(const struct scene *scene, FILE *out)
{
    const struct lookup *lookup = scene->own;

    fprintf(out, ",\"prefixes\":%u,\"bytes\":%llu,\"build_ms\":%.2f", lookup->sources.n_prefixes,
            (unsigned long long)lookup->use.bytes, memory_use_ms(lookup->use));
}

/* The largest of DPDK's: 258 MiB of an IPv6 trie of 64k prefixes, and what its route list takes. */
#define ROW(NAME, SHAPE, BUILD, RUN)                                                               \
    {                                                                                              \
        .name = NAME, .decision = true, .on_request = true, .eal_mib = 400,                        \
        .shape = &(const struct lookup_shape){SHAPE, BUILD}, .set_up = set_up,                     \
        .tear_down = tear_down, .prepare = prepare, .run = RUN, .claimed = claimed,                \
        .add_fields = add_fields                                                                   \
    }

const struct row rows_lookups[ROWS_LOOKUPS] = {
    ROW("lookup_tenant", SOURCES_V4_24, build_policy, run_policy),
    ROW("lookup_tenant_fib", SOURCES_V4_24, build_fib, run_fib),
    ROW("lookup_tenant_fib512", SOURCES_V4_24, build_fib_512, run_fib),
    ROW("lookup_tenant_lpm", SOURCES_V4_24, build_lpm, run_lpm),
    ROW("lookup_mixed", SOURCES_V4_MIXED, build_policy, run_policy),
    ROW("lookup_mixed_fib", SOURCES_V4_MIXED, build_fib, run_fib),
    ROW("lookup_mixed_fib512", SOURCES_V4_MIXED, build_fib_512, run_fib),
    ROW("lookup_mixed_lpm", SOURCES_V4_MIXED, build_lpm, run_lpm),
    ROW("lookup_v6", SOURCES_V6_MIXED, build_policy, run_policy),
    ROW("lookup_v6_fib6", SOURCES_V6_MIXED, build_fib6, run_fib6),
    ROW("lookup_v6_fib6_512", SOURCES_V6_MIXED, build_fib6_512, run_fib6),
};
