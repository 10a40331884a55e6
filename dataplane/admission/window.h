/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit on work in flight, shared by all workers and exact at any moment: one atomic add for each
 * attempt and one for each completion, none per packet. Never over-admits; two workers racing for
 * the last slot may both be refused once, never both admitted.
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
    uint32_t used; /* slots, atomic */
    uint32_t peak; /* highest `used` so far, atomic */
} __attribute__((aligned(64)));

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
    uint32_t before = __atomic_fetch_add(&w->used, 1, __ATOMIC_RELAXED);

    if (before >= limit) {
        __atomic_fetch_sub(&w->used, 1, __ATOMIC_RELAXED);
        return false;
    }
    window_note_peak(w, before + 1);
    return true;
}

/* Takes a slot whatever the limit: work that already runs and was only now noticed. */
static inline void window_force(struct window *w)
{
    window_note_peak(w, __atomic_add_fetch(&w->used, 1, __ATOMIC_RELAXED));
}

/* Gives back one slot taken before. Any worker, once per slot. */
static inline void window_release(struct window *w)
{
    __atomic_fetch_sub(&w->used, 1, __ATOMIC_RELAXED);
}

static inline uint32_t window_used(const struct window *w)
{
    return __atomic_load_n(&w->used, __ATOMIC_RELAXED);
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
