/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What acts on a breaker from outside: operators, new rules, odd clocks, and the share of failures
 * that the control thread looks at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/breaking.h"

/* -- operators, clocks, rules -- */

static void forced_modes_win_and_nothing_moves(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker_rules open = rules, closed = rules;
    struct breaker b = {0};

    (void)state;
    open.mode = BREAKER_FORCED_OPEN;
    closed.mode = BREAKER_FORCED_CLOSED;
    assert_int_equal(breaker_ask(&b, &open, 0, 0), BREAKER_REFUSE);
    assert_int_equal(state_at(&b, &open, 0), BREAKER_OPEN);
    fail_in_a_row(&b, &closed, 9, 0);
    breaker_trip(&b, &closed, MID, 0);
    assert_int_equal(state_at(&b, &rules, 0), BREAKER_CLOSED);
    fail_in_a_row(&b, &rules, 2, 0);
    assert_int_equal(state_at(&b, &rules, 0), BREAKER_CLOSED);
    breaker_success(&b, &closed, false, 0); /* and does not break the row */
    fail_in_a_row(&b, &rules, 1, 0);
    assert_int_equal(state_at(&b, &rules, 0), BREAKER_OPEN);
    assert_int_equal(breaker_ask(&b, &closed, TOP, 0), BREAKER_PASS);
    assert_int_equal(state_at(&b, &closed, 0), BREAKER_CLOSED);
    assert_false(breaker_claim(&b, &closed, S));
    assert_false(breaker_claim(&b, &open, S));
    assert_true(breaker_claim(&b, &rules, S));
    breaker_success(&b, &open, true, S);
    assert_int_equal(state_at(&b, &rules, S), BREAKER_HALF_OPEN);
    breaker_failure(&b, &closed, true, MID, S);
    assert_int_equal(state_at(&b, &rules, S), BREAKER_HALF_OPEN);
}

static void automatic_again_starts_sane(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};

    (void)state;
    fail_in_a_row(&b, &rules, 2, 0);
    breaker_unforce(&b, BREAKER_AUTO, 0);
    assert_int_equal(breaker_ask(&b, &rules, TOP, 0), BREAKER_PASS);
    breaker_unforce(&b, BREAKER_FORCED_CLOSED, 0);
    fail_in_a_row(&b, &rules, 2, 0); /* the two before are forgotten */
    assert_int_equal(state_at(&b, &rules, 0), BREAKER_CLOSED);
    breaker_unforce(&b, BREAKER_FORCED_OPEN, 20 * S);
    claim_at(&b, &rules, 20 * S);
    breaker_failure(&b, &rules, true, MID, 20 * S);
    breaker_unforce(&b, BREAKER_FORCED_OPEN, 20 * S);
    close_at(&b, &rules, 20 * S);
    assert_int_equal(breaker_view(&b, &rules, 20 * S).level, 0);
    assert_share(&b, &rules, 20 * S, .1);
    fail_in_a_row(&b, &rules, 3, 20 * S);
    breaker_unforce(&b, BREAKER_FORCED_CLOSED, 20 * S);
    assert_int_equal(breaker_ask(&b, &rules, TOP, 20 * S), BREAKER_PASS);
}

static void clock_may_stand_still_or_leap_a_year(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};

    (void)state;
    rules.jitter_ppm = 0;
    assert_true(breaker_rules_init(&rules));
    fail_in_a_row(&b, &rules, 3, YEAR);
    for (unsigned i = 0; i < 1000; i++)
        assert_false(breaker_claim(&b, &rules, YEAR));
    claim_at(&b, &rules, YEAR + S);
    /* A year with a probe on its way: it failed, and the period is over, too. */
    assert_int_equal(breaker_view(&b, &rules, 2 * YEAR).until_ns, YEAR + 5 * S);
    assert_int_equal(breaker_ask(&b, &rules, 0, 2 * YEAR), BREAKER_MAY_PROBE);
    assert_true(breaker_claim(&b, &rules, 2 * YEAR));
    assert_false(breaker_claim(&b, &rules, 2 * YEAR));
    breaker_success(&b, &rules, true, 2 * YEAR);
    for (unsigned i = 0; i < 1000; i++)
        assert_share(&b, &rules, 2 * YEAR, .1);
    assert_int_equal(breaker_view(&b, &rules, 3 * YEAR).level, 0);
    assert_int_equal(breaker_ask(&b, &rules, TOP, 3 * YEAR), BREAKER_PASS);
    /* The last time that is allowed. */
    fail_in_a_row(&b, &rules, 3, (1ull << 59) - S);
    assert_int_equal(breaker_ask(&b, &rules, 0, (1ull << 59) - 1), BREAKER_REFUSE);
    assert_int_equal(breaker_ask(&b, &rules, 0, (1ull << 59) + US), BREAKER_MAY_PROBE);
}

/* Rules may change at any time; `until` stands, the rest follows the new ones. */
static void rules_change_under_way(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};

    (void)state;
    rules.open_ns = MS;
    rules.open_max_ns = 86400 * S;
    rules.jitter_ppm = 0;
    assert_true(breaker_rules_init(&rules));
    fail_in_a_row(&b, &rules, 3, 0);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t until_ns = breaker_view(&b, &rules, 0).until_ns;

        assert_true(breaker_claim(&b, &rules, until_ns));
        breaker_failure(&b, &rules, true, MID, until_ns);
    }
    assert_int_equal(breaker_view(&b, &rules, 0).level, 27); /* 2^27 ms is more than a day */
    rules = full_rules();
    close_at(&b, &rules, YEAR);
    fail_in_a_row(&b, &rules, 3, YEAR);
    assert_int_equal(breaker_view(&b, &rules, YEAR).until_ns, YEAR + 30 * S);
    /* 27 doublings of the new first period are more than fits in 64 bits. */
    rules.open_ns = 1ull << 40;
    rules.open_max_ns = 1ull << 41;
    assert_true(breaker_claim(&b, &rules, YEAR + 30 * S));
    breaker_failure(&b, &rules, true, MID, YEAR + 30 * S);
    assert_in_range(breaker_view(&b, &rules, YEAR).until_ns, YEAR + 30 * S + (1ull << 41),
                    YEAR + 30 * S + (1ull << 41) + US);
    close_at(&b, &rules, 2 * YEAR);
    rules.ramp_ns = 0;
    assert_true(breaker_rules_init(&rules));
    assert_int_equal(breaker_ask(&b, &rules, TOP, 2 * YEAR), BREAKER_PASS);
}

static void rules_are_checked(void **state)
{
    struct breaker_rules good = full_rules(), bad;

    (void)state;
#define REFUSED(field, value)                                                                      \
    (bad = good, bad.field = (value), assert_false(breaker_rules_init(&bad)))
    REFUSED(failures, 0);
    REFUSED(jitter_ppm, BREAKER_JITTER_MAX + 1);
    REFUSED(open_ns, BREAKER_NS_MIN - 1);
    REFUSED(open_ns, good.open_max_ns + 1);
    REFUSED(open_max_ns, BREAKER_NS_MAX + 1);
    REFUSED(probe_ns, BREAKER_NS_MIN - 1);
    REFUSED(probe_ns, BREAKER_NS_MAX + 1);
    REFUSED(ramp_ns, 1);
    REFUSED(ramp_ns, BREAKER_NS_MAX + 1);
    REFUSED(mode, BREAKER_FORCED_CLOSED + 1);
#undef REFUSED
    assert_string_equal(breaker_state_name(BREAKER_CLOSED), "closed");
    assert_string_equal(breaker_state_name(BREAKER_RAMPING), "ramping");
    assert_string_equal(breaker_state_name(BREAKER_OPEN), "open");
    assert_string_equal(breaker_state_name(BREAKER_HALF_OPEN), "half-open");
}

/* -- the share that failed -- */

struct sampled {
    struct breaker_ratio ratio;
    struct breaker_view view;
    struct breaker_results results;
};

static bool sample(struct sampled *s, uint64_t successes, uint64_t failures, uint64_t now_ns)
{
    s->results.successes += successes;
    s->results.failures += failures;
    return breaker_ratio_trips(&s->ratio, &s->view, &s->results, now_ns);
}

static void half_of_twenty_trips(void **state)
{
    struct sampled s = {.results = {1000, 1000}};

    (void)state;
    assert_false(sample(&s, 0, 1000, YEAR)); /* only where it starts from */
    assert_false(sample(&s, 9, 10, YEAR + 50 * MS));
    assert_true(sample(&s, 1, 0, YEAR + 100 * MS));  /* 10 of 20 */
    assert_false(sample(&s, 1, 0, YEAR + 150 * MS)); /* 10 of 21 */
    assert_true(sample(&s, 0, 1, YEAR + 150 * MS));
}

static void ratio_forgets_after_ten_seconds(void **state)
{
    struct sampled s = {0};

    (void)state;
    assert_false(sample(&s, 0, 0, S));
    assert_false(sample(&s, 0, 19, S + 999 * MS));
    assert_true(sample(&s, 19, 0, 2 * S)); /* 19 of 38 */
    assert_true(sample(&s, 0, 0, 11 * S - 1));
    assert_false(sample(&s, 0, 18, 11 * S)); /* the 19 failures of second 1 are gone: 18 of 37 */
    assert_true(sample(&s, 0, 1, 11 * S));
    assert_true(sample(&s, 0, 0, S)); /* a clock behind: what is there stays */
    assert_false(sample(&s, 0, 0, YEAR));
    assert_true(sample(&s, 0, 20, YEAR));
}

/* An outage's results do not open it again: counted anew after each change of state. */
static void ratio_starts_anew_when_it_closes(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};
    struct sampled s = {.view = breaker_view(&b, &rules, 0)};

    (void)state;
    assert_false(sample(&s, 0, 0, 0));
    assert_true(sample(&s, 0, 20, 0));
    breaker_trip(&b, &rules, MID, 0);
    assert_int_equal(state_at(&b, &rules, 0), BREAKER_OPEN);
    s.view = breaker_view(&b, &rules, 500 * MS);
    assert_false(sample(&s, 0, 100, 500 * MS));
    assert_false(sample(&s, 0, 100, 600 * MS));
    close_at(&b, &rules, S); /* between two samples */
    s.view = breaker_view(&b, &rules, S);
    assert_false(sample(&s, 0, 100, S));
    assert_false(sample(&s, 0, 19, S));
    assert_true(sample(&s, 0, 1, S));
    s.view = breaker_view(&b, &rules, 6 * S); /* the end of the ramp changes nothing */
    assert_int_equal(s.view.state, BREAKER_CLOSED);
    assert_true(sample(&s, 0, 0, 6 * S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forced_modes_win_and_nothing_moves),
        cmocka_unit_test(automatic_again_starts_sane),
        cmocka_unit_test(clock_may_stand_still_or_leap_a_year),
        cmocka_unit_test(rules_change_under_way),
        cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(half_of_twenty_trips),
        cmocka_unit_test(ratio_forgets_after_ten_seconds),
        cmocka_unit_test(ratio_starts_anew_when_it_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
