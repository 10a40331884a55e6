/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One quota on many workers, through the leases that workers really take: never more than the
 * bucket allows, hardly less, for any number of workers and however the load is spread over them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/lease.h"
#include "tests/property/random.h"

#define WORKERS_MAX 16
#define TOKENS      20000u /* that pass in a run, about */
#define OVERLOAD    5u     /* offered over allowed */
#define SPREAD_NS   50000u /* of the workers' clocks */

enum skew { SKEW_UNIFORM, SKEW_ONE_HOT, SKEW_ROTATING, SKEW_MAX };

struct quota_case {
    uint64_t events, burst;
    uint32_t period_s;
};

static const struct quota_case quotas[] = {
    {1, 5, 60},           {10, 20, 60},        {5, 10, 1},         {1000, 100, 1},
    {100000, 1000, 1},    {1000000, 500, 1},   {1000000, 5000, 1}, {4000000, 20000, 1},
    {10000000, 10000, 1}, {10000000, 1000, 1},
};

/* All workers of one bucket, in virtual time. */
struct crowd {
    struct pool pool;
    struct lease leases[WORKERS_MAX];
    uint64_t offset_ns[WORKERS_MAX]; /* of each worker's clock */
    struct bucket_rate rate;
    uint64_t seed, now_ns;
    uint64_t renewals, offered;
    uint32_t workers;
};

static void gather(struct crowd *c, const struct quota_case *q, uint32_t workers, bool skewed)
{
    *c = (struct crowd){.workers = workers, .seed = workers * 77 + q->events, .now_ns = 1000000000};
    assert_true(bucket_rate_events(&c->rate, q->events, q->period_s, q->burst));
    pool_set(&c->pool, c->rate.cap, c->now_ns);
    for (uint32_t w = 0; w < workers; w++) {
        c->leases[w] =
            (struct lease){.rate = c->rate, .quantum = lease_quantum_events(&c->rate, workers)};
        c->offset_ns[w] = skewed ? random_u64(&c->seed) % (SPREAD_NS + 1) : 0;
    }
}

static uint32_t pick(struct crowd *c, enum skew skew)
{
    uint32_t hot = skew == SKEW_ROTATING ? (uint32_t)(c->offered / 500 % c->workers) : 0;

    if (skew == SKEW_UNIFORM || random_u64(&c->seed) % 100 >= 97)
        return (uint32_t)(random_u64(&c->seed) % c->workers);
    return hot;
}

static void check_held(const struct crowd *c)
{
    int64_t left = 0;

    for (uint32_t w = 0; w < c->workers; w++)
        left += c->leases[w].left;
    assert_true(left <= c->pool.outstanding);
    assert_true(c->pool.level >= 0);
    assert_true(c->pool.level + c->pool.outstanding * (int64_t)c->rate.cost <=
                (int64_t)c->rate.cap);
}

static bool offer(struct crowd *c, uint32_t w)
{
    struct lease *lease = &c->leases[w];
    uint64_t since_ns = lease->since_ns;
    bool admitted = lease_take(lease, &c->pool, 1, 0, c->now_ns + c->offset_ns[w]);

    c->renewals += lease->since_ns != since_ns;
    c->offered++;
    return admitted;
}

__extension__ typedef __int128 wide;

/* What conforms to the bucket, with `e` more for clocks that differ: a leaky meter with exact
 * credits, beside the leases and not made of them. */
struct meter {
    wide level, cap;
};

static void meter_pass(struct meter *m, const struct bucket_rate *rate, uint64_t dt_ns)
{
    m->level += (wide)dt_ns * rate->rate;
    if (m->level > m->cap)
        m->level = m->cap;
}

static uint64_t overload(struct crowd *c, enum skew skew, uint64_t spread_ns)
{
    const struct bucket_rate *rate = &c->rate;
    uint64_t step_ns = rate->cost / rate->rate / OVERLOAD, admitted = 0;
    struct meter meter;

    meter.cap = (wide)rate->cap + (wide)spread_ns * rate->rate;
    meter.level = meter.cap;
    for (uint64_t i = 0; i < (uint64_t)TOKENS * OVERLOAD; i++) {
        uint64_t dt_ns = step_ns / 2 + random_u64(&c->seed) % (step_ns + 1);

        c->now_ns += dt_ns;
        meter_pass(&meter, rate, dt_ns);
        if (!offer(c, pick(c, skew)))
            continue;
        admitted++;
        meter.level -= rate->cost;
        assert_true(meter.level >= 0);
        check_held(c);
    }
    return admitted;
}

static uint64_t allowed(const struct crowd *c, uint64_t from_ns)
{
    return (uint64_t)((c->rate.cap + (wide)(c->now_ns - from_ns) * c->rate.rate) / c->rate.cost);
}

/* Experiment: over-admission none, shortfall below 0.1 % and a lot for each worker. */
static void many_workers_share_one_quota(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        uint64_t renewals = 0, offered = 0;

        for (unsigned q = 0; q < sizeof(quotas) / sizeof(quotas[0]); q++)
            for (int skew = 0; skew < SKEW_MAX; skew++) {
                static struct crowd c;
                uint64_t start_ns, admitted, most;

                gather(&c, &quotas[q], workers, false);
                start_ns = c.now_ns;
                admitted = overload(&c, (enum skew)skew, 0);
                most = allowed(&c, start_ns);
                assert_true(admitted <= most);
                assert_true(admitted + most / 1000 + workers * c.leases[0].quantum >= most);
                renewals += c.renewals;
                offered += c.offered;
            }
        printf("# %2u workers: %.3f leases an attempt at %u times the quota\n", workers,
               (double)renewals / (double)offered, OVERLOAD);
    }
}

static void clocks_may_differ(void **state)
{
    (void)state;
    for (uint32_t workers = 2; workers <= WORKERS_MAX; workers *= 2)
        for (unsigned q = 0; q < sizeof(quotas) / sizeof(quotas[0]); q++) {
            static struct crowd c;
            uint64_t start_ns, admitted, most;

            gather(&c, &quotas[q], workers, true);
            start_ns = c.now_ns;
            admitted = overload(&c, SKEW_UNIFORM, SPREAD_NS);
            most = allowed(&c, start_ns);
            assert_true(admitted + most / 1000 + workers * c.leases[0].quantum >= most);
        }
}

/* A quantum of 1 decides exactly as one bucket would, whoever asks. */
static void single_tokens_are_one_bucket(void **state)
{
    static const struct quota_case small[] = {{1, 5, 60}, {5, 10, 1}, {20, 10, 1}, {1000, 100, 1}};
    static struct crowd c;

    (void)state;
    for (unsigned q = 0; q < sizeof(small) / sizeof(small[0]); q++) {
        struct bucket bucket;

        gather(&c, &small[q], WORKERS_MAX, false);
        bucket_init(&bucket, &c.rate, c.now_ns);
        assert_int_equal(c.leases[0].quantum, 1);
        for (unsigned i = 0; i < 200000; i++) {
            c.now_ns += random_u64(&c.seed) % (c.rate.cost / c.rate.rate);
            assert_int_equal(offer(&c, pick(&c, SKEW_UNIFORM)),
                             bucket_take(&bucket, &c.rate, 1, c.now_ns));
        }
    }
}

/* What leases are for: a fixed share for each worker starves the hot one. */
static void a_static_split_fails(void **state)
{
    const struct quota_case quota = {100000, 1000, 1};
    const uint32_t workers = 4;
    struct bucket buckets[4];
    struct bucket_rate share;
    static struct crowd c;
    uint64_t start_ns, admitted = 0;

    (void)state;
    gather(&c, &quota, workers, false);
    start_ns = c.now_ns;
    bucket_rate_events(&share, quota.events / workers, 1, quota.burst / workers);
    for (uint32_t w = 0; w < workers; w++)
        bucket_init(&buckets[w], &share, c.now_ns);
    for (uint64_t i = 0; i < (uint64_t)TOKENS * OVERLOAD; i++, c.offered++) {
        c.now_ns += c.rate.cost / c.rate.rate / OVERLOAD;
        admitted += bucket_take(&buckets[pick(&c, SKEW_ONE_HOT)], &share, 1, c.now_ns);
    }
    assert_true(admitted < allowed(&c, start_ns) / 2);
}

/* A worker that was given up comes back to a void lease; its tokens are not spent twice. */
static void reclaimed_leases_are_void(void **state)
{
    const struct quota_case quota = {1000000, 100000, 1};
    static struct crowd c;
    uint64_t admitted = 0;

    (void)state;
    gather(&c, &quota, 2, false);
    assert_true(offer(&c, 0));
    assert_true(c.leases[0].left > 1);
    c.pool.outstanding -= lease_take_granted(&c.leases[0]); /* as admission_reclaim() does */
    while (lease_take(&c.leases[1], &c.pool, 1, 0, c.now_ns))
        admitted++;
    assert_false(lease_take(&c.leases[0], &c.pool, 1, 1, c.now_ns));
    assert_int_equal(c.leases[0].left, 0);
    assert_true(admitted + 1 <= quota.burst + 1);
    lease_return(&c.leases[1], &c.pool);
    assert_int_equal(c.pool.outstanding, 0);
}

/* -- real threads -- */

struct contest {
    struct crowd crowd;
    uint64_t clock_ns; /* atomic */
    uint64_t admitted; /* atomic */
};

struct contestant {
    struct contest *contest;
    uint32_t worker;
};

static void *contend(void *arg)
{
    struct contestant *self = arg;
    struct contest *contest = self->contest;
    struct lease *lease = &contest->crowd.leases[self->worker];
    uint64_t admitted = 0;

    for (unsigned i = 0; i < 100000; i++) {
        uint64_t now_ns = __atomic_add_fetch(&contest->clock_ns, 100, __ATOMIC_RELAXED);

        admitted += lease_take(lease, &contest->crowd.pool, 1, 0,
                               now_ns + contest->crowd.offset_ns[self->worker]);
        if (i % 1000 == 999)
            lease_return(lease, &contest->crowd.pool);
    }
    lease_return(lease, &contest->crowd.pool);
    __atomic_fetch_add(&contest->admitted, admitted, __ATOMIC_RELAXED);
    return NULL;
}

static void threads_share_one_quota(void **state)
{
    static const struct quota_case contested[] = {{1000, 100, 1}, {1000000, 2000, 1}};
    static struct contest contest;
    struct contestant workers[4];
    pthread_t threads[4];

    (void)state;
    for (unsigned q = 0; q < 2; q++) {
        uint64_t start_ns, most;

        gather(&contest.crowd, &contested[q], 4, true);
        start_ns = contest.clock_ns = contest.crowd.now_ns;
        contest.admitted = 0;
        for (uint32_t w = 0; w < 4; w++) {
            workers[w] = (struct contestant){&contest, w};
            assert_int_equal(pthread_create(&threads[w], NULL, contend, &workers[w]), 0);
        }
        for (uint32_t w = 0; w < 4; w++)
            pthread_join(threads[w], NULL);
        contest.crowd.now_ns = contest.clock_ns + SPREAD_NS;
        most = allowed(&contest.crowd, start_ns);
        assert_true(contest.admitted <= most);
        assert_true(contest.admitted >= most / 2); /* whoever loses a race asks again */
        assert_int_equal(contest.crowd.pool.outstanding, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_workers_share_one_quota), cmocka_unit_test(clocks_may_differ),
        cmocka_unit_test(single_tokens_are_one_bucket), cmocka_unit_test(a_static_split_fails),
        cmocka_unit_test(reclaimed_leases_are_void),    cmocka_unit_test(threads_share_one_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
