/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases on two workers, step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/lease.h"

#define US 1000ull

/* -- lots -- */

static uint32_t event_lot(uint64_t rate, uint32_t period_s, uint64_t burst, uint32_t workers)
{
    struct bucket_rate r;

    assert_true(bucket_rate_events(&r, rate, period_s, burst));
    return lease_lot_events(&r, workers).tokens;
}

static uint32_t byte_lot(uint64_t rate, uint64_t burst, uint32_t workers)
{
    struct bucket_rate r;

    assert_true(bucket_rate_bytes(&r, rate, burst));
    return lease_lot_bytes(&r, workers).tokens;
}

static void lots_follow_rate_burst_and_workers(void **state)
{
    struct bucket_rate r;

    (void)state;
    assert_int_equal(event_lot(1, 60, 0, 1), 1);
    assert_int_equal(event_lot(20000, 1, 1000000, 1), 1);     /* one token in tau */
    assert_int_equal(event_lot(20001, 1, 1000000, 1), 2);     /* rounded up */
    assert_int_equal(event_lot(1000000, 1, 1000000, 1), 50);  /* rate * tau */
    assert_int_equal(event_lot(1000000, 1, 1000000, 4), 13);  /* shared by four */
    assert_int_equal(event_lot(1000000, 1, 1000000, 8), 7);   /* 50 / 8 */
    assert_int_equal(event_lot(1000000, 1, 1000000, 16), 7);  /* 100 / 16: tau grows */
    assert_int_equal(event_lot(60000000, 60, 153000, 1), 50); /* the same per minute */
    assert_int_equal(event_lot(10000000, 1, 1000000, 1), 64); /* at most */
    assert_int_equal(event_lot(10000000, 1, 639, 4), 10);     /* 1/16 of the burst, by four */
    assert_int_equal(event_lot(10000000, 1, 638, 4), 9);
    assert_int_equal(event_lot(10000000, 1, 10, 1), 1);

    assert_int_equal(byte_lot(125000000, 16 * 1518 - 1, 1), 1); /* too few frames */
    assert_int_equal(byte_lot(125000000, 16 * 1518, 1), 1518);
    assert_int_equal(byte_lot(125000000, 1000000, 1), 6250); /* rate * tau */
    assert_int_equal(byte_lot(125000000, 1000000, 4), 1562);
    assert_int_equal(byte_lot(125000, 1000000, 4), 1518); /* a frame at least */
    assert_int_equal(byte_lot(12500000000, 100000000, 1), 65535);
    assert_int_equal(byte_lot(12500000000, 160000, 4), 2500);

    assert_true(bucket_rate_events(&r, 1000000, 1, 1000000));
    assert_int_equal(lease_lot_events(&r, 1).wait_ns, 50 * US);
    assert_int_equal(lease_lot_events(&r, 16).wait_ns, 50 * US); /* never above tau */
    assert_true(bucket_rate_events(&r, 10000000, 1, 639));
    assert_int_equal(lease_lot_events(&r, 4).wait_ns, 4 * US); /* four lots of 10 */
    assert_true(bucket_rate_events(&r, 10, 1, 639));
    assert_int_equal(lease_lot_events(&r, 4).wait_ns, 0);
}

/* -- one pool, two leases -- */

/* 1 M/s, burst 1599: lots of 25 for two workers, a token every microsecond. */
struct pair {
    struct bucket_rate rate;
    struct pool pool;
    struct lease a, b;
};

static void start_pair(struct pair *p, uint64_t burst)
{
    *p = (struct pair){0};
    assert_true(bucket_rate_events(&p->rate, 1000000, 1, burst));
    pool_set(&p->pool, p->rate.cap, 0);
    p->a = p->b = (struct lease){.rate = p->rate, .lot = lease_lot_events(&p->rate, 2)};
}

static int64_t level(const struct pair *p)
{
    return p->pool.level / (int64_t)p->rate.cost;
}

static uint32_t take_all(struct lease *lease, struct pool *pool, uint64_t now_ns)
{
    uint32_t n = 0;

    while (lease_take(lease, pool, 1, 0, now_ns))
        n++;
    return n;
}

static void a_lot_is_taken_once_and_reported_at_the_next(void **state)
{
    struct pair p;

    (void)state;
    start_pair(&p, 1599);
    for (uint32_t left = 24; left < 25; left--) {
        assert_true(lease_take(&p.a, &p.pool, 1, 0, 10 * US));
        assert_int_equal(p.a.left, left);
        assert_int_equal(level(&p), 1575);
        assert_int_equal(p.pool.outstanding, 25);
    }
    /* 40 us later: 40 were earned, but of the 25 none was known to be spent: no room. */
    assert_true(lease_take(&p.a, &p.pool, 1, 0, 50 * US));
    assert_int_equal(level(&p), 1550);
    assert_int_equal(p.pool.outstanding, 25);
    /* 10 us later there is room for those, and for no more. */
    assert_true(lease_take(&p.b, &p.pool, 1, 0, 60 * US));
    assert_int_equal(level(&p), 1550 + 10 - 25);
    assert_int_equal(p.pool.outstanding, 50);
}

static void a_burst_is_a_burst_on_two_workers(void **state)
{
    struct pair p;
    uint32_t n;

    (void)state;
    start_pair(&p, 1599);
    assert_true(lease_take(&p.b, &p.pool, 1, 0, 0));
    n = take_all(&p.a, &p.pool, 0);
    assert_int_equal(n, 1600 - 25); /* b has a lot, and 24 of it to spend */
    assert_int_equal(take_all(&p.b, &p.pool, 0), 24);
    assert_int_equal(level(&p), 0);
}

/* What nobody uses goes back, and somebody else can have it, a millisecond later at most. */
static void what_is_returned_serves_another(void **state)
{
    struct pair p;

    (void)state;
    start_pair(&p, 1599);
    assert_true(lease_take(&p.b, &p.pool, 1, 0, 0));
    assert_int_equal(take_all(&p.a, &p.pool, 0), 1575);
    lease_return(&p.a, &p.pool, 0);
    lease_return(&p.b, &p.pool, 0);
    assert_int_equal(p.pool.outstanding, 0);
    assert_int_equal(level(&p), 24);
    assert_int_equal(p.b.left, 0);
    assert_false(lease_take(&p.a, &p.pool, 1, 0, 0)); /* it knows better for a while */
    assert_true(lease_take(&p.a, &p.pool, 1, 0, 50 * US));
    /* A day's token that another gave back is found, too. */
    assert_true(bucket_rate_events(&p.rate, 1, 86400, 0));
    p = (struct pair){.rate = p.rate};
    p.a = p.b = (struct lease){.rate = p.rate, .lot = lease_lot_events(&p.rate, 2)};
    pool_set(&p.pool, p.rate.cap, 0);
    assert_true(lease_take(&p.a, &p.pool, 1, 0, 0));
    assert_false(lease_take(&p.b, &p.pool, 1, 0, 0));
    lease_untake(&p.a, &p.pool, 1);
    assert_true(lease_take(&p.b, &p.pool, 1, 0, LEASE_IDLE_NS));
}

static void an_empty_pool_is_left_alone(void **state)
{
    struct pair p;
    struct pool before;

    (void)state;
    start_pair(&p, 1599);
    take_all(&p.a, &p.pool, 0);
    before = p.pool;
    for (uint64_t ns = 0; ns < 50 * US; ns += 100)
        assert_false(lease_take(&p.a, &p.pool, 1, 0, ns));
    assert_memory_equal(&p.pool, &before, sizeof(before));
    assert_int_equal(take_all(&p.a, &p.pool, 50 * US), 50); /* nothing was lost by waiting */
}

/* A packet that the pool cannot serve takes nothing; a smaller one is served. */
static void a_refusal_leaves_the_pool_as_it_was(void **state)
{
    struct bucket_rate rate;
    struct pool pool = {0};
    struct lease lease;

    (void)state;
    assert_true(bucket_rate_bytes(&rate, 125000, 24288));
    lease = (struct lease){.rate = rate, .lot = lease_lot_bytes(&rate, 1)};
    pool_set(&pool, rate.cap, 0);
    assert_false(lease_take(&lease, &pool, 24289, 0, 0));
    assert_int_equal(pool.outstanding, 0);
    assert_int_equal(pool.level, rate.cap);
    assert_false(lease_is_held(&lease));
    assert_true(lease_take(&lease, &pool, 24288, 0, 50 * US));
    assert_int_equal(pool.level, 0);
}

/* 2^40 ns at 2^24/s: the product is 2^64 credits. */
static void a_long_silence_fills_the_pool(void **state)
{
    struct bucket_rate rate;
    struct pool pool = {0};

    (void)state;
    assert_true(bucket_rate_events(&rate, 1 << 24, 1, 99));
    pool_set(&pool, 0, 1);
    pool_refill(&pool, &rate, 1 + (1ull << 40));
    assert_int_equal(pool.level, rate.cap);
}

/* -- what comes back late -- */

/* Everything that can be spent, in tokens. */
static int64_t in_all(const struct pair *p)
{
    return level(p) + p->a.left + p->b.left;
}

/* Twenty wait for something else and are refused when the pool is full again: a burst is a burst.
 */
static void what_comes_back_late_is_no_second_burst(void **state)
{
    struct pair p;
    uint32_t n;

    (void)state;
    start_pair(&p, 1599);
    for (unsigned i = 0; i < 20; i++)
        assert_true(lease_take(&p.a, &p.pool, 1, 0, 0));
    lease_return(&p.a, &p.pool, 1000 * US);
    assert_true(lease_take(&p.a, &p.pool, 1, 0, 2000 * US));
    assert_int_equal(level(&p), 1575);
    for (unsigned i = 0; i < 20; i++)
        lease_untake(&p.a, &p.pool, 1);
    assert_int_equal(p.a.left, 25); /* as many as the pool knows of */
    assert_int_equal(in_all(&p), 1600);
    n = take_all(&p.a, &p.pool, 2000 * US);
    assert_int_equal(n, 1600);
    /* Of an empty pool all of it comes back, for whoever asks. */
    lease_return(&p.a, &p.pool, 2000 * US);
    for (unsigned i = 0; i < 20; i++)
        lease_untake(&p.a, &p.pool, 1);
    assert_int_equal(level(&p), 20);
    assert_int_equal(take_all(&p.b, &p.pool, 2000 * US), 20);
}

static void it_is_none_of_a_small_quota_either(void **state)
{
    struct pair p = {0};

    (void)state;
    assert_true(bucket_rate_events(&p.rate, 1000, 1, 9));
    p.a = p.b = (struct lease){.rate = p.rate, .lot = lease_lot_events(&p.rate, 2)};
    pool_set(&p.pool, p.rate.cap, 0);
    for (unsigned i = 0; i < 10; i++)
        assert_true(lease_take(&p.a, &p.pool, 1, 0, 0));
    assert_true(lease_take(&p.b, &p.pool, 1, 0, 8000 * US)); /* of eight */
    for (unsigned i = 0; i < 2; i++)
        lease_untake(&p.a, &p.pool, 1);
    assert_int_equal(level(&p), 9);
    assert_true(lease_take(&p.b, &p.pool, 1, 0, 20000 * US)); /* it was full */
    for (unsigned i = 0; i < 9; i++)
        lease_untake(&p.a, &p.pool, 1);
    assert_int_equal(take_all(&p.b, &p.pool, 20000 * US), 10);
}

/* -- reclaiming -- */

static void a_reclaimed_lease_is_void_once(void **state)
{
    struct pair p;

    (void)state;
    start_pair(&p, 1599);
    assert_true(lease_take(&p.a, &p.pool, 1, 0, 0));
    /* The owner finds out by itself and settles it ... */
    assert_true(lease_take(&p.a, &p.pool, 1, 1, 0));
    assert_int_equal(p.pool.outstanding, 25);
    assert_int_equal(p.a.left, 24);
    assert_int_equal(level(&p), 1550); /* the 24 are lost */
    /* ... or comes too late, and settles nothing. */
    __atomic_fetch_sub(&p.pool.outstanding, lease_take_granted(&p.a), __ATOMIC_RELAXED);
    assert_int_equal(p.pool.outstanding, 0);
    lease_return(&p.a, &p.pool, 0);
    assert_int_equal(p.pool.outstanding, 0);
    assert_int_equal(level(&p), 1550); /* void: it does not come back either */
    assert_true(lease_take(&p.a, &p.pool, 1, 2, 0));
    assert_int_equal(p.pool.outstanding, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lots_follow_rate_burst_and_workers),
        cmocka_unit_test(a_lot_is_taken_once_and_reported_at_the_next),
        cmocka_unit_test(a_burst_is_a_burst_on_two_workers),
        cmocka_unit_test(what_is_returned_serves_another),
        cmocka_unit_test(an_empty_pool_is_left_alone),
        cmocka_unit_test(a_refusal_leaves_the_pool_as_it_was),
        cmocka_unit_test(a_long_silence_fills_the_pool),
        cmocka_unit_test(what_comes_back_late_is_no_second_burst),
        cmocka_unit_test(it_is_none_of_a_small_quota_either),
        cmocka_unit_test(a_reclaimed_lease_is_void_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
