/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/flow/flow.h"

#include <string.h>

#define NS_PER_MS      1000000ull
#define LOAD_PER_LINE  3 /* entries for each index line when the table is full */
#define SWEEP_MS_SHIFT 8 /* log2 of FLOW_SWEEP_MS */

_Static_assert(1 << SWEEP_MS_SHIFT == FLOW_SWEEP_MS, "the sweep divides by a shift");

struct index_line {
    uint16_t tags[FLOW_WAYS]; /* compared all at once; 0: empty */
    uint32_t entries[FLOW_WAYS];
    uint32_t displaced; /* keys of this line that live in their second line */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct index_line) == 64, "an index line is one cache line");

struct flow_table {
    struct index_line *lines;
    struct flow *entries; /* entries[0] is never used: 0 means none was free */
    uint32_t *freed;      /* a stack beside the entries: popping one does not wait for its line */
    uint32_t line_mask;
    uint32_t max;
    uint32_t used;    /* published */
    uint32_t touched; /* entries ever used: [1, touched] */
    uint32_t n_free;  /* on the stack of entries that were freed */
    uint32_t cursor;  /* of the sweep */
    uint32_t swept_ms;
    uint32_t sweep_rest; /* part of an entry still to visit, in 1/FLOW_SWEEP_MS */
    uint32_t now_ms;
    uint64_t age_ns;
    uint64_t last_ns; /* clock of the last tick; 0: none yet */
    uint64_t seed[4];
} __attribute__((aligned(64)));

static uint32_t lines_for(uint32_t max)
{
    uint32_t lines = 2;

    while (lines < (max + LOAD_PER_LINE - 1) / LOAD_PER_LINE)
        lines *= 2;
    return lines;
}

size_t flow_table_bytes(uint32_t max)
{
    return sizeof(struct flow_table) + lines_for(max) * sizeof(struct index_line) +
           ((size_t)max + 1) * sizeof(struct flow) + max * sizeof(uint32_t);
}

struct flow_table *flow_table_init(void *memory, uint32_t max, const uint64_t seed[4])
{
    struct flow_table *table = memory;
    uint32_t lines = lines_for(max);

    table->lines = (struct index_line *)(table + 1);
    table->entries = (struct flow *)(table->lines + lines);
    table->freed = (uint32_t *)(table->entries + max + 1);
    table->line_mask = lines - 1;
    table->max = max;
    memcpy(table->seed, seed, sizeof(table->seed));
    return table;
}

/* -- hashing -- */

/* The two halves of a 64 x 64 bit product folded: every input bit reaches every output bit. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_of(const struct flow_table *table, const struct flow_key *key)
{
    const uint64_t *seed = table->seed;
    uint64_t ports_tags;

    memcpy(&ports_tags, &key->outside_port, sizeof(ports_tags));
    return fold(fold(key->outside.halves[0] ^ seed[0], key->outside.halves[1] ^ seed[1]) ^ seed[2],
                fold(key->inside.halves[0] ^ seed[2], key->inside.halves[1] ^ seed[3]) ^
                    fold(ports_tags ^ seed[1], seed[0] | 1));
}

uint64_t flow_hash(const struct flow_table *table, const struct flow_key *key)
{
    return hash_of(table, key);
}

static uint32_t first_line(const struct flow_table *table, uint64_t hash)
{
    return (uint32_t)hash & table->line_mask;
}

static uint32_t second_line(const struct flow_table *table, uint64_t hash)
{
    uint32_t line = (uint32_t)(hash >> 24) & table->line_mask;

    return line != first_line(table, hash) ? line : line ^ 1;
}

static uint16_t tag_of(uint64_t hash)
{
    return (uint16_t)(hash >> 48 | 1); /* never that of an empty way */
}

static bool key_equal(const struct flow_key *a, const struct flow_key *b)
{
    uint64_t left, right;

    memcpy(&left, &a->outside_port, sizeof(left));
    memcpy(&right, &b->outside_port, sizeof(right));
    return left == right && address_equal(&a->outside, &b->outside) &&
           address_equal(&a->inside, &b->inside);
}

/* -- lookup -- */

/* Bit i: way i has this tag. The tags are one vector, which any compiler target can compare. */
static uint32_t ways_with_tag(const struct index_line *line, uint16_t tag)
{
    typedef uint16_t tags __attribute__((vector_size(2 * FLOW_WAYS)));
    typedef int16_t matches __attribute__((vector_size(2 * FLOW_WAYS)));
    tags have, bits = {1, 2, 4, 8, 16, 32, 64, 128};
    uint64_t halves[2];

    memcpy(&have, line->tags, sizeof(have));
    have = (tags)(matches)(have == tag) & bits;
    memcpy(halves, &have, sizeof(halves));
    halves[0] |= halves[1];
    halves[0] |= halves[0] >> 32;
    return (uint32_t)(halves[0] | halves[0] >> 16) & 0xffff;
}

static struct flow *entry_of(struct flow_table *table, const struct index_line *line, uint32_t ways)
{
    return &table->entries[line->entries[__builtin_ctz(ways)]];
}

static struct flow *find_in(struct flow_table *table, const struct index_line *line,
                            const struct flow_key *key, uint16_t tag)
{
    for (uint32_t ways = ways_with_tag(line, tag); ways; ways &= ways - 1) {
        struct flow *flow = entry_of(table, line, ways);

        if (key_equal(&flow->key, key))
            return flow;
    }
    return NULL;
}

struct flow *flow_find(struct flow_table *table, const struct flow_key *key, uint64_t hash)
{
    const struct index_line *line = &table->lines[first_line(table, hash)];
    struct flow *flow = find_in(table, line, key, tag_of(hash));

    if (!flow && line->displaced)
        flow = find_in(table, &table->lines[second_line(table, hash)], key, tag_of(hash));
    return flow;
}

/* -- lookup of a burst -- */

/* The entry that the first line's tags point to, whose key is yet to be compared, or NULL. */
static struct flow *guess(struct flow_table *table, uint64_t hash)
{
    const struct index_line *line = &table->lines[first_line(table, hash)];
    uint32_t ways = ways_with_tag(line, tag_of(hash));

    return ways ? entry_of(table, line, ways) : NULL;
}

static struct flow *confirm(struct flow_table *table, const struct flow_query *query)
{
    struct flow *flow = query->flow;

    if (flow && key_equal(&flow->key, &query->key))
        return flow;
    if (!flow && !table->lines[first_line(table, query->hash)].displaced)
        return NULL;
    return flow_find(table, &query->key, query->hash);
}

/* The entries that the next newcomers get. */
static void prefetch_free(const struct flow_table *table, unsigned n)
{
    for (unsigned i = 1; i <= n && i <= table->n_free; i++)
        __builtin_prefetch(&table->entries[table->freed[table->n_free - i]], 1);
}

/*
 * Index lines, then entries, each for the whole burst, with little done in between: a prefetch
 * whose page is not in the TLB holds up the core until it is, and only close neighbours wait
 * together.
 */
void flow_find_burst(struct flow_table *table, struct flow_query *queries, unsigned n)
{
    unsigned missing = 0;

    for (unsigned i = 0; i < n; i++)
        if (queries[i].key.tags) {
            queries[i].hash = hash_of(table, &queries[i].key);
            __builtin_prefetch(&table->lines[first_line(table, queries[i].hash)]);
        }
    for (unsigned i = 0; i < n; i++)
        if (queries[i].key.tags) {
            queries[i].flow = guess(table, queries[i].hash);
            __builtin_prefetch(queries[i].flow);
        }
    for (unsigned i = 0; i < n; i++)
        if (queries[i].key.tags) {
            queries[i].flow = confirm(table, &queries[i]);
            missing += !queries[i].flow;
        }
    prefetch_free(table, missing);
}

/* -- insertion and removal -- */

static bool has_empty_way(const struct index_line *line)
{
    return ways_with_tag(line, 0) != 0;
}

bool flow_has_room(const struct flow_table *table, uint64_t hash)
{
    return (table->n_free || table->touched < table->max) &&
           (has_empty_way(&table->lines[first_line(table, hash)]) ||
            has_empty_way(&table->lines[second_line(table, hash)]));
}

static uint32_t take_entry(struct flow_table *table)
{
    uint32_t entry = 0;

    if (table->n_free)
        entry = table->freed[--table->n_free];
    else if (table->touched < table->max)
        entry = ++table->touched;
    return entry;
}

static void set_used(struct flow_table *table, uint32_t used)
{
    __atomic_store_n(&table->used, used, __ATOMIC_RELAXED);
}

struct flow *flow_insert(struct flow_table *table, const struct flow_key *key, uint64_t hash)
{
    struct index_line *first = &table->lines[first_line(table, hash)], *line = first;
    struct flow *flow;
    uint32_t entry;
    unsigned way;

    if (!has_empty_way(line))
        line = &table->lines[second_line(table, hash)];
    if (!has_empty_way(line))
        return NULL;
    entry = take_entry(table);
    if (!entry)
        return NULL;
    way = (unsigned)__builtin_ctz(ways_with_tag(line, 0));
    first->displaced += line != first;
    line->tags[way] = tag_of(hash);
    line->entries[way] = entry;
    set_used(table, table->used + 1);
    flow = &table->entries[entry];
    *flow = (struct flow){.key = *key, .state = FLOW_OPENING, .service = FLOW_NO_SERVICE};
    return flow;
}

static bool clear_in(struct index_line *line, uint32_t entry)
{
    for (unsigned way = 0; way < FLOW_WAYS; way++)
        if (line->entries[way] == entry && line->tags[way] != 0) {
            line->tags[way] = 0;
            return true;
        }
    return false;
}

void flow_remove(struct flow_table *table, struct flow *flow)
{
    uint32_t entry = flow_index(table, flow);
    uint64_t hash = flow_hash(table, &flow->key);
    struct index_line *first = &table->lines[first_line(table, hash)];

    if (!clear_in(first, entry) && clear_in(&table->lines[second_line(table, hash)], entry))
        first->displaced--;
    flow->state = FLOW_FREE;
    table->freed[table->n_free++] = entry;
    set_used(table, table->used - 1);
}

uint32_t flow_index(const struct flow_table *table, const struct flow *flow)
{
    return (uint32_t)(flow - table->entries);
}

struct flow *flow_at(struct flow_table *table, uint32_t index)
{
    return &table->entries[index];
}

uint32_t flow_table_used(const struct flow_table *table)
{
    return __atomic_load_n(&table->used, __ATOMIC_RELAXED);
}

uint32_t flow_table_max(const struct flow_table *table)
{
    return table->max;
}

/* -- time -- */

uint32_t flow_table_tick(struct flow_table *table, uint64_t now_ns)
{
    uint64_t step_ns = table->last_ns && now_ns > table->last_ns ? now_ns - table->last_ns : 0;

    if (step_ns > FLOW_TICK_MAX_MS * NS_PER_MS)
        step_ns = FLOW_TICK_MAX_MS * NS_PER_MS;
    if (now_ns > table->last_ns)
        table->last_ns = now_ns;
    table->age_ns += step_ns;
    table->now_ms = (uint32_t)(table->age_ns / NS_PER_MS);
    return table->now_ms;
}

uint32_t flow_table_now_ms(const struct flow_table *table)
{
    return table->now_ms;
}

bool flow_table_sweep(struct flow_table *table, flow_visit *visit, void *context)
{
    uint32_t passed_ms = table->now_ms - table->swept_ms, due;
    uint64_t share;

    if (passed_ms > FLOW_SWEEP_MS)
        passed_ms = FLOW_SWEEP_MS;
    share = (uint64_t)table->touched * passed_ms + table->sweep_rest;
    due = (uint32_t)(share >> SWEEP_MS_SHIFT);
    table->sweep_rest = share & (FLOW_SWEEP_MS - 1);
    table->swept_ms = table->now_ms;
    while (due-- > 0) {
        struct flow *flow = &table->entries[++table->cursor];

        __builtin_prefetch(flow + 8);
        if (flow->state != FLOW_FREE)
            visit(table, flow, context);
        if (table->cursor >= table->touched) {
            table->cursor = 0;
            table->sweep_rest += due << SWEEP_MS_SHIFT;
            return true;
        }
    }
    return false;
}
