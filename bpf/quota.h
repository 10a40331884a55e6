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

/* -- a tenant's attempts -- */

static __always_inline bool attempts_look(const struct xdp_tenant_state *state,
                                          const struct xdp_tenant *tenant, uint64_t now_ns)
{
    return !state->started || quota_has(&state->attempts, &tenant->attempts, 1, now_ns);
}

/* Of a tenant that has a limit of them. */
static __always_inline bool attempts_take(struct xdp_tenant_state *state,
                                          const struct xdp_tenant *tenant, uint64_t now_ns)
{
    bool has;

    bpf_spin_lock(&state->lock);
    if (!state->started) {
        bucket_init(&state->attempts, &tenant->attempts, now_ns);
        *(volatile uint32_t *)&state->started = 1;
    }
    has = bucket_take(&state->attempts, &tenant->attempts, 1, now_ns);
    bpf_spin_unlock(&state->lock);
    return has;
}

static __always_inline void attempts_give_back(struct xdp_tenant_state *state,
                                               const struct xdp_tenant *tenant)
{
    bpf_spin_lock(&state->lock);
    quota_credit(&state->attempts, &tenant->attempts, 1);
    bpf_spin_unlock(&state->lock);
}

/* -- a tenant's packets and bits -- */

static __always_inline enum reason volume_look(const struct xdp_volume_state *state,
                                               const struct xdp_tenant_volume *volume,
                                               uint32_t ip_bytes, uint64_t now_ns)
{
    if (!state->started)
        return REASON_NONE;
    if (!quota_has(&state->packets, &volume->packets, 1, now_ns))
        return REASON_PACKETS;
    if (!quota_has(&state->bits, &volume->bits, ip_bytes, now_ns))
        return REASON_BITS;
    return REASON_NONE;
}

/* Both or none. */
static __always_inline enum reason volume_take(struct xdp_volume_state *state,
                                               const struct xdp_tenant_volume *volume,
                                               uint32_t ip_bytes, uint64_t now_ns)
{
    enum reason reason;

    bpf_spin_lock(&state->lock);
    if (!state->started) {
        bucket_init(&state->packets, &volume->packets, now_ns);
        bucket_init(&state->bits, &volume->bits, now_ns);
        *(volatile uint32_t *)&state->started = 1;
    }
    reason = volume_look(state, volume, ip_bytes, now_ns);
    if (reason == REASON_NONE) {
        quota_debit(&state->packets, &volume->packets, 1, now_ns);
        quota_debit(&state->bits, &volume->bits, ip_bytes, now_ns);
    }
    bpf_spin_unlock(&state->lock);
    return reason;
}

static __always_inline void volume_give_back(struct xdp_volume_state *state,
                                             const struct xdp_tenant_volume *volume,
                                             uint32_t ip_bytes)
{
    bpf_spin_lock(&state->lock);
    quota_credit(&state->packets, &volume->packets, 1);
    quota_credit(&state->bits, &volume->bits, ip_bytes);
    bpf_spin_unlock(&state->lock);
}

/* -- a tenant's three -- */

struct quota {
    const struct xdp_tenant *tenant;
    struct xdp_tenant_state *state;
    const struct xdp_tenant_volume *volume; /* NULL: no limits of packets and bits, nor the next */
    struct xdp_volume_state *volume_state;
};

/* What is asked of it. */
struct quota_wish {
    bool attempt;
    uint32_t ip_bytes;
};

/* False: there is no such tenant. */
static __always_inline bool quota_of(const struct arrival *a, struct quota *quota)
{
    *quota = (struct quota){.tenant = tenant_of(a), .state = table_at(&tenant_state, a->tenant)};
    if (!quota->tenant || !quota->state)
        return false;
    if (!quota->tenant->volume)
        return true;
    quota->volume = tenant_volume_of(a);
    quota->volume_state = table_at(&volume_state, a->tenant);
    return quota->volume && quota->volume_state;
}

static __always_inline bool quota_is_limited(const struct quota *quota, bool attempt)
{
    return (attempt && quota->tenant->attempts.cost) || quota->volume;
}

static __always_inline uint64_t quota_clock_ns(const struct xdp_tenant *tenant)
{
    return tenant->coarse ? clock_coarse_ns() : clock_ns();
}

static __always_inline enum reason quota_look(const struct quota *quota, struct quota_wish wish,
                                              uint64_t now_ns)
{
    if (wish.attempt && !attempts_look(quota->state, quota->tenant, now_ns))
        return REASON_RATE;
    return quota->volume ? volume_look(quota->volume_state, quota->volume, wish.ip_bytes, now_ns)
                         : REASON_NONE;
}

/* All or none. */
static __always_inline enum reason quota_take(const struct quota *quota, struct quota_wish wish,
                                              uint64_t now_ns)
{
    bool attempt = wish.attempt && quota->tenant->attempts.cost;
    enum reason reason;

    if (attempt && !attempts_take(quota->state, quota->tenant, now_ns))
        return REASON_RATE;
    if (!quota->volume)
        return REASON_NONE;
    reason = volume_take(quota->volume_state, quota->volume, wish.ip_bytes, now_ns);
    if (reason != REASON_NONE && attempt)
        attempts_give_back(quota->state, quota->tenant);
    return reason;
}

static __always_inline void quota_give_back(const struct quota *quota, uint32_t ip_bytes)
{
    if (quota->tenant->attempts.cost)
        attempts_give_back(quota->state, quota->tenant);
    if (quota->volume)
        volume_give_back(quota->volume_state, quota->volume, ip_bytes);
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
