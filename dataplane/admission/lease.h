/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One token bucket on many workers: a shared pool, from which workers lease tokens in small lots.
 *
 * The pool is the bucket of bucket.h: the same credits, the same cap. A worker moves a lot of
 * tokens from the pool into its own lease with one atomic subtraction and spends them with plain
 * arithmetic; a lot of 1 is spent straight from the pool, which is then a single bucket exactly.
 * What is leased counts against the cap: level + cost * outstanding <= cap. `outstanding` is raised
 * before the level falls and lowered after it has risen, and a worker reports what it has spent
 * only when it leases again or returns its lot, after the refill. So for any number of workers
 *   admitted in any interval t <= burst + 1 + rate * (t + e), e = spread of the workers' clocks,
 *   and at most 2 * workers * lot <= (burst + 1) / 8 tokens are missed per busy period: one half
 *   in leases of workers that have nothing to do, one in a pool that is left alone for a moment.
 * What is given back unused counts there as never taken; pool and leases together still hold
 * burst + 1 at most.
 * A worker that is held up inside a call works with an old time, so e counts its pause, too: what
 * races can add is never more than others earned in that pause.
 * Sources: leases as in Doorman (outstanding <= capacity); GCRA (ITU-T I.371).
 *
 * A pool is shared, a lease belongs to one worker; only `granted` may be taken from it by another
 * thread, with lease_take_granted(). Nothing waits: who loses the race to refill uses what is
 * there. Times are monotonic ns; workers' clocks may differ.
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
#define LEASE_BYTES_MAX   65535u   /* and at most this */
#define LEASE_BURST_SHARE 16u      /* all leases together are at most 1/16 of the burst */
#define LEASE_IDLE_NS     1000000u /* an unspent lease goes back after this */

/* Shared, on a cache line of its own; touched once per lease. All fields atomic. */
struct pool {
    int64_t level;       /* credits; below zero only for moments, while a taker backs out */
    uint64_t last_ns;    /* of the last refill; never moves back */
    int64_t outstanding; /* tokens in leases, as far as reported */
} __attribute__((aligned(64)));

/* How much is leased at a time, and how long a pool that was found empty is left alone:
 * LEASE_TAU_NS, but no longer than every worker's lot takes to be earned. */
struct lot {
    uint16_t tokens;  /* 1: spend from the pool */
    uint16_t wait_ns; /* 0 for lots of 1 */
};

/* One worker's. One cache line with the rate it is filled at. */
struct lease {
    struct bucket_rate rate;
    uint64_t none_before_ns; /* the pool is known to be empty until then */
    uint64_t since_ns;       /* when the lot was leased */
    uint32_t left;           /* tokens to spend */
    uint32_t granted;        /* counted in the pool's `outstanding` for this lease; atomic */
    struct lot lot;
    uint32_t generation; /* of the worker when it leased: an older lease is void */
};

_Static_assert(sizeof(struct pool) == 64, "pools share no cache line");
_Static_assert(sizeof(struct lease) == 64, "a lease is one cache line");

static inline struct lot lease_lot(const struct bucket_rate *rate, uint64_t tokens,
                                   uint32_t workers)
{
    struct lot lot = {.tokens = 1};
    uint64_t earned_ns;

    if (tokens > 1) {
        earned_ns = workers * tokens * rate->cost / rate->rate;
        lot.tokens = (uint16_t)tokens;
        lot.wait_ns = (uint16_t)(earned_ns < LEASE_TAU_NS ? earned_ns : LEASE_TAU_NS);
    }
    return lot;
}

/* Lots for an event bucket: rate * tau / workers, within the limits above. Not per packet. */
static inline struct lot lease_lot_events(const struct bucket_rate *rate, uint32_t workers)
{
    uint64_t tau_ns = (uint64_t)LEASE_TAU_NS *
                      (workers > LEASE_TAU_WORKERS ? workers : LEASE_TAU_WORKERS) /
                      LEASE_TAU_WORKERS;
    uint64_t q, share;

    if (rate->cost == 0 || rate->rate == 0)
        return lease_lot(rate, 1, workers);
    /* credits gained in tau, in whole tokens, rounded up */
    q = (rate->rate * tau_ns + rate->cost - 1) / rate->cost;
    q = (q + workers - 1) / workers;
    share = rate->cap / rate->cost / LEASE_BURST_SHARE / workers;
    if (q > LEASE_EVENTS_MAX)
        q = LEASE_EVENTS_MAX;
    if (q > share)
        q = share;
    return lease_lot(rate, q, workers);
}

/* The same in bytes; 1 (no lease) while the burst is below 16 frames for each worker. */
static inline struct lot lease_lot_bytes(const struct bucket_rate *rate, uint32_t workers)
{
    uint64_t burst_bytes = rate->cost ? rate->cap / rate->cost : 0;
    uint64_t q;

    if (burst_bytes < (uint64_t)LEASE_BURST_SHARE * workers * LEASE_FRAME_BYTES)
        return lease_lot(rate, 1, workers);
    q = rate->rate * LEASE_TAU_NS / rate->cost / workers;
    if (q > burst_bytes / LEASE_BURST_SHARE / workers)
        q = burst_bytes / LEASE_BURST_SHARE / workers;
    if (q > LEASE_BYTES_MAX)
        q = LEASE_BYTES_MAX;
    return lease_lot(rate, q < LEASE_FRAME_BYTES ? LEASE_FRAME_BYTES : q, workers);
}

/* A level of `level` credits at `now_ns`. `outstanding` is the leases' business: in new memory it
 * is zero, and later it is what they make it. */
static inline void pool_set(struct pool *pool, uint64_t level, uint64_t now_ns)
{
    if (now_ns > __atomic_load_n(&pool->last_ns, __ATOMIC_RELAXED))
        __atomic_store_n(&pool->last_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->level, (int64_t)level, __ATOMIC_RELEASE);
}

/* Credits the level may have beside what is leased. Not below zero: after the burst was lowered,
 * leases alone may exceed it for a moment, and that must not become a debt. */
static inline int64_t pool_most(const struct pool *pool, const struct bucket_rate *rate)
{
    int64_t held = __atomic_load_n(&pool->outstanding, __ATOMIC_ACQUIRE) * (int64_t)rate->cost;

    return held < (int64_t)rate->cap ? (int64_t)rate->cap - held : 0;
}

/* Adds to the level, up to `most`; what stands above that already goes. */
static inline void pool_add(struct pool *pool, int64_t credits, int64_t most)
{
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_RELAXED), sum;

    do
        sum = level < most - credits ? level + credits : most; /* cannot overflow */
    while (!__atomic_compare_exchange_n(&pool->level, &level, sum, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
}

/* Adds what time has earned. One worker wins each span of time; the others do not wait for it. */
static inline void pool_refill(struct pool *pool, const struct bucket_rate *rate, uint64_t now_ns)
{
    uint64_t last_ns = __atomic_load_n(&pool->last_ns, __ATOMIC_ACQUIRE);
    uint64_t dt_ns, earned;
    int64_t most, room;

    if (now_ns <= last_ns)
        return;
    /* Looked at before the span is won. A winner that is held up here must not come back with a
     * whole burst because the bucket, meanwhile, was emptied. */
    most = pool_most(pool, rate);
    room = most - __atomic_load_n(&pool->level, __ATOMIC_ACQUIRE);
    if (!__atomic_compare_exchange_n(&pool->last_ns, &last_ns, now_ns, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    dt_ns = now_ns - last_ns;
    if (dt_ns > rate->fill_ns)
        dt_ns = rate->fill_ns;
    earned = dt_ns * rate->rate;
    if (room < 0)
        room = 0;
    pool_add(pool, earned < (uint64_t)room ? (int64_t)earned : room, most);
}

/* Takes `n` tokens out of the level or, where there are fewer, as many as there are, but at least
 * `least` or none. */
static inline uint32_t pool_take(struct pool *pool, const struct bucket_rate *rate, uint32_t n,
                                 uint32_t least)
{
    int64_t want = (int64_t)(n * rate->cost);
    int64_t before = __atomic_fetch_sub(&pool->level, want, __ATOMIC_ACQ_REL);
    uint32_t got = 0;

    if (__builtin_expect(before >= want, 1))
        return n;
    if (least < n && before >= (int64_t)(least * rate->cost))
        got = (uint32_t)((uint64_t)before / rate->cost);
    __atomic_fetch_add(&pool->level, (int64_t)((n - got) * rate->cost), __ATOMIC_ACQ_REL);
    return got;
}

/* The level as a bucket. It is read before the time it belongs to: in between a refill may only
 * make it look smaller. */
static inline struct bucket pool_bucket(const struct pool *pool)
{
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_ACQUIRE);

    return (struct bucket){.level = level > 0 ? (uint64_t)level : 0,
                           .last_ns = __atomic_load_n(&pool->last_ns, __ATOMIC_ACQUIRE)};
}

/* Nanoseconds until the level has `n` tokens; UINT64_MAX if never. Leases are left out: what comes
 * back unspent makes it less. For Retry-After, not for packets. */
static inline uint64_t pool_wait_ns(const struct pool *pool, const struct bucket_rate *rate,
                                    uint32_t n, uint64_t now_ns)
{
    const struct bucket bucket = pool_bucket(pool);

    return bucket_wait_ns(&bucket, rate, n, now_ns);
}

static inline void pool_give(struct pool *pool, const struct bucket_rate *rate, uint32_t n)
{
    __atomic_fetch_add(&pool->level, (int64_t)(n * rate->cost), __ATOMIC_ACQ_REL);
}

/* The same of tokens that nobody counts as leased any more: as many of them as there is room for.
 * What others do meanwhile changes the level, or makes no more room. */
static inline void pool_take_back(struct pool *pool, const struct bucket_rate *rate, uint32_t n)
{
    int64_t credits = (int64_t)(n * rate->cost), room;
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_ACQUIRE);

    do {
        room = pool_most(pool, rate) - level;
        if (room <= 0)
            return;
    } while (!__atomic_compare_exchange_n(&pool->level, &level,
                                          level + (credits < room ? credits : room), true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/*
 * Remembers for how long it is pointless to ask again, so that refusals stay with the worker: until
 * a single token is there and, so that a poor pool is not asked for every one, for the lot's time.
 * Of bytes only that: a smaller packet may fit where a larger did not. No longer than
 * LEASE_IDLE_NS: another worker may give tokens back. One division per empty pool.
 */
static inline void lease_remember_empty(struct lease *lease, const struct pool *pool, uint32_t n,
                                        uint64_t now_ns)
{
    const struct bucket_rate *rate = &lease->rate;
    int64_t level = __atomic_load_n(&pool->level, __ATOMIC_RELAXED);
    uint64_t wait_ns = 0;

    if (level >= (int64_t)(n * rate->cost)) /* refilled meanwhile */
        return;
    if (n == 1)
        wait_ns = (rate->cost - (level > 0 ? (uint64_t)level : 0) + rate->rate - 1) / rate->rate;
    if (wait_ns < lease->lot.wait_ns)
        wait_ns = lease->lot.wait_ns;
    lease->none_before_ns = now_ns + (wait_ns < LEASE_IDLE_NS ? wait_ns : LEASE_IDLE_NS);
}

/*
 * Takes what the lease has counted in `outstanding` off the lease, and leaves it to the caller:
 * whoever gets it, the owner or the thread that reclaims, settles it with the pool, once.
 */
static inline uint32_t lease_take_granted(struct lease *lease)
{
    return __atomic_exchange_n(&lease->granted, 0, __ATOMIC_ACQ_REL);
}

static inline bool lease_is_held(const struct lease *lease)
{
    return __atomic_load_n(&lease->granted, __ATOMIC_RELAXED) != 0;
}

/* Gets a new lot, so that at least `n` tokens are left; false if the pool has not so many. */
static inline bool lease_renew(struct lease *lease, struct pool *pool, uint32_t n, uint64_t now_ns)
{
    uint32_t least = n - lease->left, want = least > lease->lot.tokens ? least : lease->lot.tokens;
    uint32_t granted, got;

    pool_refill(pool, &lease->rate, now_ns);
    /* Only now is it told what was spent, so that the time before earned nothing for it. */
    granted = lease_take_granted(lease);
    __atomic_fetch_add(&pool->outstanding, (int64_t)want + lease->left - (int64_t)granted,
                       __ATOMIC_ACQ_REL);
    got = pool_take(pool, &lease->rate, want, least);
    if (got < want)
        __atomic_fetch_sub(&pool->outstanding, want - got, __ATOMIC_ACQ_REL);
    lease->left += got;
    __atomic_store_n(&lease->granted, lease->left, __ATOMIC_RELEASE);
    if (got == 0)
        return false;
    lease->since_ns = now_ns;
    if (got < want) /* the pool is empty now, and need not be asked as soon as these are spent */
        lease_remember_empty(lease, pool, n, now_ns);
    return true;
}

/* What lease_take() does when the lease at hand does not do. */
static __attribute__((noinline)) bool lease_take_more(struct lease *lease, struct pool *pool,
                                                      uint32_t n, uint32_t generation,
                                                      uint64_t now_ns)
{
    if (lease->generation != generation) {
        pool_refill(pool, &lease->rate, now_ns);
        __atomic_fetch_sub(&pool->outstanding, lease_take_granted(lease), __ATOMIC_ACQ_REL);
        lease->left = 0;
        lease->generation = generation;
    }
    if (now_ns < lease->none_before_ns)
        return false;
    if (lease->lot.tokens == 1) {
        pool_refill(pool, &lease->rate, now_ns);
        if (pool_take(pool, &lease->rate, n, n) == n)
            return true;
    } else if (lease_renew(lease, pool, n, now_ns)) {
        lease->left -= n;
        return true;
    }
    lease_remember_empty(lease, pool, n, now_ns);
    return false;
}

/*
 * Takes `n` tokens (events or bytes) or none. `generation` is the worker's: what it leased under an
 * older one was reclaimed, so it is void. n * cost must fit the cap's range.
 */
static inline bool lease_take(struct lease *lease, struct pool *pool, uint32_t n,
                              uint32_t generation, uint64_t now_ns)
{
    if (__builtin_expect(lease->left >= n && lease->generation == generation, 1)) {
        lease->left -= n;
        return true;
    }
    if (lease->rate.cap == 0) /* unlimited or blocked */
        return lease->rate.cost == 0;
    return lease_take_more(lease, pool, n, generation, now_ns);
}

/*
 * Gives back `n` tokens taken before: another limit was in the way, at once or after a wait. Only
 * what the pool still counts as this lease's may lie in it; the rest goes back to the pool. There,
 * as in a bucket that nothing was taken from, what was filled up meanwhile is not filled twice.
 */
static inline void lease_untake(struct lease *lease, struct pool *pool, uint32_t n)
{
    uint32_t granted = __atomic_load_n(&lease->granted, __ATOMIC_RELAXED);

    if (lease->rate.cap == 0)
        return;
    if (lease->left + n <= granted)
        lease->left += n;
    else
        pool_take_back(pool, &lease->rate, n);
}

/* Returns everything unspent: first to the level, then out of `outstanding`. What was reclaimed is
 * void and does not come back. As when it leases again, the pool learns only after the refill what
 * was spent. */
static inline void lease_return(struct lease *lease, struct pool *pool, uint64_t now_ns)
{
    uint32_t granted = lease_take_granted(lease);

    if (granted) {
        pool_refill(pool, &lease->rate, now_ns);
        if (lease->left)
            pool_give(pool, &lease->rate, lease->left);
        __atomic_fetch_sub(&pool->outstanding, granted, __ATOMIC_ACQ_REL);
    }
    lease->left = 0;
}

#endif
