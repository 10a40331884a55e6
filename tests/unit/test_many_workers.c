/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of one tenant on many workers, through the whole of admission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "tests/unit/core.h"

#define WEB 0

/* One tenant and one service without limits; a test sets its own and adopts them. */
struct site {
    struct core_crew crew;
    struct policy_tenant tenant;
    struct policy_service service;
    struct address address;
    struct policy_ports ports;
    uint64_t now_ns;
};

static void open_site(struct site *s, uint32_t workers)
{
    const struct admission_size size = {.n_tenants = 1, .n_services = 1, .n_workers = workers};

    *s = (struct site){.ports = {80, 80}, .now_ns = CORE_S};
    core_crew_start(&s->crew, &size);
    s->address = core_address("10.9.0.10");
    s->tenant = core_tenant(0);
    s->service = core_service(WEB, &s->address, &s->ports);
}

static void close_site(struct site *s)
{
    core_crew_stop(&s->crew);
}

static struct policy_spec spec_of(struct site *s)
{
    return (struct policy_spec){
        .tenants = &s->tenant, .services = &s->service, .n_tenants = 1, .n_services = 1};
}

static void adopt(struct site *s)
{
    const struct policy_spec spec = spec_of(s);

    core_crew_adopt(&s->crew, &spec, s->now_ns);
}

static enum reason offer(struct site *s, uint32_t worker)
{
    const struct attempt attempt = {.tenant = 0, .service = WEB, .ip_bytes = 60};

    return admission_offer(s->crew.workers[worker], &attempt, s->now_ns).reason;
}

static void complete(struct site *s, uint32_t worker)
{
    core_complete(s->crew.workers[worker], &(struct slot){.tenant = 0, .service = WEB},
                  OUTCOME_FINISHED);
}

static bool charge(struct site *s, uint32_t worker, uint32_t bytes)
{
    return admission_charge(s->crew.workers[worker], 0, bytes, s->now_ns).verdict == VERDICT_ADMIT;
}

static void tidy(struct site *s)
{
    for (uint32_t w = 0; w < s->crew.n; w++)
        admission_tidy(s->crew.workers[w], s->now_ns);
}

static const struct pool *attempts_pool(const struct site *s)
{
    return &s->crew.shared->tenants[0].attempts[PERIOD_SECOND];
}

/* -- D02: limits add up -- */

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

/* -- E08: a live rate changes -- */

/* Bytes that pass at once, in frames of 1000, all workers in turn. */
static uint64_t burst_of(struct site *s)
{
    uint64_t bytes = 0;
    uint32_t refused = 0;

    for (uint32_t i = 0; refused < s->crew.n; i++)
        if (charge(s, i % s->crew.n, 1000)) {
            bytes += 1000;
            refused = 0;
        } else {
            refused++;
        }
    return bytes;
}

/* Bytes that pass in a second of steady asking. */
static uint64_t second_of(struct site *s, uint64_t step_ns)
{
    uint64_t bytes = 0, end_ns = s->now_ns + CORE_S;

    for (uint32_t i = 0; s->now_ns < end_ns; i++, s->now_ns += step_ns)
        bytes += charge(s, i % s->crew.n, 1000) ? 1000 : 0;
    return bytes;
}

#define MB_S 8000000ull /* bit/s */
#define LOT  1518u      /* bytes, at 1 MB/s as well as at 100 MB/s over four workers */

static void case_E08_a_slower_rate_clamps_and_holds_at_once(void **state)
{
    static struct site s;

    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers *= 4) {
        open_site(&s, workers);
        s.tenant.bits = core_rate(100 * MB_S, 1, 10000000);
        adopt(&s);
        for (uint32_t w = 0; w < workers; w++)
            assert_true(charge(&s, w, 1000)); /* each holds a lot */
        s.tenant.bits = core_rate(MB_S, 1, 100000);
        adopt(&s);
        /* The full bucket is clamped to the new burst in the same instant, and nobody is in debt.
         */
        assert_in_range(burst_of(&s), 100000 - workers * LOT, 100000);
        assert_in_range(second_of(&s, 100000), 990000, 1001000);
        close_site(&s);
    }
}

static void case_E08_a_faster_rate_starts_from_what_is_there(void **state)
{
    static struct site s;
    uint64_t before;

    (void)state;
    open_site(&s, 4);
    s.tenant.bits = core_rate(MB_S, 1, 100000);
    adopt(&s);
    before = burst_of(&s);
    assert_in_range(before, 100000 - 4 * LOT, 100000);
    s.tenant.bits = core_rate(100 * MB_S, 1, 10000000);
    adopt(&s);
    assert_in_range(burst_of(&s), 0, 100000 - before); /* no refill */
    assert_in_range(second_of(&s, 1000), 99000000, 100001000);
    close_site(&s);
}

static void case_E08_zero_blocks_with_no_leftover(void **state)
{
    static struct site s;

    (void)state;
    open_site(&s, 4);
    s.tenant.bits = core_rate(100 * MB_S, 1, 10000000);
    adopt(&s);
    for (uint32_t w = 0; w < 4; w++)
        assert_true(charge(&s, w, 1000));
    s.tenant.bits = core_rate(0, 1, 10000000);
    adopt(&s);
    assert_int_equal(burst_of(&s), 0); /* nothing of the leases either */
    s.now_ns += 10 * CORE_S;
    assert_int_equal(burst_of(&s), 0);
    s.tenant.bits = core_rate(100 * MB_S, 1, 10000000);
    adopt(&s);
    assert_int_equal(burst_of(&s), 0); /* nothing was earned while blocked */
    s.now_ns += 10 * CORE_MS;
    assert_in_range(burst_of(&s), 1000000 - 4 * LOT, 1000000);
    close_site(&s);
}

/* A round trip through `unlimited` buys no burst, and leaves nothing counted. */
static void case_E08_unlimited_and_back(void **state)
{
    static struct site s;

    (void)state;
    open_site(&s, 4);
    for (unsigned i = 0; i < 5; i++) {
        s.tenant.attempts = core_rate(1000000, 1, 4000);
        adopt(&s);
        for (uint32_t w = 0; w < 4; w++)
            assert_int_equal(offer(&s, w), i ? REASON_RATE : REASON_NONE);
        s.tenant.attempts = CORE_UNLIMITED;
        adopt(&s);
        assert_int_equal(attempts_pool(&s)->outstanding, 0);
        for (uint32_t w = 0; w < 4; w++)
            assert_int_equal(offer(&s, w), REASON_NONE);
    }
    close_site(&s);
}

/* Lots larger than the new burst, all spent but not yet reported. */
static void case_E08_leases_beyond_the_burst_are_no_debt(void **state)
{
    static struct site s;
    uint32_t admitted = 0;

    (void)state;
    open_site(&s, 4);
    s.tenant.attempts = core_rate(1000000, 1, 4000);
    adopt(&s);
    for (uint32_t i = 0; i < 4 * 13; i++)
        assert_int_equal(offer(&s, i % 4), REASON_NONE);
    assert_int_equal(attempts_pool(&s)->outstanding, 4 * 13);
    s.tenant.attempts = core_rate(10, 1, 5);
    adopt(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    s.now_ns += CORE_S;
    for (uint32_t i = 0; i < 20; i++)
        admitted += offer(&s, i % 4) == REASON_NONE;
    assert_int_equal(admitted, 6);
    close_site(&s);
}

/* Another period: the tokens move, and who has not adopted it yet finds none where they were. */
static void case_E08_tokens_move_with_the_period(void **state)
{
    static struct site s;
    struct policy_spec spec;
    uint32_t admitted = 0;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000, 1, 99);
    adopt(&s);
    s.tenant.attempts = core_rate(60000, 60, 99);
    spec = spec_of(&s);
    core_crew_publish(&s.crew, &spec, s.now_ns);
    admission_adopt(s.crew.workers[0], s.crew.policy, s.now_ns);
    assert_int_equal(offer(&s, 1), REASON_RATE);
    for (uint32_t i = 0; i < 200; i++)
        admitted += offer(&s, 0) == REASON_NONE;
    assert_int_equal(admitted, 100);
    admission_adopt(s.crew.workers[1], s.crew.policy, s.now_ns);
    assert_int_equal(offer(&s, 1), REASON_RATE);
    close_site(&s);
}

/* A worker that has not seen the middle one of three policies. */
static void case_E08_a_worker_may_miss_a_policy(void **state)
{
    static struct site s;
    struct policy_spec spec;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000000, 1, 4000);
    adopt(&s);
    assert_int_equal(offer(&s, 0), REASON_NONE);
    assert_int_equal(offer(&s, 1), REASON_NONE);
    assert_int_equal(attempts_pool(&s)->outstanding, 50);
    s.tenant.attempts = core_rate(60000, 60, 4000);
    spec = spec_of(&s);
    core_crew_publish(&s.crew, &spec, s.now_ns);
    admission_adopt(s.crew.workers[0], s.crew.policy, s.now_ns);
    assert_int_equal(attempts_pool(&s)->outstanding, 25); /* worker 1 still has its lot */
    s.tenant.attempts = core_rate(1000000, 1, 4000);
    adopt(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 25);
    s.now_ns += 2 * LEASE_IDLE_NS;
    tidy(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
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

/* -- leases of the idle and of the dead -- */

static void idle_leases_go_back(void **state)
{
    static struct site s;

    (void)state;
    open_site(&s, 4);
    s.tenant.attempts = core_rate(1000000, 1, 4000);
    s.tenant.bits = core_rate(100 * MB_S, 1, 10000000);
    adopt(&s);
    for (uint32_t w = 0; w < 4; w++)
        assert_int_equal(offer(&s, w), REASON_NONE);
    assert_int_equal(attempts_pool(&s)->outstanding, 4 * 13);
    assert_int_equal(s.crew.shared->tenants[0].bits.outstanding, 4 * 1518);
    assert_int_equal(admission_attempt_tokens(s.crew.shared, &s.tenant, s.now_ns), 4001);
    s.now_ns += LEASE_IDLE_NS - 1;
    tidy(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 4 * 13);
    s.now_ns++;
    tidy(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    assert_int_equal(s.crew.shared->tenants[0].bits.outstanding, 0);
    assert_int_equal(attempts_pool(&s)->level / (int64_t)CORE_S, 4001 - 4);
    close_site(&s);
}

/* Time earns nothing for a token that was not yet spent then. The bucket is full, a lot is leased,
 * and most of it is spent just before what is left goes back: one bucket would have 1577 now. */
static void returning_late_earns_no_second_burst(void **state)
{
    static struct site s;
    struct policy_spec spec;
    uint32_t admitted = 0;

    (void)state;
    for (unsigned by_policy = 0; by_policy < 2; by_policy++, admitted = 0) {
        open_site(&s, 2);
        s.tenant.attempts = core_rate(1000000, 1, 1599);
        adopt(&s);
        assert_int_equal(offer(&s, 0), REASON_NONE);
        s.tenant.attempts.burst = 3000; /* another lot: the lease goes back */
        spec = spec_of(&s);
        if (by_policy)
            core_crew_publish(&s.crew, &spec, s.now_ns);
        s.now_ns += LEASE_IDLE_NS - 1000;
        for (uint32_t i = 0; i < 24; i++)
            assert_int_equal(offer(&s, 0), REASON_NONE);
        s.now_ns += 1000;
        if (by_policy)
            admission_adopt(s.crew.workers[0], s.crew.policy, s.now_ns);
        else
            tidy(&s);
        assert_int_equal(attempts_pool(&s)->outstanding, 0);
        while (offer(&s, 1) == REASON_NONE)
            admitted++;
        assert_int_equal(admitted, 1575);
        close_site(&s);
    }
}

static const struct pool *refusals_pool(const struct site *s)
{
    return &s->crew.shared->services[WEB].refusals[PERIOD_SECOND];
}

/* The right to answer is leased as well, and what is left of it serves another worker. */
static void idle_answers_go_back(void **state)
{
    static struct site s;
    uint32_t answered = 0;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000000, 1, 1599);
    s.service.refuse_rate = core_rate(1000000, 1, 1599);
    adopt(&s);
    assert_int_equal(offer(&s, 0), REASON_NONE); /* in the queue beside a tenant */
    assert_true(admission_may_answer(s.crew.workers[0], WEB, s.now_ns));
    assert_true(admission_may_answer(s.crew.workers[1], WEB, s.now_ns));
    assert_int_equal(refusals_pool(&s)->outstanding, 2 * 25);
    s.now_ns += LEASE_IDLE_NS - 1;
    tidy(&s);
    assert_int_equal(refusals_pool(&s)->outstanding, 2 * 25);
    s.now_ns++;
    tidy(&s);
    assert_int_equal(refusals_pool(&s)->outstanding, 0);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    s.now_ns += CORE_S;
    while (admission_may_answer(s.crew.workers[1], WEB, s.now_ns))
        answered++;
    assert_int_equal(answered, 1600);
    s.now_ns += CORE_S; /* and again, of the other */
    assert_true(admission_may_answer(s.crew.workers[0], WEB, s.now_ns));
    assert_int_equal(refusals_pool(&s)->outstanding, 25);
    s.now_ns += LEASE_IDLE_NS;
    tidy(&s);
    assert_int_equal(refusals_pool(&s)->outstanding, 0);
    close_site(&s);
}

static void a_paused_worker_cannot_spend_what_was_reclaimed(void **state)
{
    static struct site s;
    uint32_t admitted = 0;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000000, 1, 1599);
    adopt(&s);
    assert_int_equal(offer(&s, 0), REASON_NONE);
    assert_int_equal(attempts_pool(&s)->outstanding, 25);
    admission_reclaim(s.crew.workers[0]);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    admission_reclaim(s.crew.workers[0]); /* nothing is left to take */
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    while (offer(&s, 1) == REASON_NONE)
        admitted++;
    assert_int_equal(admitted, 1575); /* the 24 are lost, not spent by anybody */
    assert_int_equal(offer(&s, 0), REASON_RATE);
    tidy(&s);
    s.now_ns += 2 * LEASE_IDLE_NS;
    tidy(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    /* Alive again, it leases as before. */
    assert_int_equal(offer(&s, 0), REASON_NONE);
    assert_int_equal(attempts_pool(&s)->outstanding, 25);
    close_site(&s);
}

/* Back from a pause, its first act may be to tidy up: void tokens do not come back that way. */
static void what_was_reclaimed_does_not_come_back_idle(void **state)
{
    static struct site s;

    (void)state;
    open_site(&s, 2);
    s.tenant.attempts = core_rate(1000000, 1, 1599);
    adopt(&s);
    assert_int_equal(offer(&s, 0), REASON_NONE);
    admission_reclaim(s.crew.workers[0]);
    s.now_ns += 2 * LEASE_IDLE_NS;
    tidy(&s);
    assert_int_equal(attempts_pool(&s)->outstanding, 0);
    assert_int_equal(attempts_pool(&s)->level / (int64_t)CORE_S, 1575);
    close_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_D02_a_rate_is_one_rate_on_any_number_of_workers),
        cmocka_unit_test(case_D02_a_lone_hot_worker_reaches_the_whole_rate),
        cmocka_unit_test(case_D02_a_window_is_one_window),
        cmocka_unit_test(case_D02_fewer_tokens_than_workers),
        cmocka_unit_test(case_E08_a_slower_rate_clamps_and_holds_at_once),
        cmocka_unit_test(case_E08_a_faster_rate_starts_from_what_is_there),
        cmocka_unit_test(case_E08_zero_blocks_with_no_leftover),
        cmocka_unit_test(case_E08_unlimited_and_back),
        cmocka_unit_test(case_E08_leases_beyond_the_burst_are_no_debt),
        cmocka_unit_test(case_E08_tokens_move_with_the_period),
        cmocka_unit_test(case_E08_a_worker_may_miss_a_policy),
        cmocka_unit_test(case_E07_what_is_refused_costs_nothing_leased),
        cmocka_unit_test(idle_leases_go_back),
        cmocka_unit_test(returning_late_earns_no_second_burst),
        cmocka_unit_test(idle_answers_go_back),
        cmocka_unit_test(a_paused_worker_cannot_spend_what_was_reclaimed),
        cmocka_unit_test(what_was_reclaimed_does_not_come_back_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
