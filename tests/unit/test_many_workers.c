/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of one tenant on many workers, through the whole of admission: they add up. */
#include "tests/unit/site.h"

/* Attempts admitted in ten seconds of three times the rate; everything on `hot`, or on all in turn.
 */
static uint64_t admitted_in_10_s(struct site *s, bool hot)
{
    uint64_t admitted = 0, end_ns = s->now_ns + 10 * CORE_S;

    for (uint32_t i = 0; s->now_ns < end_ns; i++, s->now_ns += CORE_S / 3000) {
        uint32_t worker = hot ? s->crew.n - 1 : i % s->crew.n;

        if (offer(s, worker) == REASON_NONE) {
            admitted++;
            complete(s, worker);
        }
        tidy(s);
    }
    return admitted;
}

static void case_D02_a_rate_is_one_rate_on_any_number_of_workers(void **state)
{
    static struct site s;

    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        open_site(&s, workers);
        s.tenant.attempts = core_rate(1000, 1, 100);
        adopt(&s);
        /* The burst, and 1000/s, to the token; then all on one, and even again. */
        assert_in_range(admitted_in_10_s(&s, false), 10100, 10101);
        assert_in_range(admitted_in_10_s(&s, true), 10000, 10001);
        assert_in_range(admitted_in_10_s(&s, false), 10000, 10001);
        close_site(&s);
    }
}

/* A rate that is leased in lots: the lone hot worker has all of it after a millisecond. */
static void case_D02_a_lone_hot_worker_reaches_the_whole_rate(void **state)
{
    static struct site s;
    uint64_t admitted = 0;

    (void)state;
    open_site(&s, 4);
    s.tenant.attempts = core_rate(1000000, 1, 4000);
    adopt(&s);
    for (uint32_t i = 0; i < 30000; i++, s.now_ns += 333) /* 10 ms on all */
        offer(&s, i % 4);
    for (uint32_t i = 0; i < 3000; i++, s.now_ns += 333, tidy(&s)) /* 1 ms on one */
        offer(&s, 2);
    for (uint32_t i = 0; i < 300000; i++, s.now_ns += 333, tidy(&s))
        admitted += offer(&s, 2) == REASON_NONE;
    assert_in_range(admitted, 99900 - 50, 99900 + 50); /* 99.9 ms */
    close_site(&s);
}

static void case_D02_a_window_is_one_window(void **state)
{
    static const uint32_t limits[] = {100, 2, 1};
    static struct site s;

    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        for (size_t l = 0; l < 3; l++) {
            uint32_t admitted = 0;

            open_site(&s, workers);
            s.tenant.window = limits[l];
            adopt(&s);
            for (uint32_t i = 0; i < 400; i++)
                admitted += offer(&s, i % workers) == REASON_NONE;
            assert_int_equal(admitted, limits[l]);
            /* Freed on one worker, taken on another. */
            for (uint32_t i = 0; i < 50; i++) {
                complete(&s, i % workers);
                assert_int_equal(offer(&s, (i + 1) % workers), REASON_NONE);
                assert_int_equal(offer(&s, (i + 2) % workers), REASON_SHARE);
            }
            assert_int_equal(window_used(admission_tenant_window(s.crew.shared, 0)), limits[l]);
            assert_int_equal(window_peak(admission_tenant_window(s.crew.shared, 0)), limits[l]);
            close_site(&s);
        }
}

/* Two tokens for four workers are two, not none and not four. */
static void case_D02_fewer_tokens_than_workers(void **state)
{
    static struct site s;
    uint32_t admitted = 0;

    (void)state;
    open_site(&s, 4);
    s.tenant.attempts = core_rate(2, 1, 1);
    adopt(&s);
    for (uint32_t i = 0; i < 4; i++)
        admitted += offer(&s, i) == REASON_NONE;
    assert_int_equal(admitted, 2);
    for (uint32_t w = 0; w < 4; w++) { /* whoever comes when it is there */
        s.now_ns += CORE_S / 2;
        assert_int_equal(offer(&s, w), REASON_NONE);
        assert_int_equal(offer(&s, (w + 1) % 4), REASON_RATE);
    }
    close_site(&s);
}

/* -- E07: tested all, then debited all -- */

/* With lots, on two workers: a full window, then more bytes than the burst; afterwards there are as
 * many packets as if nobody had asked. */
static void case_E07_what_is_refused_costs_nothing_leased(void **state)
{
    static struct site s;
    uint32_t admitted = 0;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000000, 1, 1599);
    s.tenant.packets = core_rate(1000000, 1, 1599);
    s.tenant.bits = core_rate(80 * MB_S, 1, 60 * 1599);
    s.tenant.window = 2;
    adopt(&s);
    for (uint32_t i = 0; i < 31; i++)
        assert_int_equal(offer(&s, i % 2), i < 2 ? REASON_NONE : REASON_SHARE);
    assert_int_equal(admission_attempt_tokens(s.crew.shared, &s.tenant, s.now_ns), 1600);
    for (uint32_t i = 0; i < 31; i++) /* more bytes than the burst */
        assert_int_equal(admission_charge(s.crew.workers[i % 2], 0, 60 * 1599 + 1, s.now_ns).reason,
                         REASON_BITS);
    s.now_ns += 50 * 1000;
    s.tenant.window = POLICY_WINDOW_MAX;
    adopt(&s);
    for (uint32_t i = 0; i < 1700; i++)
        admitted += charge(&s, i % 2, 1);
    assert_int_equal(admitted, 1600 - 2);
    close_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_D02_a_rate_is_one_rate_on_any_number_of_workers),
        cmocka_unit_test(case_D02_a_lone_hot_worker_reaches_the_whole_rate),
        cmocka_unit_test(case_D02_a_window_is_one_window),
        cmocka_unit_test(case_D02_fewer_tokens_than_workers),
        cmocka_unit_test(case_E07_what_is_refused_costs_nothing_leased),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
