/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit on work in flight, shared by all workers and exact at any moment: one atomic add for each
 * attempt and one for each completion, none per packet. Never over-admits; two workers racing for
 * the last slot may both be refused once, never both admitted.
 *
 * Some of the slots may be opening: held for a client that has not confirmed yet that it is there.
 * They have a limit of their own, and share the word with the others, so that a slot that is taken
 * so, and given back so, costs one atomic as well.
 *
 * `used` may stand above the limit only through window_force() (adopted flows) and after the limit
 * was lowered; the excess is debt, and nobody new enters until it is gone.
 */
#ifndef SLUICE_ADMISSION_WINDOW_H
#define SLUICE_ADMISSION_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* One cache line of its own, so that busy windows do not disturb each other. */
struct window {
    uint64_t slots; /* used, and in units of WINDOW_OPENING which of them are opening; atomic */
    uint32_t peak;  /* most used so far; atomic */
} __attribute__((aligned(64)));

#define WINDOW_OPENING (1ull << 32)

enum window_answer { WINDOW_TAKEN, WINDOW_FULL, WINDOW_OPENING_FULL };

static inline void window_note_peak(struct window *w, uint32_t used)
{
    uint32_t peak = __atomic_load_n(&w->peak, __ATOMIC_RELAXED);

    while (used > peak && !__atomic_compare_exchange_n(&w->peak, &peak, used, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Takes a slot if fewer than `limit` are used. Any worker. */
static inline bool window_acquire(struct window *w, uint32_t limit)
{
    uint32_t before = (uint32_t)__atomic_fetch_add(&w->slots, 1, __ATOMIC_RELAXED);

    if (before >= limit) {
        __atomic_fetch_sub(&w->slots, 1, __ATOMIC_RELAXED);
        return false;
    }
    window_note_peak(w, before + 1);
    return true;
}

/* The same of an opening slot, of which there may be `opening_limit`. */
static inline enum window_answer window_acquire_opening(struct window *w, uint32_t limit,
                                                        uint32_t opening_limit)
{
    const uint64_t one = WINDOW_OPENING + 1;
    uint64_t before = __atomic_fetch_add(&w->slots, one, __ATOMIC_RELAXED);
    bool full = (uint32_t)before >= limit;

    if (full || before / WINDOW_OPENING >= opening_limit) {
        __atomic_fetch_sub(&w->slots, one, __ATOMIC_RELAXED);
        return full ? WINDOW_FULL : WINDOW_OPENING_FULL;
    }
    window_note_peak(w, (uint32_t)before + 1);
    return WINDOW_TAKEN;
}

/* An opening slot is one as any other from now on. Any worker, once per opening slot. */
static inline void window_confirm(struct window *w)
{
    __atomic_fetch_sub(&w->slots, WINDOW_OPENING, __ATOMIC_RELAXED);
}

/* Takes a slot whatever the limit: work that already runs and was only now noticed. */
static inline void window_force(struct window *w)
{
    window_note_peak(w, (uint32_t)__atomic_add_fetch(&w->slots, 1, __ATOMIC_RELAXED));
}

/* Gives back one slot taken before. Any worker, once per slot. */
static inline void window_release(struct window *w)
{
    __atomic_fetch_sub(&w->slots, 1, __ATOMIC_RELAXED);
}

/* One that is still opening. */
static inline void window_release_opening(struct window *w)
{
    __atomic_fetch_sub(&w->slots, WINDOW_OPENING + 1, __ATOMIC_RELAXED);
}

static inline uint32_t window_used(const struct window *w)
{
    return (uint32_t)__atomic_load_n(&w->slots, __ATOMIC_RELAXED);
}

static inline uint32_t window_opening(const struct window *w)
{
    return (uint32_t)(__atomic_load_n(&w->slots, __ATOMIC_RELAXED) / WINDOW_OPENING);
}

static inline uint32_t window_peak(const struct window *w)
{
    return __atomic_load_n(&w->peak, __ATOMIC_RELAXED);
}

/* Slots beyond the limit. */
static inline uint32_t window_debt(const struct window *w, uint32_t limit)
{
    uint32_t used = window_used(w);

    return used > limit ? used - limit : 0;
}

#endif
