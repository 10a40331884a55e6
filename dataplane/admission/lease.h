/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One token bucket on many workers: a shared pool, from which workers lease tokens in small lots.
 *
 * The pool is the bucket of bucket.h: the same credits, the same cap. A worker moves `quantum`
 * tokens from the pool into its own lease with one atomic subtraction and spends them with plain
 * arithmetic; a quantum of 1 spends straight from the pool, and is then a single bucket exactly.
 * What is leased counts against the cap: level + cost * outstanding <= cap, always. `outstanding`
 * is raised before the level falls and lowered after it has risen, and a worker reports what it has
 * spent only when it leases again, after the refill: every race errs towards fewer tokens.
 * So for any number of workers
 *   admitted in any interval t <= burst + 1 + rate * (t + e), e = spread of the workers' clocks,
 *   and at most workers * quantum <= (burst + 1) / 16 tokens are missed per busy period.
 * Sources: leases as in Doorman (outstanding <= capacity); GCRA (ITU-T I.371).
 *
 * A pool is shared, a lease belongs to one worker. Nothing waits: who loses the race to refill uses
 * what is there. Times are monotonic ns; workers' clocks may differ.
 */
#ifndef SLUICE_ADMISSION_LEASE_H
#define SLUICE_ADMISSION_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/bucket.h"

#define LEASE_TAU_NS      50000u   /* a lease lasts about this long at the full rate */
#define LEASE_TAU_WORKERS 8u       /* beyond so many workers it lasts longer in proportion */
#define LEASE_EVENTS_MAX  64u      /* tokens in a lot */
#define LEASE_FRAME_BYTES 1518u    /* a byte lease is at least one maximal frame, */
#define LEASE_BYTES_MAX   65536u   /* and at most this */
#define LEASE_BURST_SHARE 16u      /* all leases together are at most 1/16 of the burst */
#define LEASE_IDLE_NS     1000000u /* an unspent lease goes back after this */

/* Shared, on a cache line of its own; touched once per lease. All fields atomic. */
struct pool {
    int64_t level;       /* credits; below zero only for moments, while a taker backs out */
    uint64_t last_ns;    /* of the last refill; never moves back */
    int64_t outstanding; /* tokens in leases, as far as reported */
} __attribute__((aligned(64)));

/* One worker's. One cache line with the rate it is filled at. */
struct lease {
    struct bucket_rate rate;
    uint64_t none_before_ns; /* the pool is known to be empty until then */
    uint64_t since_ns;       /* when the lot was leased */
    uint32_t left;           /* tokens to spend */
    uint32_t granted;        /* of this lease, as counted in the pool's `outstanding` */
    uint32_t quantum;        /* tokens in a lot; 1: spend from the pool */
    uint32_t generation;     /* of the worker when it leased: an older lease is void */
};

_Static_assert(sizeof(struct pool) == 64, "pools share no cache line");
_Static_assert(sizeof(struct lease) == 64, "a lease is one cache line");

/* Lots for an event bucket: rate * tau / workers, within the limits above. Not per packet. */
static inline uint32_t lease_quantum_events(const struct bucket_rate *rate, uint32_t workers)
{
    uint64_t tau_ns = (uint64_t)LEASE_TAU_NS *
                      (workers > LEASE_TAU_WORKERS ? workers : LEASE_TAU_WORKERS) /
                      LEASE_TAU_WORKERS;
    uint64_t q, share;

    if (rate->cost == 0 || rate->rate == 0)
        return 1;
    /* credits gained in tau, in whole tokens, rounded up */
    q = (rate->rate * tau_ns + rate->cost - 1) / rate->cost;
    q = (q + workers - 1) / workers;
    share = rate->cap / rate->cost / LEASE_BURST_SHARE / workers;
    if (q > LEASE_EVENTS_MAX)
        q = LEASE_EVENTS_MAX;
    if (q > share)
        q = share;
    return q ? (uint32_t)q : 1;
}

/* The same in bytes; 1 (no lease) while the burst is below 16 frames for each worker. */
static inline uint32_t lease_quantum_bytes(const struct bucket_rate *rate, uint32_t workers)
{
    uint64_t burst_bytes = rate->cost ? rate->cap / rate->cost : 0;
    uint64_t q;

    if (burst_bytes < (uint64_t)LEASE_BURST_SHARE * workers * LEASE_FRAME_BYTES)
        return 1;
    q = rate->rate * LEASE_TAU_NS / rate->cost / workers;
    if (q > burst_bytes / LEASE_BURST_SHARE / workers)
        q = burst_bytes / LEASE_BURST_SHARE / workers;
    if (q > LEASE_BYTES_MAX)
        q = LEASE_BYTES_MAX;
    return q < LEASE_FRAME_BYTES ? LEASE_FRAME_BYTES : (uint32_t)q;
}

static inline void pool_init(struct pool *pool, const struct bucket_rate *rate, uint64_t now_ns)
{
    __atomic_store_n(&pool->level, (int64_t)rate->cap, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->last_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->outstanding, 0, __ATOMIC_RELAXED);
}

/* Adds what time has earned. One worker wins each span of time; the others do not wait for it. */
static inline void pool_refill(struct pool *pool, const struct bucket_rate *rate, uint64_t now_ns)
{
    uint64_t last_ns = __atomic_load_n(&pool->last_ns, __ATOMIC_RELAXED);
    int64_t held, room;
    uint64_t dt_ns, earned;

    if (now_ns <= last_ns || !__atomic_compare_exchange_n(&pool->last_ns, &last_ns, now_ns, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    dt_ns = now_ns - last_ns;
    if (dt_ns > rate->fill_ns)
        dt_ns = rate->fill_ns;
    earned = dt_ns * rate->rate;
    held = __atomic_load_n(&pool->outstanding, __ATOMIC_ACQUIRE) * (int64_t)rate->cost;
    room = (int64_t)rate->cap - held - __atomic_load_n(&pool->level, __ATOMIC_ACQUIRE);
    /* Below zero after the burst was lowered: then the excess goes. */
    if (room >= 0 && earned < (uint64_t)room)
        room = (int64_t)earned;
    __atomic_fetch_add(&pool->level, room, __ATOMIC_ACQ_REL);
}

/* Takes up to `n` tokens out of the level, all or, with `some`, as many as are there. */
static inline uint32_t pool_take(struct pool *pool, const struct bucket_rate *rate, uint32_t n,
                                 bool some)
{
    int64_t want = (int64_t)(n * rate->cost);
    int64_t before = __atomic_fetch_sub(&pool->level, want, __ATOMIC_ACQ_REL);
    uint32_t got = n;

    if (__builtin_expect(before >= want, 1))
        return n;
    got = some && before > 0 ? (uint32_t)((uint64_t)before / rate->cost) : 0;
    __atomic_fetch_add(&pool->level, (int64_t)((n - got) * rate->cost), __ATOMIC_ACQ_REL);
    return got;
}

static inline void pool_give(struct pool *pool, const struct bucket_rate *rate, uint32_t n)
{
    __atomic_fetch_add(&pool->level, (int64_t)(n * rate->cost), __ATOMIC_ACQ_REL);
}

/*
 * Remembers for how long it is pointless to ask again, so that refusals stay with the worker. One
 * division per empty pool. Of bytes it is not: a smaller packet may fit where a larger did not, so
 * a worker that leases holds back for no longer than its lot takes to come in, at most tau.
 */
static inline void lease_remember_empty(struct lease *lease, const struct pool *pool, uint32_t n,
                                        uint64_t now_ns)
{
    const struct bucket_rate *rate = &lease->rate;
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_RELAXED);
    uint64_t lot_ns = 0, wait_ns = 0;

    if (level >= (int64_t)(n * rate->cost)) /* refilled meanwhile */
        return;
    if (lease->quantum > 1) {
        lot_ns = lease->quantum * rate->cost / rate->rate;
        if (lot_ns > LEASE_TAU_NS)
            lot_ns = LEASE_TAU_NS;
    }
    if (n == 1)
        wait_ns = (rate->cost - (level > 0 ? (uint64_t)level : 0) + rate->rate - 1) / rate->rate;
    if (wait_ns > LEASE_IDLE_NS) /* somebody else may give a token back */
        wait_ns = LEASE_IDLE_NS;
    lease->none_before_ns = now_ns + (wait_ns > lot_ns ? wait_ns : lot_ns);
}

/* Gets a new lot, so that at least `n` tokens are left; false if the pool has not so many. */
static inline bool lease_renew(struct lease *lease, struct pool *pool, uint32_t n, uint64_t now_ns)
{
    uint32_t want = n - lease->left > lease->quantum ? n - lease->left : lease->quantum;
    uint32_t got;

    pool_refill(pool, &lease->rate, now_ns);
    /* Only now is it told what was spent, so that the time before earned nothing for it. */
    __atomic_fetch_add(&pool->outstanding, (int64_t)want + lease->left - (int64_t)lease->granted,
                       __ATOMIC_ACQ_REL);
    got = pool_take(pool, &lease->rate, want, true);
    if (got < want)
        __atomic_fetch_sub(&pool->outstanding, want - got, __ATOMIC_ACQ_REL);
    lease->left += got;
    __atomic_store_n(&lease->granted, lease->left, __ATOMIC_RELAXED);
    lease->since_ns = now_ns;
    return lease->left >= n;
}

/*
 * Takes `n` tokens (events or bytes) or none. `generation` is the worker's: what it leased under an
 * older one was reclaimed, so it is void. n * cost must fit the cap's range.
 */
static inline bool lease_take(struct lease *lease, struct pool *pool, uint32_t n,
                              uint32_t generation, uint64_t now_ns)
{
    if (lease->rate.cap == 0) /* unlimited or blocked */
        return lease->rate.cost == 0;
    if (__builtin_expect(lease->generation != generation, 0)) {
        lease->left = 0;
        __atomic_store_n(&lease->granted, 0, __ATOMIC_RELAXED);
        lease->generation = generation;
    }
    if (lease->left >= n) {
        lease->left -= n;
        return true;
    }
    if (now_ns < lease->none_before_ns)
        return false;
    if (lease->quantum == 1) {
        pool_refill(pool, &lease->rate, now_ns);
        if (pool_take(pool, &lease->rate, n, false) == n)
            return true;
    } else if (lease_renew(lease, pool, n, now_ns)) {
        lease->left -= n;
        return true;
    }
    lease_remember_empty(lease, pool, n, now_ns);
    return false;
}

/* Gives back `n` tokens just taken: another limit was in the way. */
static inline void lease_untake(struct lease *lease, struct pool *pool, uint32_t n)
{
    if (lease->rate.cap == 0)
        return;
    if (lease->quantum == 1)
        pool_give(pool, &lease->rate, n);
    else
        lease->left += n;
}

/* Returns everything unspent: first to the level, then out of `outstanding`. */
static inline void lease_return(struct lease *lease, struct pool *pool)
{
    if (lease->left)
        pool_give(pool, &lease->rate, lease->left);
    __atomic_fetch_sub(&pool->outstanding, lease->granted, __ATOMIC_ACQ_REL);
    lease->left = 0;
    __atomic_store_n(&lease->granted, 0, __ATOMIC_RELAXED);
}

#endif
