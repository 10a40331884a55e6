/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which flow is this? The flow table beside rte_hash, on the same keys in bursts as a worker meets
 * them, each with room for exactly that many flows.
 */
#include <inttypes.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_jhash.h>
#include <rte_random.h>
#include <stdlib.h>
#include <unistd.h>

#include "dataplane/worker/memory.h"
#include "tools/bench/frames.h"
#include "tools/bench/memory_use.h"
#include "tools/bench/rows.h"

/* What a row keeps in its scene. */
struct flow_lookup {
    struct flow_table *table;
    struct rte_hash *hash;
    size_t table_bytes;
    bool *absent; /* of flow i: it found no place in the full table */
    uint32_t n_absent;
    uint64_t bytes, resident_bytes;
    uint64_t right;                     /* entries found that had to be, and only those */
    struct flow_key batch[RINGS_BATCH]; /* as if parsed out of packets just now */
};

/* -- building -- */

/* Memory of this process; huge pages that the EAL took are not in it. */
static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    uint64_t size, pages = 0;

    if (file) {
        if (fscanf(file, "%" SCNu64 " %" SCNu64, &size, &pages) != 2)
            pages = 0;
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool fill_table(struct scene *scene)
{
    struct flow_lookup *lookup = scene->own;
    uint64_t seed[4];
    uint64_t before_bytes = resident_bytes();
    uint32_t flows = scene->plan.flows;
    void *memory;

    rte_srand(scene->plan.seed); /* every bit counts: small numbers would hash badly */
    for (unsigned i = 0; i < 4; i++)
        seed[i] = rte_rand();
    lookup->bytes = lookup->table_bytes = flow_table_bytes(flows);
    memory = memory_on_cpu(lookup->table_bytes, scene->plan.cpu);
    if (!memory)
        return false;
    lookup->table = flow_table_init(memory, flows, seed);
    for (uint32_t i = 0; i < flows; i++) {
        struct flow_key key = frame_flow_key(i, scene->plan.tenants);
        struct flow *flow = flow_insert(lookup->table, &key, flow_hash(lookup->table, &key));

        if (flow) {
            flow->tenant = i;
        } else {
            lookup->absent[i] = true;
            lookup->n_absent++;
        }
    }
    lookup->resident_bytes = resident_bytes() - before_bytes;
    return true;
}

/* A flow's number is kept as the datum of its key, where a worker would keep a pointer. */
static bool fill_hash(struct scene *scene, rte_hash_function function)
{
    struct flow_lookup *lookup = scene->own;
    const struct rte_hash_parameters parameters = {.name = "bench",
                                                   .entries = RTE_MAX(scene->plan.flows, 8u),
                                                   .key_len = sizeof(struct flow_key),
                                                   .hash_func = function,
                                                   .hash_func_init_val = (uint32_t)scene->plan.seed,
                                                   .socket_id = (int)rte_socket_id()};
    struct memory_use before = memory_use_now();

    lookup->hash = rte_hash_create(&parameters);
    if (!lookup->hash)
        return false;
    for (uint32_t i = 0; i < scene->plan.flows; i++) {
        struct flow_key key = frame_flow_key(i, scene->plan.tenants);

        if (rte_hash_add_key_data(lookup->hash, &key, (void *)(uintptr_t)i) < 0)
            return false;
    }
    lookup->bytes = lookup->resident_bytes = memory_use_since(before).bytes;
    return true;
}

static bool set_up_table(struct scene *scene)
{
    struct flow_lookup *lookup = scene->own = calloc(1, sizeof(*lookup));

    if (lookup)
        lookup->absent = calloc(scene->plan.flows, sizeof(*lookup->absent));
    return lookup && lookup->absent && fill_table(scene);
}

static bool set_up_hash(struct scene *scene)
{
    const rte_hash_function *function = scene->shape;

    scene->own = calloc(1, sizeof(struct flow_lookup));
    return scene->own && fill_hash(scene, *function);
}

static void tear_down(struct scene *scene)
{
    struct flow_lookup *lookup = scene->own;

    if (!lookup)
        return;
    rte_hash_free(lookup->hash);
    free(lookup->absent);
    memory_free(lookup->table, lookup->table_bytes);
    free(lookup);
}

/* -- looking up -- */

static void prepare(struct scene *scene, unsigned n)
{
    struct flow_lookup *lookup = scene->own;

    for (unsigned i = 0; i < n; i++)
        lookup->batch[i] = frame_flow_key(scene->batch_flows[i], scene->plan.tenants);
}

static bool is_right(const struct flow_lookup *lookup, const struct flow *found, uint32_t flow)
{
    return found ? found->tenant == flow : lookup->absent[flow];
}

static void run_table(struct scene *scene, unsigned n)
{
    struct flow_lookup *lookup = scene->own;
    struct flow_query queries[BURST_MAX];

    for (unsigned at = 0; at < n; at += BURST_MAX) {
        unsigned burst = RTE_MIN(n - at, (unsigned)BURST_MAX);

        for (unsigned i = 0; i < burst; i++)
            queries[i].key = lookup->batch[at + i];
        flow_find_burst(lookup->table, queries, burst);
        for (unsigned i = 0; i < burst; i++)
            lookup->right += is_right(lookup, queries[i].flow, scene->batch_flows[at + i]);
    }
}

static void run_hash(struct scene *scene, unsigned n)
{
    struct flow_lookup *lookup = scene->own;
    const void *keys[BURST_MAX];
    void *numbers[BURST_MAX];

    for (unsigned at = 0; at < n; at += BURST_MAX) {
        unsigned burst = RTE_MIN(n - at, (unsigned)BURST_MAX);
        uint64_t hits = 0;

        for (unsigned i = 0; i < burst; i++)
            keys[i] = &lookup->batch[at + i];
        rte_hash_lookup_bulk_data(lookup->hash, keys, burst, &hits, numbers);
        for (unsigned i = 0; i < burst; i++)
            lookup->right += (hits >> i & 1) && (uintptr_t)numbers[i] == scene->batch_flows[at + i];
    }
}

static uint64_t claimed(const struct scene *scene)
{
    return ((const struct flow_lookup *)scene->own)->right;
}

static void add_fields(const struct scene *scene, FILE *out)
{
    const struct flow_lookup *lookup = scene->own;

    fprintf(out, ",\"bytes\":%" PRIu64 ",\"resident_bytes\":%" PRIu64 ",\"absent\":%" PRIu32,
            lookup->bytes, lookup->resident_bytes, lookup->n_absent);
}

static const rte_hash_function crc = rte_hash_crc, jhash = rte_jhash;

const struct row row_lookup_flow = {.name = "lookup_flow",
                                    .decision = true,
                                    .on_request = true,
                                    .set_up = set_up_table,
                                    .tear_down = tear_down,
                                    .prepare = prepare,
                                    .run = run_table,
                                    .claimed = claimed,
                                    .add_fields = add_fields};

/* Keys of 48 bytes, index and free list: 68 to 76 bytes a flow, a power of two of some. */
#define HASH_ROW(NAME, FUNCTION)                                                                   \
    {                                                                                              \
        .name = NAME, .decision = true, .on_request = true, .eal_flow_bytes = 96,                  \
        .shape = &(FUNCTION), .set_up = set_up_hash, .tear_down = tear_down, .prepare = prepare,   \
        .run = run_hash, .claimed = claimed, .add_fields = add_fields                              \
    }
const struct row row_lookup_flow_crc = HASH_ROW("lookup_flow_rte_hash", crc);
const struct row row_lookup_flow_jhash = HASH_ROW("lookup_flow_jhash", jhash);
