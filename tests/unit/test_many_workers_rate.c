/* SPDX-License-Identifier: BSD-3-Clause */
/* A live rate changes under many workers, each of which has a lease of it. */
#include "tests/unit/site.h"

#define LOT 1518u /* bytes, at 1 MB/s as well as at 100 MB/s over four workers */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_E08_a_slower_rate_clamps_and_holds_at_once),
        cmocka_unit_test(case_E08_a_faster_rate_starts_from_what_is_there),
        cmocka_unit_test(case_E08_zero_blocks_with_no_leftover),
        cmocka_unit_test(case_E08_unlimited_and_back),
        cmocka_unit_test(case_E08_leases_beyond_the_burst_are_no_debt),
        cmocka_unit_test(case_E08_tokens_move_with_the_period),
        cmocka_unit_test(case_E08_a_worker_may_miss_a_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
