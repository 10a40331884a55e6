/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/demand_memory.h"

#define TICK_SHIFT 20
#define TAG_BITS   22
#define TAG_MASK   ((1u << TAG_BITS) - 1)
#define UNMET_ONE  (1ull << TAG_BITS) /* pieces of work refused for want of capacity: 3 bits */
#define UNMET_MASK (7 * UNMET_ONE)
#define TIME_SHIFT 25
#define TRIES      8 /* a worker that lost so many races for a way gives up */

_Static_assert(1ull << TICK_SHIFT == DEMAND_TICK_NS, "ticks are a shift");

/* Words compare by age; 0 is empty, and older than any. */
struct line {
    uint64_t words[DEMAND_WAYS]; /* atomic: tick + 1, unmet, tag */
} __attribute__((aligned(64)));

struct demand_memory {
    uint64_t line_mask;
    uint64_t until_tick; /* atomic: nothing is unserved for longer than to the end of that tick */
    struct line lines[];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct line) == 64, "a question costs one cache line");

size_t demand_bytes(uint32_t lines)
{
    return sizeof(struct demand_memory) + lines * sizeof(struct line);
}

struct demand_memory *demand_init(void *memory, uint32_t lines)
{
    struct demand_memory *demand = memory;

    demand->line_mask = lines - 1;
    return demand;
}

/* The line's number comes from the low bits of the hash, the tag from the high ones. */
static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - TAG_BITS));
}

static uint64_t word_of(uint64_t hash, uint64_t now_ns)
{
    return ((now_ns >> TICK_SHIFT) + 1) << TIME_SHIFT | tag_of(hash);
}

static uint64_t first_ns_of(uint64_t word)
{
    return ((word >> TIME_SHIFT) - 1) << TICK_SHIFT;
}

static bool is_of(uint64_t word, uint32_t tag)
{
    return word != 0 && ((uint32_t)word & TAG_MASK) == tag;
}

static bool is_live(uint64_t word, uint64_t within_ns, uint64_t now_ns)
{
    uint64_t first_ns = first_ns_of(word);

    return now_ns < first_ns || now_ns - first_ns < within_ns;
}

void demand_prefetch(const struct demand_memory *memory, uint64_t hash)
{
    __builtin_prefetch(&memory->lines[hash & memory->line_mask], 1);
}

static uint32_t word_tag(const struct line *line, unsigned way)
{
    return (uint32_t)__atomic_load_n(&line->words[way], __ATOMIC_RELAXED) & TAG_MASK;
}

/* Most work is in no way of its line, and to see that is all that most questions cost. */
static bool may_know(const struct line *line, uint32_t tag)
{
    for (unsigned i = 0; i < DEMAND_WAYS; i += 4)
        if (word_tag(line, i) == tag || word_tag(line, i + 1) == tag ||
            word_tag(line, i + 2) == tag || word_tag(line, i + 3) == tag)
            return true;
    return false;
}

/* While all is served, no line is looked at. */
static bool knows_nothing(const struct demand_memory *memory, uint64_t now_ns)
{
    return now_ns >> TICK_SHIFT > __atomic_load_n(&memory->until_tick, __ATOMIC_RELAXED);
}

/* Written once a tick at most, so that workers may read it all the time. */
static void remember_until(struct demand_memory *memory, uint64_t within_ns, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + within_ns, until_tick, before;

    until_tick = (until_ns < now_ns ? UINT64_MAX : until_ns) >> TICK_SHIFT;
    before = __atomic_load_n(&memory->until_tick, __ATOMIC_RELAXED);
    while (before < until_tick &&
           !__atomic_compare_exchange_n(&memory->until_tick, &before, until_tick, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

bool demand_find(const struct demand_memory *memory, uint64_t hash, uint64_t within_ns,
                 uint64_t now_ns, uint64_t *first_ns)
{
    const struct line *line = &memory->lines[hash & memory->line_mask];
    uint64_t first = UINT64_MAX;
    uint32_t tag = tag_of(hash);

    if (knows_nothing(memory, now_ns) || !may_know(line, tag))
        return false;
    /* Workers that noted it at the same moment may have put it in two ways. */
    for (unsigned i = 0; i < DEMAND_WAYS; i++) {
        uint64_t word = __atomic_load_n(&line->words[i], __ATOMIC_RELAXED);

        if (is_of(word, tag) && is_live(word, within_ns, now_ns) && word < first)
            first = word;
    }
    if (first == UINT64_MAX)
        return false;
    *first_ns = first_ns_of(first);
    return true;
}

/* The way of that work or, where there is none, the one that makes room; *word is what it holds. */
static inline uint64_t *way_for(struct line *line, uint32_t tag, uint64_t *word)
{
    uint64_t *way = line->words, oldest = UINT64_MAX;

    for (unsigned i = 0; i < DEMAND_WAYS; i++) {
        uint64_t held = __atomic_load_n(&line->words[i], __ATOMIC_RELAXED);

        if (is_of(held, tag)) { /* of work given up as well: no other need go for it */
            *word = held;
            return &line->words[i];
        }
        if (held < oldest) {
            oldest = held;
            way = &line->words[i];
        }
    }
    *word = oldest;
    return way;
}

/* Notes work, and one more unmet piece of it while there are fewer than `most`: true if so. */
static inline __attribute__((always_inline)) bool note(struct demand_memory *memory, uint64_t hash,
                                                       uint64_t most, uint64_t within_ns,
                                                       uint64_t now_ns)
{
    struct line *line = &memory->lines[hash & memory->line_mask];
    uint32_t tag = tag_of(hash);

    remember_until(memory, within_ns, now_ns);
    for (unsigned try = 0; try < TRIES; try++) {
        uint64_t word, *way = way_for(line, tag, &word), after = word;
        bool known = is_of(word, tag) && is_live(word, within_ns, now_ns), counts;

        if (!known)
            after = word_of(hash, now_ns);
        counts = (after & UNMET_MASK) < most;
        if (counts)
            after += UNMET_ONE;
        if (after == word || __atomic_compare_exchange_n(way, &word, after, false, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED))
            return counts;
    }
    return most > 0;
}

void demand_note(struct demand_memory *memory, uint64_t hash, uint64_t within_ns, uint64_t now_ns)
{
    note(memory, hash, 0, within_ns, now_ns);
}

bool demand_note_unmet(struct demand_memory *memory, uint64_t hash, bool again, uint64_t within_ns,
                       uint64_t now_ns)
{
    /* New work is unmet demand whether there is room to count it or not. */
    return note(memory, hash, again ? UNMET_ONE : UNMET_MASK, within_ns, now_ns) || !again;
}

bool demand_met(struct demand_memory *memory, uint64_t hash)
{
    struct line *line = &memory->lines[hash & memory->line_mask];
    uint32_t tag = tag_of(hash);

    for (unsigned i = 0; i < DEMAND_WAYS; i++) {
        uint64_t word = __atomic_load_n(&line->words[i], __ATOMIC_RELAXED);

        while (is_of(word, tag) && word & UNMET_MASK)
            if (__atomic_compare_exchange_n(&line->words[i], &word, word - UNMET_ONE, false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return true;
    }
    return false;
}

void demand_forget(struct demand_memory *memory, uint64_t hash, uint64_t now_ns)
{
    struct line *line = &memory->lines[hash & memory->line_mask];
    uint32_t tag = tag_of(hash);

    if (knows_nothing(memory, now_ns) || !may_know(line, tag))
        return;
    for (unsigned i = 0; i < DEMAND_WAYS; i++) {
        uint64_t word = __atomic_load_n(&line->words[i], __ATOMIC_RELAXED);

        /* Where another worker has put something else meanwhile, that stays. So do pieces of work
         * that are still unmet, of a client who has several: they are served, or expire. */
        while (is_of(word, tag) && !(word & UNMET_MASK) &&
               !__atomic_compare_exchange_n(&line->words[i], &word, 0, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
    }
}
