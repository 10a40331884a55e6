/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/flow/silence.h"

#define SLOT_MASK (SILENCE_SPAN_MS - 1)

_Static_assert((SILENCE_SPAN_MS & SLOT_MASK) == 0, "the ring comes round by a mask");

struct entry {
    uint32_t flow;
    uint32_t next; /* of the same millisecond, or free; 0 ends */
};

struct silence {
    uint32_t now_ms; /* everything due before has been popped */
    uint32_t used;
    uint32_t touched; /* entries ever used: [1, touched] */
    uint32_t max;
    uint32_t free; /* a list of them */
    struct entry *entries;
    uint32_t slots[SILENCE_SPAN_MS]; /* first entry of each millisecond, 0: none */
};

size_t silence_bytes(uint32_t max)
{
    return sizeof(struct silence) + ((size_t)max + 1) * sizeof(struct entry);
}

struct silence *silence_init(void *memory, uint32_t max)
{
    struct silence *silence = memory;

    silence->entries = (struct entry *)(silence + 1);
    silence->max = max;
    return silence;
}

static uint32_t take_entry(struct silence *silence)
{
    uint32_t entry = silence->free;

    if (entry)
        silence->free = silence->entries[entry].next;
    else if (silence->touched < silence->max)
        entry = ++silence->touched;
    return entry;
}

bool silence_push(struct silence *silence, uint32_t flow, uint32_t due_ms)
{
    int32_t ahead_ms = (int32_t)(due_ms - silence->now_ms);
    uint32_t entry = take_entry(silence), *slot;

    if (!entry)
        return false;
    if (ahead_ms < 0)
        ahead_ms = 0;
    if (ahead_ms > SILENCE_SPAN_MS - 1)
        ahead_ms = SILENCE_SPAN_MS - 1;
    slot = &silence->slots[(silence->now_ms + (uint32_t)ahead_ms) & SLOT_MASK];
    silence->entries[entry] = (struct entry){flow, *slot};
    *slot = entry;
    silence->used++;
    return true;
}

uint32_t silence_pop_due(struct silence *silence, uint32_t now_ms)
{
    uint32_t *slot = &silence->slots[silence->now_ms & SLOT_MASK], entry;

    if (silence->used == 0) {
        silence->now_ms = now_ms;
        return 0;
    }
    /* What is in the ring is less than a round away, so this ends, however far time has gone. */
    while (!*slot) {
        if (silence->now_ms == now_ms)
            return 0;
        slot = &silence->slots[++silence->now_ms & SLOT_MASK];
    }
    entry = *slot;
    *slot = silence->entries[entry].next;
    silence->entries[entry].next = silence->free;
    silence->free = entry;
    silence->used--;
    return silence->entries[entry].flow;
}
