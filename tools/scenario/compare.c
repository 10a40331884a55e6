/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that lead to the same value, or to a part of it. */
#include <string.h>

#include "tools/scenario/override.h"
#include "tools/scenario/reading.h"

/* Where a key leads, in the scenario or in the file of its gate. */
struct way {
    const struct scan *scan;
    const struct scan_node *node;
    char key[SCAN_PATH_MAX]; /* too long a key leads nowhere */
    const char *rest;
};

static void find_way(const struct scenario_memory *memory, const char *key, struct way *way)
{
    const size_t prefix = strlen(GATE_PREFIX);
    bool in_file = memory->gate.path && !strncmp(key, GATE_PREFIX, prefix);

    way->scan = in_file ? &memory->gate.scan : &memory->document.scan;
    snprintf(way->key, sizeof(way->key), "%.*s", (int)strcspn(key, "="), key);
    way->node = key_follow(way->scan, way->key + (in_file ? prefix : 0), &way->rest);
}

/* Is `outer` a whole value, and `inner` beyond it on the same way? */
static bool is_within(const struct way *inner, const struct way *outer)
{
    const struct scan_node *nodes = outer->scan->nodes, *node = inner->node;

    if (*outer->rest)
        return false;
    if (inner->scan != outer->scan) /* all of a gate's file is within the gate */
        return outer->node == key_find(outer->scan, "gate");
    while (node != outer->node && node->parent != SCAN_NO_PARENT)
        node = &nodes[node->parent];
    return node == outer->node;
}

enum scenario_keys scenario_compare_keys(const struct scenario *scenario, const char *key,
                                         const char *other)
{
    struct way a, b;

    find_way(scenario->memory, key, &a);
    find_way(scenario->memory, other, &b);
    if (a.node == b.node && !strcmp(a.rest, b.rest))
        return KEYS_SAME;
    return is_within(&a, &b) || is_within(&b, &a) ? KEYS_NESTED : KEYS_APART;
}
