/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases of workers that have nothing to do, and of those that have stopped. */
#include "tests/unit/site.h"

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
        cmocka_unit_test(idle_leases_go_back),
        cmocka_unit_test(returning_late_earns_no_second_burst),
        cmocka_unit_test(idle_answers_go_back),
        cmocka_unit_test(a_paused_worker_cannot_spend_what_was_reclaimed),
        cmocka_unit_test(what_was_reclaimed_does_not_come_back_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
