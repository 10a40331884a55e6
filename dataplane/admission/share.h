/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tenants' shares of a service's window: each share has slots that are guaranteed to it, a ceiling,
 * and between the two it borrows what nobody is guaranteed. One share may take a slot iff
 *
 *   used < ceiling, and the service's use < limit, and
 *   used < guaranteed, or the service's use + what the others' guarantees still miss < limit.
 *
 * A share is a window; those of one service are an array, number 0 for everybody who has no share
 * of his own (guaranteed 0, ceiling = limit). Without shares the array has length 0, and a slot
 * costs what window_acquire() costs.
 *
 * Exact for the service's limit and for the ceilings, among any number of workers: add and back
 * out, as in window.h. The guarantee is not exact: in the moment in which one worker tries for a
 * slot, that slot counts as used, and another worker may lend it out. Whoever is refused that way
 * waits for the next one. Set guarantees so that their sum is no more than the limit; otherwise
 * first come, first served up to the limit, and nothing is lent.
 */
#ifndef SLUICE_ADMISSION_SHARE_H
#define SLUICE_ADMISSION_SHARE_H

#include "dataplane/admission/window.h"

#define SHARES_MAX 20 /* that a service may have, besides number 0 */

struct share_rules {
    uint32_t guaranteed, ceiling; /* slots */
    uint32_t weight;              /* when slots are handed out to those who wait; 1 or more */
};

enum share_answer {
    SHARE_TAKEN,
    SHARE_CEILING, /* the share's own limit: a matter of quota */
    SHARE_FULL,    /* the service's limit, or what others are guaranteed of it: capacity */
};

/* What others are guaranteed and do not use at the moment. */
static inline uint32_t share_reserved(const struct window *shares, const struct share_rules *rules,
                                      unsigned n_shares, unsigned share)
{
    uint32_t reserved = 0;

    for (unsigned i = 0; i < n_shares; i++) {
        uint32_t used;

        if (i == share || rules[i].guaranteed == 0) /* then its line is none of our business */
            continue;
        used = window_used(&shares[i]);
        if (used < rules[i].guaranteed)
            reserved += rules[i].guaranteed - used;
    }
    return reserved;
}

/*
 * Takes a slot in the share, if there are shares, and tells up to how many the service's window may
 * be used then, 0: not at all. False: the share is at its ceiling. Who finds no room in the
 * service's window gives it back. Arguments as of share_acquire().
 */
static inline bool share_enter(struct window *shares, const struct share_rules *rules,
                               unsigned n_shares, unsigned share, uint32_t *limit)
{
    uint32_t reserved = 0;

    if (n_shares == 0)
        return true;
    if (!window_acquire(&shares[share], rules[share].ceiling))
        return false;
    /* Our own slot is counted by now. */
    if (window_used(&shares[share]) > rules[share].guaranteed)
        reserved = share_reserved(shares, rules, n_shares, share);
    *limit = reserved < *limit ? *limit - reserved : 0;
    return true;
}

static inline void share_leave(struct window *shares, unsigned n_shares, unsigned share)
{
    if (n_shares > 0)
        window_release(&shares[share]);
}

/*
 * Takes a slot in the service's window and in the share, or in neither. `share` < n_shares <=
 * SHARES_MAX + 1, `rules` and `shares` as long, guarantees up to POLICY_WINDOW_MAX; both unused
 * when n_shares is 0. Any worker.
 */
static inline enum share_answer share_acquire(struct window *service, struct window *shares,
                                              const struct share_rules *rules, unsigned n_shares,
                                              unsigned share, uint32_t limit)
{
    if (!share_enter(shares, rules, n_shares, share, &limit))
        return SHARE_CEILING;
    if (limit > 0 && window_acquire(service, limit))
        return SHARE_TAKEN;
    share_leave(shares, n_shares, share);
    return SHARE_FULL;
}

/* Takes a slot in both whatever the limits, as window_force(). */
static inline void share_force(struct window *service, struct window *shares, unsigned n_shares,
                               unsigned share)
{
    if (n_shares > 0)
        window_force(&shares[share]);
    window_force(service);
}

/* Gives back one slot taken before. Any worker, once per slot. */
static inline void share_release(struct window *service, struct window *shares, unsigned n_shares,
                                 unsigned share)
{
    window_release(service);
    share_leave(shares, n_shares, share);
}

#endif
