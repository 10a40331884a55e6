/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/bucket.h"

#define S    BUCKET_NS_PER_S
#define MS   1000000ull
#define US   1000ull
#define HOUR (3600 * S)
#define DAY  (24 * HOUR)
#define YEAR (365 * DAY)

/* A bucket with its rate, full since `now_ns`. */
struct meter {
    struct bucket_rate rate;
    struct bucket bucket;
};

static struct meter per_period(uint64_t events, uint32_t period_s, uint64_t burst, uint64_t now_ns)
{
    struct meter m;

    assert_true(bucket_rate_events(&m.rate, events, period_s, burst));
    bucket_init(&m.bucket, &m.rate, now_ns);
    return m;
}

static struct meter bytes_per_s(uint64_t bytes, uint64_t burst_bytes, uint64_t now_ns)
{
    struct meter m;

    assert_true(bucket_rate_bytes(&m.rate, bytes, burst_bytes));
    bucket_init(&m.bucket, &m.rate, now_ns);
    return m;
}

static bool take(struct meter *m, uint64_t n, uint64_t now_ns)
{
    return bucket_take(&m->bucket, &m->rate, n, now_ns);
}

/* How many of `tries` single events pass at one moment. */
static unsigned burst_at(struct meter *m, unsigned tries, uint64_t now_ns)
{
    unsigned passed = 0;

    for (unsigned i = 0; i < tries; i++)
        passed += take(m, 1, now_ns);
    return passed;
}

static uint64_t tokens(const struct meter *m, uint64_t now_ns)
{
    return bucket_tokens(&m->bucket, &m->rate, now_ns);
}

static void set_rate(struct meter *m, struct bucket_rate to, uint64_t now_ns)
{
    bucket_rebase(&m->bucket, &m->rate, &to, now_ns);
    m->rate = to;
}

static struct bucket_rate events_rate(uint64_t events, uint32_t period_s, uint64_t burst)
{
    struct bucket_rate r;

    assert_true(bucket_rate_events(&r, events, period_s, burst));
    return r;
}

/* -- nginx limit_req, rate=5r/s burst=10 nodelay: the recorded traces -- */

static void limit_req_at_once(void **state)
{
    struct meter twelve = per_period(5, 1, 10, 0), thirty = per_period(5, 1, 10, 0);

    (void)state;
    assert_int_equal(burst_at(&twelve, 12, 0), 11);
    assert_int_equal(burst_at(&thirty, 30, 0), 11); /* and 19 are refused */
}

static void limit_req_twenty_a_second(void **state)
{
    static const unsigned expected[] = {15, 5, 5, 5};
    struct meter m = per_period(5, 1, 10, 0);
    uint64_t start_ns = 2200 * MS; /* just refilled */
    unsigned admitted = burst_at(&m, 30, 0), refused = 30 - admitted;

    (void)state;
    for (unsigned s = 0; s < 4; s++) {
        admitted = 0;
        for (unsigned i = 0; i < 20; i++)
            admitted += take(&m, 1, start_ns + s * S + i * 50 * MS);
        assert_int_equal(admitted, expected[s]);
        refused += 20 - admitted;
    }
    assert_int_equal(refused, 69); /* lines in the log: 19 of the burst, 50 of the stream */
}

static void limit_req_retry_after(void **state)
{
    struct meter m = per_period(5, 1, 10, 0);
    uint64_t wait_ns;

    (void)state;
    burst_at(&m, 30, 0);
    wait_ns = bucket_wait_ns(&m.bucket, &m.rate, 1, 0);
    assert_int_equal(wait_ns, 200 * MS);
    assert_int_equal((wait_ns + S - 1) / S, 1); /* Retry-After is in whole seconds, rounded up */
}

/* -- ranges -- */

static void rates_out_of_range_are_rejected(void **state)
{
    struct bucket_rate r;

    (void)state;
    assert_true(bucket_rate_events(&r, 1, 86400, 0));
    assert_true(bucket_rate_events(&r, 100000000, 1, BUCKET_BURST_MAX(1)));
    assert_false(bucket_rate_events(&r, 1, 1, BUCKET_BURST_MAX(1) + 1));
    assert_true(bucket_rate_events(&r, 1, 86400, BUCKET_BURST_MAX(86400)));
    assert_false(bucket_rate_events(&r, 1, 86400, BUCKET_BURST_MAX(86400) + 1));
    assert_true(bucket_rate_events(&r, BUCKET_RATE_MAX, 1, 0));
    assert_false(bucket_rate_events(&r, BUCKET_RATE_MAX + 1, 1, 0));
    assert_false(bucket_rate_events(&r, 1, 0, 0));
    assert_false(bucket_rate_events(&r, 1, 86401, 0));
    assert_false(bucket_rate_events(&r, 1, 1, UINT64_MAX));
    assert_true(bucket_rate_bytes(&r, BUCKET_BYTES_RATE_MAX, BUCKET_BYTES_BURST_MAX));
    assert_false(bucket_rate_bytes(&r, 1, BUCKET_BYTES_BURST_MAX + 1));
}

static void zero_blocks_and_unlimited_is_its_own_word(void **state)
{
    struct meter blocked = per_period(0, 1, 1000, 0), open = {.rate = {1, 1, 1, 1}};
    struct meter no_bytes = bytes_per_s(0, 9000, 0);

    (void)state;
    assert_int_equal(burst_at(&blocked, 10, 0), 0);
    assert_int_equal(burst_at(&blocked, 10, YEAR), 0);
    assert_true(bucket_wait_ns(&blocked.bucket, &blocked.rate, 1, 0) == UINT64_MAX);
    assert_false(take(&no_bytes, 1, YEAR));
    assert_false(bucket_rate_is_unlimited(&blocked.rate));

    bucket_rate_unlimited(&open.rate);
    bucket_init(&open.bucket, &open.rate, 0);
    assert_true(bucket_rate_is_unlimited(&open.rate));
    assert_int_equal(burst_at(&open, 1000, 0), 1000);
    assert_true(take(&open, UINT32_MAX, 0));
    assert_int_equal(bucket_wait_ns(&open.bucket, &open.rate, 1, 0), 0);
    assert_int_equal(tokens(&open, 0), 0);
}

/* -- cases from the field -- */

/* Admitted in 100 s with an event asked for every `step_ns`, and a listing between each two. */
static unsigned admitted_while_polled(uint64_t events, uint32_t period_s, uint64_t step_ns)
{
    struct meter m = per_period(events, period_s, 0, 0);
    unsigned admitted = 0;

    for (uint64_t now_ns = 0; now_ns < 100 * S; now_ns += step_ns) {
        admitted += take(&m, 1, now_ns);
        assert_true(bucket_tokens(&m.bucket, &m.rate, now_ns + step_ns / 2) <= 1);
    }
    return admitted;
}

static void case_E01_low_rates_do_not_starve(void **state)
{
    (void)state;
    assert_int_equal(admitted_while_polled(1, 1, 10 * US), 100);
    assert_int_equal(admitted_while_polled(6, 60, 10 * US), 10); /* 1 per 10 s */
    assert_int_equal(admitted_while_polled(1, 1, 100 * MS), 100);
    assert_int_equal(admitted_while_polled(6, 60, 100 * MS), 10);
    /* A step that shares no factor with the interval: the remainder is kept. */
    assert_int_equal(admitted_while_polled(1, 1, 9973), 100);
    assert_int_equal(admitted_while_polled(6, 60, 9973), 10);
}

static void case_E01_asking_changes_nothing(void **state)
{
    struct meter m = per_period(1, 1, 0, 0);
    struct bucket before;

    (void)state;
    assert_true(take(&m, 1, 0));
    before = m.bucket;
    for (uint64_t now_ns = 0; now_ns < S; now_ns += MS) {
        assert_false(take(&m, 1, now_ns));
        assert_int_equal(tokens(&m, now_ns), 0);
    }
    assert_memory_equal(&before, &m.bucket, sizeof(before));
    assert_true(take(&m, 1, S));
}

static void case_E03_above_32_bits(void **state)
{
    static const double gbit_per_s[] = {4.29, 4.30, 34.4, 40, 69, 400};
    const uint64_t burst = 6000000000, frame = 62500, seconds = 4;
    struct bucket_rate r;

    (void)state;
    for (size_t i = 0; i < sizeof(gbit_per_s) / sizeof(gbit_per_s[0]); i++) {
        uint64_t rate = (uint64_t)(gbit_per_s[i] * 1e9 / 8), admitted = 0;
        struct meter m = bytes_per_s(rate, burst, 0);

        assert_true(take(&m, burst, 0));
        assert_false(take(&m, 1, 0));
        for (uint64_t now_ns = 0; now_ns <= seconds * S; now_ns += US)
            while (take(&m, frame, now_ns))
                admitted += frame;
        assert_in_range(admitted, rate * seconds / 1000 * 995, rate * seconds);
        /* It never idled, so nothing is lost but the part of a frame still in the bucket. */
        assert_true(rate * seconds - admitted <= frame);
    }
    assert_true(bucket_rate_bytes(&r, 400000000000 / 8, burst));
    assert_false(bucket_rate_bytes(&r, 400000000000 / 8 + 1, burst));
    assert_false(bucket_rate_bytes(&r, UINT64_MAX, burst));
}

static void case_E04_idle_gives_one_burst(void **state)
{
    static const uint64_t starts_ns[] = {0, 1, 5 * S, 400 * DAY};
    static const uint64_t idle_ns[] = {12 * HOUR, 6 * DAY, YEAR, 200 * YEAR};
    const uint64_t burst = 1250000, frame = 1250;

    (void)state;
    for (size_t s = 0; s < 4; s++)
        for (size_t i = 0; i < 4; i++) {
            uint64_t now_ns = starts_ns[s];
            struct meter fast = bytes_per_s(12500000000, burst, now_ns); /* 100 Gbit/s */
            struct meter slow = per_period(1, 86400, 4, now_ns);
            unsigned passed = 0;

            /* A new one starts full, whatever the clock says. */
            assert_true(take(&fast, burst, now_ns));
            assert_int_equal(burst_at(&slow, 10, now_ns), 5);

            now_ns += idle_ns[i];
            for (unsigned k = 0; k < 2 * burst / frame; k++)
                passed += take(&fast, frame, now_ns);
            assert_int_equal(passed, burst / frame);
            assert_int_equal(burst_at(&slow, 10, now_ns),
                             idle_ns[i] < 5 * DAY ? idle_ns[i] / DAY : 5);
        }
}

static void case_E05_a_timestamp_that_is_older(void **state)
{
    struct meter m = per_period(1000000, 1, 0, 0);

    (void)state;
    assert_true(take(&m, 1, S));
    /* 50 us back: nothing was earned, and the clock stays where it was. */
    assert_false(take(&m, 1, S - 50 * US));
    assert_int_equal(tokens(&m, S - 50 * US), 0);
    assert_int_equal(m.bucket.last_ns, S);
    assert_false(take(&m, 1, S + 999));
    assert_true(take(&m, 1, S + 1000));

    /* The same where the older timestamp is admitted. */
    m = per_period(1000000, 1, 1, 0);
    assert_true(take(&m, 1, S));
    assert_true(take(&m, 1, S - 50 * US));
    assert_int_equal(m.bucket.last_ns, S);
    assert_false(take(&m, 1, S + 999));
}

static void case_E05_a_pause_gives_one_burst(void **state)
{
    struct meter m = per_period(20, 1, 10, 0);

    (void)state;
    assert_int_equal(burst_at(&m, 50, 0), 11);
    assert_int_equal(burst_at(&m, 50, 60 * S), 11);
    assert_int_equal(burst_at(&m, 50, 60 * S), 0);
}

static void case_E07_packet_at_the_size_of_the_bucket(void **state)
{
    struct meter m = bytes_per_s(1500, 1500, 0);

    (void)state;
    assert_true(take(&m, 1499, 0));
    assert_int_equal(tokens(&m, 0), 1);
    m = bytes_per_s(1500, 1500, 0);
    assert_true(take(&m, 1500, 0));
    assert_int_equal(tokens(&m, 0), 0);
    m = bytes_per_s(1500, 1500, 0);
    assert_false(take(&m, 1501, 0));
    assert_false(take(&m, 1501, YEAR)); /* never, and bucket_wait_ns() says so */
    assert_true(bucket_wait_ns(&m.bucket, &m.rate, 1501, 0) == UINT64_MAX);
    assert_int_equal(tokens(&m, 0), 1500);
}

/* -- a new rate for a live bucket -- */

static void rebase_never_refills(void **state)
{
    struct meter m = per_period(100, 1, 99, 0);

    (void)state;
    assert_int_equal(burst_at(&m, 60, 0), 60); /* 40 are left */
    set_rate(&m, events_rate(1, 1, 99), 0);
    assert_int_equal(tokens(&m, 0), 40);
    assert_int_equal(tokens(&m, 5 * S), 45);
    set_rate(&m, events_rate(100, 1, 99), 5 * S);
    assert_int_equal(tokens(&m, 5 * S), 45);
    /* Down below what is there, and up again: clamped, and not given back. */
    set_rate(&m, events_rate(100, 1, 9), 5 * S);
    assert_int_equal(tokens(&m, 5 * S), 10);
    set_rate(&m, events_rate(100, 1, 99), 5 * S);
    assert_int_equal(tokens(&m, 5 * S), 10);
    assert_int_equal(burst_at(&m, 50, 5 * S), 10);
}

static void rebase_earns_under_the_old_rate_first(void **state)
{
    struct meter m = per_period(100, 1, 999, 0);

    (void)state;
    assert_int_equal(burst_at(&m, 1000, 0), 1000);
    set_rate(&m, events_rate(1, 1, 999), S / 2);
    assert_int_equal(tokens(&m, S / 2), 50);
    assert_int_equal(m.bucket.last_ns, S / 2);
    /* A rebase at an older time neither earns nor moves the clock back. */
    set_rate(&m, events_rate(100, 1, 999), S / 4);
    assert_int_equal(tokens(&m, S / 2), 50);
    assert_int_equal(m.bucket.last_ns, S / 2);
}

static void rebase_through_zero_and_unlimited_buys_nothing(void **state)
{
    struct bucket_rate unlimited;
    struct meter m = per_period(10, 1, 9, 0);

    (void)state;
    bucket_rate_unlimited(&unlimited);
    set_rate(&m, events_rate(0, 1, 9), 0);
    assert_int_equal(burst_at(&m, 10, 0), 0);
    set_rate(&m, events_rate(10, 1, 9), HOUR);
    assert_int_equal(tokens(&m, HOUR), 0);
    assert_int_equal(tokens(&m, HOUR + S / 2), 5);

    set_rate(&m, unlimited, 2 * HOUR);
    assert_int_equal(burst_at(&m, 100, 2 * HOUR), 100);
    set_rate(&m, events_rate(10, 1, 9), 3 * HOUR);
    assert_int_equal(tokens(&m, 3 * HOUR), 0);
    assert_int_equal(burst_at(&m, 100, 3 * HOUR + S), 10);
}

static void rebase_keeps_tokens_across_periods(void **state)
{
    static const uint32_t periods_s[] = {1, 60, 3600, 86400};

    (void)state;
    for (size_t from = 0; from < 4; from++)
        for (size_t to = 0; to < 4; to++) {
            struct meter m = per_period(10, periods_s[from], 99, 0);
            uint64_t half_ns = periods_s[from] * S / 20, rest; /* time for half a token */

            assert_int_equal(burst_at(&m, 93, 0), 93);
            set_rate(&m, events_rate(3, periods_s[to], 99), half_ns);
            assert_int_equal(tokens(&m, half_ns), 7);
            /* The half token is carried over in whole seconds of the old and the new period. */
            rest = from == to ? m.rate.cost / 2 : from == 0 ? 0 : periods_s[to] / 2 * S;
            assert_int_equal(m.bucket.level, 7 * m.rate.cost + rest);
            set_rate(&m, events_rate(3, periods_s[to], 4), half_ns);
            assert_int_equal(tokens(&m, half_ns), 5);
            assert_true(m.bucket.level <= m.rate.cap);
        }
}

/* Tokens that no longer fit are cut before they are priced: 220000 days of credits exceed 2^64. */
static void rebase_does_not_overflow(void **state)
{
    struct meter m = per_period(1, 1, 219999, 0);

    (void)state;
    assert_int_equal(tokens(&m, 0), 220000);
    set_rate(&m, events_rate(1, 86400, BUCKET_BURST_MAX(86400)), 0);
    assert_int_equal(tokens(&m, 0), BUCKET_BURST_MAX(86400) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_req_at_once),
        cmocka_unit_test(limit_req_twenty_a_second),
        cmocka_unit_test(limit_req_retry_after),
        cmocka_unit_test(rates_out_of_range_are_rejected),
        cmocka_unit_test(zero_blocks_and_unlimited_is_its_own_word),
        cmocka_unit_test(case_E01_low_rates_do_not_starve),
        cmocka_unit_test(case_E01_asking_changes_nothing),
        cmocka_unit_test(case_E03_above_32_bits),
        cmocka_unit_test(case_E04_idle_gives_one_burst),
        cmocka_unit_test(case_E05_a_timestamp_that_is_older),
        cmocka_unit_test(case_E05_a_pause_gives_one_burst),
        cmocka_unit_test(case_E07_packet_at_the_size_of_the_bucket),
        cmocka_unit_test(rebase_never_refills),
        cmocka_unit_test(rebase_earns_under_the_old_rate_first),
        cmocka_unit_test(rebase_through_zero_and_unlimited_buys_nothing),
        cmocka_unit_test(rebase_keeps_tokens_across_periods),
        cmocka_unit_test(rebase_does_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
