/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/answered.h"

#include <stdbool.h>

#define WAYS      4
#define TAG_SHIFT 8 /* what the tag leaves out is in the line's number, given 2^8 lines */

struct way {
    uint64_t first_ns; /* of the first refusal; 0 with no reason: empty, and the oldest */
    uint64_t tag : 64 - TAG_SHIFT, reason : TAG_SHIFT;
};

struct line {
    struct way ways[WAYS];
} __attribute__((aligned(64)));

struct answered {
    uint64_t line_mask;
    uint64_t until_ns; /* no answer stands longer: while nobody is refused no line is looked at */
    struct line lines[];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct line) == 64, "a question costs one cache line");
_Static_assert(REASON_MAX <= 1 << TAG_SHIFT, "a reason fits beside the tag");

size_t answered_bytes(uint32_t lines)
{
    return sizeof(struct answered) + lines * sizeof(struct line);
}

struct answered *answered_init(void *memory, uint32_t lines)
{
    struct answered *answered = memory;

    answered->line_mask = lines - 1;
    return answered;
}

void answered_prefetch(const struct answered *answered, uint64_t hash)
{
    __builtin_prefetch(&answered->lines[hash & answered->line_mask]);
}

/* Has the way been used for that hash, and not been forgotten? */
static bool is_of(const struct way *way, uint64_t hash)
{
    return way->tag == hash >> TAG_SHIFT && way->reason != REASON_NONE;
}

static bool stands(const struct way *way, uint64_t now_ns)
{
    return now_ns < way->first_ns + ANSWERED_NS;
}

enum reason answered_find(const struct answered *answered, uint64_t hash, uint64_t now_ns)
{
    const struct way *ways = answered->lines[hash & answered->line_mask].ways;

    if (now_ns >= answered->until_ns)
        return REASON_NONE;
    for (unsigned i = 0; i < WAYS; i++)
        if (is_of(&ways[i], hash) && stands(&ways[i], now_ns))
            return (enum reason)ways[i].reason;
    return REASON_NONE;
}

void answered_note(struct answered *answered, uint64_t hash, enum reason reason, uint64_t now_ns)
{
    struct way *ways = answered->lines[hash & answered->line_mask].ways, *oldest = ways;

    for (unsigned i = 0; i < WAYS; i++) {
        if (is_of(&ways[i], hash) && stands(&ways[i], now_ns))
            return;
        if (ways[i].first_ns < oldest->first_ns)
            oldest = &ways[i];
    }
    answered->until_ns = now_ns + ANSWERED_NS;
    *oldest = (struct way){.first_ns = now_ns, .tag = hash >> TAG_SHIFT, .reason = reason};
}

void answered_forget(struct answered *answered, uint64_t hash)
{
    struct way *ways = answered->lines[hash & answered->line_mask].ways;

    for (unsigned i = 0; i < WAYS; i++)
        if (is_of(&ways[i], hash))
            ways[i] = (struct way){0};
}
