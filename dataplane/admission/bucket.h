/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Token bucket in exact integer credits.
 *
 * A rate of r events per period of P seconds gains r credits each nanosecond; an event costs
 * C = P * 10^9 credits; the bucket holds at most cap = (burst + 1) * C. So there is no rounding, no
 * remainder to lose, and a packet costs one multiply. Equivalent to GCRA (ITU-T I.371) with
 * T = P/r and tau = burst * T: after idling, burst + 1 events pass at once.
 * A byte bucket is the same with 10^9 credits a byte, and cap = burst bytes without the "+ 1".
 *
 * Ranges that keep every product and sum below 2^64 (bucket_rate_* check them):
 *   cap <= 9.2e18, rate <= BUCKET_RATE_MAX events or BUCKET_BYTES_RATE_MAX bytes a second.
 *   level <= cap, dt <= ceil(cap / rate), so level + dt * rate <= 2 * cap + rate < 2^64.
 *
 * Time is monotonic nanoseconds given by the caller; a time before `last_ns` counts as no time
 * passed and does not move it back. A bucket has one writer; another thread may look at it with
 * bucket_level() and see a moment's approximation. Compiles for BPF.
 */
#ifndef SLUICE_ADMISSION_BUCKET_H
#define SLUICE_ADMISSION_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_NS_PER_S        1000000000ull
#define BUCKET_CREDITS_MAX     9200000000000000000ull
#define BUCKET_RATE_MAX        1000000000ull  /* events per period */
#define BUCKET_BYTES_RATE_MAX  50000000000ull /* bytes per second: 400 Gbit/s */
#define BUCKET_BURST_MAX(p)    (9200000000ull / (p)-1)
#define BUCKET_BYTES_BURST_MAX 9200000000ull
#define BUCKET_PERIOD_MAX_S    86400u

/* Derived once per configuration; immutable afterwards. */
struct bucket_rate {
    uint64_t rate;    /* credits gained per ns = events per period */
    uint64_t cost;    /* credits an event (or a byte) costs; 0: unlimited */
    uint64_t cap;     /* credits the bucket can hold; 0 with cost > 0: blocked */
    uint64_t fill_ns; /* ceil(cap / rate): after this long it is full */
};

struct bucket {
    uint64_t level;   /* credits at last_ns, 0 .. cap */
    uint64_t last_ns; /* never moves back */
};

/* Whole 64-bit words, read and written at once. LLVM's BPF target has no relaxed atomic loads and
 * stores; there a volatile access is the same instruction. */
static inline uint64_t bucket_load(const uint64_t *word)
{
#ifdef __bpf__
    return *(const volatile uint64_t *)word;
#else
    return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

static inline void bucket_store(uint64_t *word, uint64_t value)
{
#ifdef __bpf__
    *(volatile uint64_t *)word = value;
#else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

/*
 * `events` per `period_s` (1, 60, 3600 or 86400), up to `burst` more than the steady rate at once.
 * events = 0 blocks: no event ever passes, whatever the burst. Returns false when out of range.
 */
static inline bool bucket_rate_events(struct bucket_rate *r, uint64_t events, uint32_t period_s,
                                      uint64_t burst)
{
    if (period_s == 0 || period_s > BUCKET_PERIOD_MAX_S || events > BUCKET_RATE_MAX ||
        burst > BUCKET_BURST_MAX(period_s))
        return false;
    r->rate = events;
    r->cost = period_s * BUCKET_NS_PER_S;
    r->cap = events ? (burst + 1) * r->cost : 0;
    r->fill_ns = events ? (r->cap + events - 1) / events : 0;
    return true;
}

/* `bytes` per second, at most `burst_bytes` at once. bytes = 0 blocks. False when out of range. */
static inline bool bucket_rate_bytes(struct bucket_rate *r, uint64_t bytes, uint64_t burst_bytes)
{
    if (bytes > BUCKET_BYTES_RATE_MAX || burst_bytes > BUCKET_BYTES_BURST_MAX)
        return false;
    r->rate = bytes;
    r->cost = BUCKET_NS_PER_S;
    r->cap = bytes ? burst_bytes * r->cost : 0;
    r->fill_ns = bytes ? (r->cap + bytes - 1) / bytes : 0;
    return true;
}

static inline void bucket_rate_unlimited(struct bucket_rate *r)
{
    r->rate = r->cost = r->cap = r->fill_ns = 0;
}

static inline bool bucket_rate_is_unlimited(const struct bucket_rate *r)
{
    return r->cost == 0;
}

/* Starts full: a new tenant has its burst whatever the uptime. A listing may already look on. */
static inline void bucket_init(struct bucket *b, const struct bucket_rate *r, uint64_t now_ns)
{
    bucket_store(&b->level, r->cap);
    bucket_store(&b->last_ns, now_ns);
}

/* Credits at `now_ns`, changing nothing. */
static inline uint64_t bucket_level(const struct bucket *b, const struct bucket_rate *r,
                                    uint64_t now_ns)
{
    uint64_t last_ns = bucket_load(&b->last_ns);
    uint64_t level = bucket_load(&b->level);
    uint64_t dt_ns = now_ns > last_ns ? now_ns - last_ns : 0;

    if (dt_ns > r->fill_ns)
        dt_ns = r->fill_ns;
    level += dt_ns * r->rate;
    return level < r->cap ? level : r->cap;
}

/* Are there credits for `n` events (or bytes)? n * cost must fit: n <= burst maximum + 1. */
static inline bool bucket_has(const struct bucket *b, const struct bucket_rate *r, uint64_t n,
                              uint64_t now_ns)
{
    return bucket_level(b, r, now_ns) >= n * r->cost;
}

/* Debits `n` that bucket_has() has just found, at the same `now_ns`. */
static inline void bucket_debit(struct bucket *b, const struct bucket_rate *r, uint64_t n,
                                uint64_t now_ns)
{
    uint64_t level = bucket_level(b, r, now_ns) - n * r->cost;

    bucket_store(&b->level, level);
    if (now_ns > b->last_ns)
        bucket_store(&b->last_ns, now_ns);
}

/* Takes `n` or nothing. A refusal costs nothing and moves nothing. */
static inline bool bucket_take(struct bucket *b, const struct bucket_rate *r, uint64_t n,
                               uint64_t now_ns)
{
    if (!bucket_has(b, r, n, now_ns))
        return false;
    bucket_debit(b, r, n, now_ns);
    return true;
}

/* Nanoseconds until `n` events would pass; UINT64_MAX if never. For Retry-After, not for packets.
 */
static inline uint64_t bucket_wait_ns(const struct bucket *b, const struct bucket_rate *r,
                                      uint64_t n, uint64_t now_ns)
{
    uint64_t level = bucket_level(b, r, now_ns);
    uint64_t need = n * r->cost;

    if (level >= need)
        return 0;
    if (r->rate == 0 || need > r->cap)
        return UINT64_MAX;
    return (need - level + r->rate - 1) / r->rate;
}

/* Whole tokens, for listings. */
static inline uint64_t bucket_tokens(const struct bucket *b, const struct bucket_rate *r,
                                     uint64_t now_ns)
{
    return r->cost ? bucket_level(b, r, now_ns) / r->cost : 0;
}

/*
 * Carries a live bucket from rate `from` to rate `to` at `now_ns`: what was earned under the old
 * rate is kept, token for token, at most the new burst; nothing is refilled. Leaving `unlimited` or
 * `blocked` starts empty, so that a round trip through them cannot buy a burst.
 */
static inline void bucket_rebase(struct bucket *b, const struct bucket_rate *from,
                                 const struct bucket_rate *to, uint64_t now_ns)
{
    uint64_t level = bucket_level(b, from, now_ns);
    uint64_t tokens = from->cost ? level / from->cost : 0;
    uint64_t rest = from->cost ? level % from->cost : 0;

    if (from->cost != to->cost) {
        /* Periods are whole seconds, so costs share the factor 10^9 and rest * to fits in 2^64. */
        uint64_t room = to->cost ? to->cap / to->cost : 0;

        rest = from->cost ? rest / BUCKET_NS_PER_S * (to->cost / BUCKET_NS_PER_S) /
                                (from->cost / BUCKET_NS_PER_S) * BUCKET_NS_PER_S
                          : 0;
        level = (tokens < room ? tokens : room) * to->cost + rest;
    }
    bucket_store(&b->level, level < to->cap ? level : to->cap);
    if (now_ns > b->last_ns)
        bucket_store(&b->last_ns, now_ns);
}

#endif
