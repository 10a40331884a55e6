/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Retry budget: retries are let through up to a tenth of the unique work, and RETRY_RESERVE more. A
 * service that fails altogether is asked 1.1 times as often, not as often as its clients have
 * patience (Google SRE book, "Handling overload": at most one retry in ten requests).
 *
 * One shared word for each tenant, in tenths of a retry: a unique attempt adds one, a retry takes
 * RETRY_COST. It starts full. It is full at the reserve, too: what a quiet day has not used is not
 * saved for the next outage, and so the bound holds for every interval, not only from the start:
 *   retries let through <= .1 * unique attempts + 10.
 *
 * Any worker, relaxed atomics, one per attempt; an attempt that finds the budget full or empty only
 * reads. Never below 0, never above RETRY_CAP. Whether the budget is asked at all (only while there
 * is overload) is the caller's business.
 */
#ifndef SLUICE_ADMISSION_RETRY_H
#define SLUICE_ADMISSION_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_COST    10u               /* tenths */
#define RETRY_RESERVE (10 * RETRY_COST) /* tenths, at the start */
#define RETRY_CAP     RETRY_RESERVE     /* tenths, at most */

static inline void retry_init(uint32_t *tenths)
{
    __atomic_store_n(tenths, RETRY_RESERVE, __ATOMIC_RELAXED);
}

static inline void retry_give(uint32_t *tenths, uint32_t n)
{
    uint32_t before = __atomic_load_n(tenths, __ATOMIC_RELAXED), after;

    do {
        if (before == RETRY_CAP)
            return;
        after = before + n < RETRY_CAP ? before + n : RETRY_CAP;
    } while (!__atomic_compare_exchange_n(tenths, &before, after, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

/* A unique attempt earns a tenth. */
static inline void retry_unique(uint32_t *tenths)
{
    retry_give(tenths, 1);
}

/* Pays for a retry; false if there is not enough, and then nothing was taken. */
static inline bool retry_take(uint32_t *tenths)
{
    uint32_t before = __atomic_load_n(tenths, __ATOMIC_RELAXED);

    do
        if (before < RETRY_COST)
            return false;
    while (!__atomic_compare_exchange_n(tenths, &before, before - RETRY_COST, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

/* Gives back what was just taken: another limit was in the way. */
static inline void retry_untake(uint32_t *tenths)
{
    retry_give(tenths, RETRY_COST);
}

/* For listings, in tenths of a retry. */
static inline uint32_t retry_tenths(const uint32_t *tenths)
{
    return __atomic_load_n(tenths, __ATOMIC_RELAXED);
}

#endif
