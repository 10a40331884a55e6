/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The breaker in virtual time: known traces to the nanosecond, periods, probes and the ramp.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/breaking.h"

/* -- known traces -- */

struct trace {
    unsigned reached, probes;
    uint64_t opened_ns, probe_ns[8], closed_ns; /* first opening, last closing */
};

/* One request each `gap_ns` for `for_ns`, to a backend that answers at once, and not before
 * `alive_ns`. */
static struct trace play(const struct breaker_rules *rules, uint64_t gap_ns, uint64_t for_ns,
                         uint64_t dead_from_ns, uint64_t alive_ns)
{
    struct breaker b = {0};
    struct trace t = {0};

    for (uint64_t now_ns = 0; now_ns < for_ns; now_ns += gap_ns) {
        enum breaker_state before = state_at(&b, rules, now_ns);
        enum breaker_answer answer = breaker_ask(&b, rules, 0, now_ns);
        bool probe = answer == BREAKER_MAY_PROBE && breaker_claim(&b, rules, now_ns);

        if (answer != BREAKER_PASS && !probe)
            continue;
        t.reached++;
        if (probe)
            t.probe_ns[t.probes++] = now_ns;
        if (now_ns >= dead_from_ns && now_ns < alive_ns)
            breaker_failure(&b, rules, probe, MID, now_ns);
        else
            breaker_success(&b, rules, probe, now_ns);
        if (before == BREAKER_CLOSED && state_at(&b, rules, now_ns) == BREAKER_OPEN)
            t.opened_ns = now_ns;
        if (before == BREAKER_OPEN && state_at(&b, rules, now_ns) == BREAKER_CLOSED)
            t.closed_ns = now_ns;
    }
    return t;
}

/* Threshold 3, open 1 s, 10 requests a second, backend dead until 2.5 s: 13 of 40 reach it. */
static void thirteen_of_forty_reach(void **state)
{
    struct breaker_rules rules = plain_rules(3, S);
    struct trace t = play(&rules, 100 * MS, 4 * S, 0, 2500 * MS);

    (void)state;
    assert_int_equal(t.opened_ns, 200 * MS);
    assert_int_equal(t.probes, 3);
    assert_int_equal(t.probe_ns[0], 1200 * MS);
    assert_int_equal(t.probe_ns[1], 2200 * MS);
    assert_int_equal(t.probe_ns[2], 3200 * MS);
    assert_int_equal(t.closed_ns, 3200 * MS);
    assert_int_equal(t.reached, 13);
}

/* As nginx's max_fails=1 fail_timeout=10s: failed at 1.0 s, out until 11 s, then one probe. */
static void passive_check_leaves_out_for_ten_seconds(void **state)
{
    struct breaker_rules rules = plain_rules(1, 10 * S);
    struct trace t = play(&rules, 100 * MS, 12 * S, S, 5 * S);

    (void)state;
    assert_int_equal(t.opened_ns, S);
    assert_int_equal(t.probes, 1);
    assert_int_equal(t.probe_ns[0], 11 * S);
    assert_int_equal(t.closed_ns, 11 * S);
    assert_int_equal(t.reached, 11 + 10);
}

/* -- periods -- */

static void periods_double_up_to_the_maximum(void **state)
{
    static const uint64_t seconds[] = {1, 2, 4, 8, 16, 30, 30, 30};
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};
    uint64_t now_ns = 5 * S;

    (void)state;
    fail_in_a_row(&b, &rules, 3, now_ns);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(breaker_view(&b, &rules, now_ns).level, i < 5 ? i : 5);
        assert_int_equal(breaker_view(&b, &rules, now_ns).until_ns, now_ns + seconds[i] * S);
        now_ns += seconds[i] * S;
        claim_at(&b, &rules, now_ns);
        now_ns += 50 * MS;
        breaker_failure(&b, &rules, true, MID, now_ns);
    }
}

/* Probes at open_ns * 2^level * (1 -+ 0.1), by the hash: linear, and never a us too early. */
static void jitter_is_a_tenth_either_way(void **state)
{
    static const struct {
        uint32_t hash;
        uint64_t first_ns, last_ns; /* of a period of 1 s, and of 30 s */
    } rows[] = {{0, 900 * MS, 27 * S},
                {0x40000000, 950 * MS, 28500 * MS},
                {MID, 1000 * MS, 30 * S},
                {0xc0000000, 1050 * MS, 31500 * MS},
                {TOP, 1100 * MS, 33 * S}};
    struct breaker_rules rules = full_rules();

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct breaker b = {0};
        uint64_t now_ns = 0, until_ns = 0;

        rules.failures = 1;
        breaker_failure(&b, &rules, false, rows[i].hash, now_ns);
        until_ns = breaker_view(&b, &rules, now_ns).until_ns;
        assert_in_range(until_ns, rows[i].first_ns, rows[i].first_ns + US);
        for (unsigned k = 0; k < 6; k++) {
            now_ns = until_ns;
            assert_true(breaker_claim(&b, &rules, now_ns));
            breaker_failure(&b, &rules, true, rows[i].hash, now_ns);
            until_ns = breaker_view(&b, &rules, now_ns).until_ns;
        }
        assert_in_range(until_ns - now_ns, rows[i].last_ns, rows[i].last_ns + 20 * US);
    }
}

/* Until a time that is no whole us: rounded up, so a period is never short. */
static void period_is_rounded_up_to_a_microsecond(void **state)
{
    struct breaker_rules rules = plain_rules(1, S);
    struct breaker b = {0};

    (void)state;
    breaker_failure(&b, &rules, false, MID, 1);
    assert_int_equal(breaker_ask(&b, &rules, 0, S + 1), BREAKER_REFUSE);
    claim_at(&b, &rules, S + US);
}

/* -- probes -- */

/* A probe without a result fails when its time is up; the period that follows, twice as long, is
 * counted from then, whoever notices it and when. Its result comes too late to matter. */
static void lost_probe_has_failed(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};
    struct breaker_view v;

    (void)state;
    rules.jitter_ppm = 0;
    assert_true(breaker_rules_init(&rules));
    fail_in_a_row(&b, &rules, 3, 0);
    claim_at(&b, &rules, S); /* has until 3 s */
    v = breaker_view(&b, &rules, 3 * S - 1);
    assert_int_equal(v.state, BREAKER_HALF_OPEN);
    assert_int_equal(v.until_ns, 3 * S);
    v = breaker_view(&b, &rules, 3 * S);
    assert_int_equal(v.state, BREAKER_OPEN);
    assert_int_equal(v.level, 1);
    assert_int_equal(v.until_ns, 5 * S);
    breaker_success(&b, &rules, true, 3 * S);
    breaker_failure(&b, &rules, true, MID, 3 * S);
    assert_int_equal(breaker_view(&b, &rules, 3 * S).until_ns, 5 * S);
    claim_at(&b, &rules, 5 * S);
    assert_int_equal(breaker_view(&b, &rules, 5 * S).level, 1);
    claim_at(&b, &rules, 5 * S + 2 * S + 4 * S);
    breaker_success(&b, &rules, true, 11 * S + 1);
    assert_int_equal(state_at(&b, &rules, 11 * S + 1), BREAKER_RAMPING);
}

/* With jitter, after a lost probe: within a tenth, and the same for everybody. */
static void lost_probe_has_jitter_too(void **state)
{
    struct breaker_rules rules = full_rules();
    uint64_t lowest_ns = UINT64_MAX, highest_ns = 0;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        struct breaker b = {0};
        uint64_t period_ns;

        fail_in_a_row(&b, &rules, 3, i * MS);
        assert_true(breaker_claim(&b, &rules, i * MS + S));
        period_ns = breaker_view(&b, &rules, i * MS + 10 * S).until_ns - (i * MS + 3 * S);
        claim_at(&b, &rules, i * MS + 3 * S + period_ns);
        lowest_ns = period_ns < lowest_ns ? period_ns : lowest_ns;
        highest_ns = period_ns > highest_ns ? period_ns : highest_ns;
    }
    assert_in_range(lowest_ns, 1800 * MS, 1810 * MS);
    assert_in_range(highest_ns, 2190 * MS, 2200 * MS);
}

static void only_the_probe_decides(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};

    (void)state;
    fail_in_a_row(&b, &rules, 3, 0);
    fail_in_a_row(&b, &rules, 9, 500 * MS);
    breaker_success(&b, &rules, false, 600 * MS);
    breaker_trip(&b, &rules, MID, 700 * MS);
    assert_int_equal(breaker_view(&b, &rules, 700 * MS).until_ns, S);
    claim_at(&b, &rules, S);
    fail_in_a_row(&b, &rules, 9, S + 1);
    breaker_success(&b, &rules, false, S + 2);
    breaker_trip(&b, &rules, MID, S + 3);
    assert_int_equal(state_at(&b, &rules, S + 3), BREAKER_HALF_OPEN);
    breaker_success(&b, &rules, true, S + 4);
    assert_int_equal(state_at(&b, &rules, S + 4), BREAKER_RAMPING);
    /* What failed while open does not count now. */
    fail_in_a_row(&b, &rules, 2, S + 5);
    assert_int_equal(state_at(&b, &rules, S + 5), BREAKER_RAMPING);
    fail_in_a_row(&b, &rules, 1, S + 5);
    assert_int_equal(state_at(&b, &rules, S + 5), BREAKER_OPEN);
}

static void successes_break_the_row(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        fail_in_a_row(&b, &rules, 2, i);
        breaker_success(&b, &rules, false, i);
    }
    assert_int_equal(state_at(&b, &rules, 10), BREAKER_CLOSED);
    fail_in_a_row(&b, &rules, 3, 10);
    assert_int_equal(state_at(&b, &rules, 10), BREAKER_OPEN);
}

/* -- the ramp -- */

static void ramp_is_linear_from_a_tenth(void **state)
{
    static const uint64_t lengths_ns[] = {MS, 5 * S, 3600 * S, 86400 * S};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct breaker_rules rules = full_rules();
        struct breaker b = {0};
        uint64_t at_ns = 2 * S, fifth_ns = lengths_ns[i] / 5;

        rules.ramp_ns = lengths_ns[i];
        assert_true(breaker_rules_init(&rules));
        fail_in_a_row(&b, &rules, 3, 0);
        close_at(&b, &rules, at_ns);
        assert_share(&b, &rules, at_ns - S, .1); /* a worker whose clock is behind */
        assert_share(&b, &rules, at_ns, .1);
        assert_share(&b, &rules, at_ns + fifth_ns, .28);
        assert_share(&b, &rules, at_ns + 2 * fifth_ns, .46);
        assert_share(&b, &rules, at_ns + 4 * fifth_ns, .82);
        assert_int_equal(state_at(&b, &rules, at_ns + 5 * fifth_ns - 1), BREAKER_RAMPING);
        assert_int_equal(breaker_ask(&b, &rules, TOP, at_ns + 5 * fifth_ns), BREAKER_PASS);
        assert_int_equal(state_at(&b, &rules, at_ns + 5 * fifth_ns), BREAKER_CLOSED);
    }
}

/* A ramp that ends in an opening is followed by a longer period; one that succeeds, by the first.
 */
static void level_falls_back_after_a_whole_ramp(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};
    uint64_t now_ns = 0;

    (void)state;
    fail_in_a_row(&b, &rules, 3, now_ns);
    for (uint32_t level = 0; level < 4; level++) {
        now_ns += S << level;
        close_at(&b, &rules, now_ns);
        assert_int_equal(breaker_view(&b, &rules, now_ns).level, level);
        now_ns += 5 * S - 1;
        if (level % 2)
            fail_in_a_row(&b, &rules, 3, now_ns);
        else
            breaker_trip(&b, &rules, MID, now_ns);
        assert_int_equal(breaker_view(&b, &rules, now_ns).level, level + 1);
        now_ns++; /* to a whole us */
        assert_int_equal(breaker_view(&b, &rules, now_ns).until_ns, now_ns + (S << (level + 1)));
    }
    now_ns += 16 * S;
    close_at(&b, &rules, now_ns);
    now_ns += 5 * S;
    assert_int_equal(breaker_view(&b, &rules, now_ns).level, 0);
    assert_int_equal(breaker_view(&b, &rules, now_ns).until_ns, 0);
    fail_in_a_row(&b, &rules, 3, now_ns);
    assert_int_equal(breaker_view(&b, &rules, now_ns).until_ns, now_ns + S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirteen_of_forty_reach),
        cmocka_unit_test(passive_check_leaves_out_for_ten_seconds),
        cmocka_unit_test(periods_double_up_to_the_maximum),
        cmocka_unit_test(jitter_is_a_tenth_either_way),
        cmocka_unit_test(period_is_rounded_up_to_a_microsecond),
        cmocka_unit_test(lost_probe_has_failed),
        cmocka_unit_test(lost_probe_has_jitter_too),
        cmocka_unit_test(only_the_probe_decides),
        cmocka_unit_test(successes_break_the_row),
        cmocka_unit_test(ramp_is_linear_from_a_tenth),
        cmocka_unit_test(level_falls_back_after_a_whole_ramp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
