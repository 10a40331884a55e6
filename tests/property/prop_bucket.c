/* SPDX-License-Identifier: BSD-3-Clause */
/* The token bucket against GCRA, and against the bound that every operator is promised. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/bucket.h"
#include "tests/property/gcra.h"
#include "tests/property/random.h"

#define S   BUCKET_NS_PER_S
#define DAY (86400 * S)

struct shape {
    uint64_t rate, burst;
    uint32_t period_s; /* 0: bytes per second */
};

static const struct shape shapes[] = {
    {1, 0, 86400},
    {1, 3, 86400},
    {7, 2, 86400},
    {1, 0, 3600},
    {97, 10, 3600},
    {1, 0, 60},
    {6, 0, 60},
    {1000, 100, 60},
    {1, 0, 1},
    {3, 1, 1},
    {5, 10, 1},
    {20, 10, 1},
    {999983, 1000, 1},
    {100000000, 0, 1},
    {100000000, 64, 1},
    {BUCKET_RATE_MAX, 5, 1},
    {BUCKET_RATE_MAX, BUCKET_BURST_MAX(1), 1},
    {BUCKET_RATE_MAX, BUCKET_BURST_MAX(86400), 86400},
    {0, 10, 1},
    {1, 1500, 0},
    {125000, 9000, 0},
    {25000000, 262144, 0},
    {BUCKET_BYTES_RATE_MAX, 65536, 0},
    {BUCKET_BYTES_RATE_MAX, BUCKET_BYTES_BURST_MAX, 0},
};

#define SHAPES           (sizeof(shapes) / sizeof(shapes[0]))
#define DECISIONS        1000000
#define DECISIONS_EACH   (DECISIONS / SHAPES + 1)
#define CONFORMANCE_EACH 100000

static struct bucket_rate rate_of(const struct shape *s)
{
    struct bucket_rate r;

    if (s->period_s)
        assert_true(bucket_rate_events(&r, s->rate, s->period_s, s->burst));
    else
        assert_true(bucket_rate_bytes(&r, s->rate, s->burst));
    return r;
}

static struct gcra gcra_of(const struct shape *s, uint64_t now_ns)
{
    return s->period_s ? gcra_start(s->rate, s->period_s * S, s->burst + 1, now_ns)
                       : gcra_start(s->rate, S, s->burst, now_ns);
}

/* Mostly gaps near the emission interval, where a verdict hangs on a nanosecond. */
static uint64_t random_gap_ns(uint64_t *seed, const struct bucket_rate *r)
{
    uint64_t interval = r->rate ? r->cost / r->rate : S;

    switch (random_below(seed, 8)) {
    case 0:
        return 0;
    case 1:
        return random_below(seed, 3);
    case 2:
        return interval + random_below(seed, 3) - (interval > 0);
    case 3:
        return random_below(seed, 2 * interval + 2);
    case 4:
        return random_below(seed, S);
    case 5:
        return random_below(seed, 64) ? interval / 3 : random_below(seed, DAY);
    default:
        return random_below(seed, interval / 2 + 2);
    }
}

static uint64_t random_amount(uint64_t *seed, const struct shape *s)
{
    if (s->period_s)
        return random_below(seed, 16) ? 1 : 1 + random_below(seed, s->burst + 3);
    return random_below(seed, 16) ? 40 + random_below(seed, 8961)
                                  : 1 + random_below(seed, s->burst + 2);
}

/* In step 15 of 16 time goes on, else a timestamp up to 50 us older than the last arrives. */
static uint64_t random_time(uint64_t *seed, const struct bucket_rate *r, uint64_t *now_ns)
{
    if (random_below(seed, 16) == 0)
        return *now_ns - random_below(seed, *now_ns < 50000 ? *now_ns + 1 : 50000);
    return *now_ns += random_gap_ns(seed, r);
}

static void bucket_decides_as_gcra(void **state)
{
    uint64_t decisions = 0, admitted = 0;

    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct bucket_rate r = rate_of(&shapes[i]);
        uint64_t seed = i, now_ns = i % 2 ? random_below(&seed, 30 * DAY) : 0;
        struct gcra gcra = gcra_of(&shapes[i], now_ns);
        struct bucket b;

        bucket_init(&b, &r, now_ns);
        for (size_t k = 0; k < DECISIONS_EACH; k++, decisions++) {
            uint64_t n = random_amount(&seed, &shapes[i]);
            uint64_t at_ns = random_time(&seed, &r, &now_ns);
            bool expected = gcra_conforms(&gcra, n, at_ns);

            if (bucket_take(&b, &r, n, at_ns) != expected)
                fail_msg("shape %zu, decision %zu: GCRA says %d", i, k, expected);
            assert_true(b.level <= r.cap);
            admitted += expected;
        }
    }
    print_message("# %" PRIu64 " decisions, %" PRIu64 " admitted\n", decisions, admitted);
    assert_true(decisions >= DECISIONS);
    assert_true(admitted > DECISIONS / 20 && admitted < DECISIONS / 20 * 19);
}

/*
 * Over every interval [s, t]: admitted <= burst + 1 + rate * (t - s) (for bytes: <= burst + ...).
 * With x(k) = spent before k - rate * t(k) in credits, that is max over s <= t of
 * x(t) + cost(t) - x(s) <= cap.
 */
static void admitted_stays_below_the_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct bucket_rate r = rate_of(&shapes[i]);
        uint64_t seed = 1000 + i, now_ns = 0;
        __int128_t spent = 0, lowest = 0, worst = 0;
        struct bucket b;

        bucket_init(&b, &r, now_ns);
        for (size_t k = 0; k < CONFORMANCE_EACH; k++) {
            uint64_t n = random_amount(&seed, &shapes[i]);
            __int128_t x;

            now_ns += random_gap_ns(&seed, &r);
            if (!bucket_take(&b, &r, n, now_ns))
                continue;
            x = spent - (__int128_t)r.rate * now_ns;
            lowest = x < lowest ? x : lowest;
            spent += (__int128_t)n * r.cost;
            if (x + (__int128_t)n * r.cost - lowest > worst)
                worst = x + (__int128_t)n * r.cost - lowest;
        }
        assert_true(worst <= r.cap);
        /* Not only safe but generous: some interval gets at least half of what it may. */
        assert_true(worst >= r.cap / 2);
    }
}

/* bucket_wait_ns() is the first nanosecond at which the take succeeds. */
static void wait_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct bucket_rate r = rate_of(&shapes[i]);
        uint64_t seed = 2000 + i, now_ns = 0;
        struct bucket b;

        bucket_init(&b, &r, now_ns);
        for (size_t k = 0; k < 20000; k++) {
            uint64_t n = random_amount(&seed, &shapes[i]), wait_ns;

            now_ns += random_gap_ns(&seed, &r);
            if (bucket_take(&b, &r, n, now_ns))
                continue;
            wait_ns = bucket_wait_ns(&b, &r, n, now_ns);
            if (r.rate == 0 || n * r.cost > r.cap) {
                assert_true(wait_ns == UINT64_MAX);
                continue;
            }
            assert_true(wait_ns > 0);
            assert_false(bucket_has(&b, &r, n, now_ns + wait_ns - 1));
            assert_true(bucket_has(&b, &r, n, now_ns + wait_ns));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_decides_as_gcra),
        cmocka_unit_test(admitted_stays_below_the_line),
        cmocka_unit_test(wait_is_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
