/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buckets that all CPUs share, exact over all of them.
 *
 * A look comes first and takes no lock: bucket_level() reads the time before the level and a
 * writer stores the level first, so a look that races with one may find too much, never too
 * little. Who is refused is so without a lock; who seems to have a token takes it under the lock of
 * the tenant, service or port, where it is looked for again. There is one lock at a time, so what a
 * later check refuses is given back.
 *
 * Buckets start full, at first use. A policy that changes a rate leaves their credits; those are
 * worth what they cost under the new rate, and never more than its burst.
 */
#ifndef SLUICE_BPF_QUOTA_H
#define SLUICE_BPF_QUOTA_H

#include "bpf/arrival.h"

static __always_inline bool quota_has(const struct bucket *bucket, const struct bucket_rate *rate,
                                      uint64_t n, uint64_t now_ns)
{
    return bucket_rate_is_unlimited(rate) || bucket_has(bucket, rate, n, now_ns);
}

static __always_inline void quota_debit(struct bucket *bucket, const struct bucket_rate *rate,
                                        uint64_t n, uint64_t now_ns)
{
    if (!bucket_rate_is_unlimited(rate))
        bucket_debit(bucket, rate, n, now_ns);
}

static __always_inline void quota_credit(struct bucket *bucket, const struct bucket_rate *rate,
                                         uint64_t n)
{
    uint64_t level = bucket->level + n * rate->cost;

    bucket_store(&bucket->level, level < rate->cap ? level : rate->cap);
}

/* -- a tenant's three -- */

/* What is asked of a tenant. */
struct quota_wish {
    bool attempt;
    uint32_t ip_bytes;
};

static __always_inline bool quota_is_limited(const struct xdp_tenant *tenant, bool attempt)
{
    return (attempt && tenant->attempts.cost) || tenant->packets.cost || tenant->bits.cost;
}

static __always_inline uint64_t quota_clock_ns(const struct xdp_tenant *tenant)
{
    return tenant->coarse ? clock_coarse_ns() : clock_ns();
}

static __always_inline enum reason quota_look(const struct xdp_tenant_state *state,
                                              const struct xdp_tenant *tenant,
                                              struct quota_wish wish, uint64_t now_ns)
{
    if (!state->started)
        return REASON_NONE;
    if (wish.attempt && !quota_has(&state->attempts, &tenant->attempts, 1, now_ns))
        return REASON_RATE;
    if (!quota_has(&state->packets, &tenant->packets, 1, now_ns))
        return REASON_PACKETS;
    if (!quota_has(&state->bits, &tenant->bits, wish.ip_bytes, now_ns))
        return REASON_BITS;
    return REASON_NONE;
}

/* Under the lock. */
static __always_inline void quota_start(struct xdp_tenant_state *state,
                                        const struct xdp_tenant *tenant, uint64_t now_ns)
{
    if (state->started)
        return;
    bucket_init(&state->attempts, &tenant->attempts, now_ns);
    bucket_init(&state->packets, &tenant->packets, now_ns);
    bucket_init(&state->bits, &tenant->bits, now_ns);
    *(volatile uint32_t *)&state->started = 1;
}

/* All or none. */
static __always_inline enum reason quota_take(struct xdp_tenant_state *state,
                                              const struct xdp_tenant *tenant,
                                              struct quota_wish wish, uint64_t now_ns)
{
    enum reason reason;

    bpf_spin_lock(&state->lock);
    quota_start(state, tenant, now_ns);
    reason = quota_look(state, tenant, wish, now_ns);
    if (reason == REASON_NONE) {
        if (wish.attempt)
            quota_debit(&state->attempts, &tenant->attempts, 1, now_ns);
        quota_debit(&state->packets, &tenant->packets, 1, now_ns);
        quota_debit(&state->bits, &tenant->bits, wish.ip_bytes, now_ns);
    }
    bpf_spin_unlock(&state->lock);
    return reason;
}

static __always_inline void quota_give_back(struct xdp_tenant_state *state,
                                            const struct xdp_tenant *tenant, uint32_t ip_bytes)
{
    bpf_spin_lock(&state->lock);
    quota_credit(&state->attempts, &tenant->attempts, 1);
    quota_credit(&state->packets, &tenant->packets, 1);
    quota_credit(&state->bits, &tenant->bits, ip_bytes);
    bpf_spin_unlock(&state->lock);
}

/* Of the attempts alone: what the guard reckons that the workers may still admit. */
static __always_inline bool quota_take_attempt(struct xdp_tenant_state *state,
                                               const struct xdp_tenant *tenant, uint64_t now_ns)
{
    bool has;

    bpf_spin_lock(&state->lock);
    quota_start(state, tenant, now_ns);
    has = bucket_take(&state->attempts, &tenant->attempts, 1, now_ns);
    bpf_spin_unlock(&state->lock);
    return has;
}

/* -- a single bucket of a service -- */

/* Each starts by itself: what it starts with depends on advice that may come later. */
enum service_bucket { SERVICE_CAP = 1, SERVICE_ANSWERS = 2, SERVICE_CHECKS = 4 };

static __always_inline struct bucket *service_bucket(struct xdp_service_state *state,
                                                     enum service_bucket which)
{
    return which == SERVICE_CAP       ? &state->cap
           : which == SERVICE_ANSWERS ? &state->answers
                                      : &state->checks;
}

static __always_inline bool service_look(struct xdp_service_state *state, enum service_bucket which,
                                         const struct bucket_rate *rate, uint64_t now_ns)
{
    return !(state->started & which) || quota_has(service_bucket(state, which), rate, 1, now_ns);
}

static __always_inline bool service_take(struct xdp_service_state *state, enum service_bucket which,
                                         const struct bucket_rate *rate, uint64_t now_ns)
{
    struct bucket *bucket = service_bucket(state, which);
    bool has;

    if (bucket_rate_is_unlimited(rate))
        return true;
    if (!service_look(state, which, rate, now_ns))
        return false;
    bpf_spin_lock(&state->lock);
    if (!(state->started & which)) {
        bucket_init(bucket, rate, now_ns);
        *(volatile uint32_t *)&state->started = state->started | which;
    }
    has = bucket_take(bucket, rate, 1, now_ns);
    bpf_spin_unlock(&state->lock);
    return has;
}

/* -- control traffic -- */

static __always_inline bool control_take(struct xdp_bucket_state *state,
                                         const struct bucket_rate *rate, uint64_t now_ns)
{
    bool has;

    if (bucket_rate_is_unlimited(rate))
        return true;
    if (state->started && !bucket_has(&state->bucket, rate, 1, now_ns))
        return false;
    bpf_spin_lock(&state->lock);
    if (!state->started) {
        bucket_init(&state->bucket, rate, now_ns);
        *(volatile uint32_t *)&state->started = 1;
    }
    has = bucket_take(&state->bucket, rate, 1, now_ns);
    bpf_spin_unlock(&state->lock);
    return has;
}

#endif
