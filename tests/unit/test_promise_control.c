/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/promise.h"

#define S  1000000000ull
#define MS 1000000ull

/* A service as the control thread sees it. */
struct view {
    struct promise_control control;
    struct promise_rules rules;
    struct promise_seen seen;
    struct histogram completed;
    struct promise_age ages[2];
    struct promise promise;
    uint64_t now_ns;
};

static void look(struct view *v, uint64_t after_ns)
{
    v->now_ns += after_ns;
    promise_control_step(&v->control, &v->rules, &v->seen, v->now_ns, &v->promise);
}

/* `n` pieces of work were done, in time if they took less than the deadline. */
static void done(struct view *v, unsigned n, uint64_t service_ns)
{
    for (unsigned i = 0; i < n; i++)
        histogram_add(&v->completed, service_ns);
    v->seen.completions += n;
}

/* The end of the cell, which is what quantiles give. */
static uint64_t cell_ns(uint64_t ns)
{
    return histogram_upper_ns(histogram_index(ns));
}

/* Two seconds of steady work of 10 ms. */
static void work_steadily(struct view *v)
{
    for (unsigned i = 0; i < 40; i++) {
        done(v, 50, 10 * MS);
        look(v, 50 * MS);
    }
}

static int start(void **state)
{
    static struct view v;

    memset(&v, 0, sizeof(v));
    v.rules = (struct promise_rules){.deadline_ns = S, .alpha_ppm = 10000};
    v.seen.completed = &v.completed;
    v.seen.ages = v.ages;
    v.now_ns = 1000 * S;
    *state = &v;
    return 0;
}

/* What there was before the first look does not count. */
static int start_and_look(void **state)
{
    start(state);
    look(*state, 0);
    return 0;
}

static void nothing_is_known_at_first(void **state)
{
    struct view *v = *state;

    done(v, 500, 300 * MS); /* before our time */
    look(v, 0);
    look(v, 50 * MS);
    assert_int_equal(v->promise.interval_ns, 0);
    assert_int_equal(v->promise.service_ns, 0);
}

static void service_is_the_quantile_and_the_round_trip(void **state)
{
    struct view *v = *state;

    done(v, 990, 10 * MS);
    done(v, 10, 100 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    v->seen.rtt_p99_ns = 7 * MS;
    done(v, 1, 100 * MS); /* 11 of 1001 */
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(100 * MS) + 7 * MS);
}

static void older_work_is_forgotten(void **state)
{
    struct view *v = *state;

    done(v, 20, 100 * MS);
    look(v, 50 * MS);
    look(v, 4900 * MS);
    done(v, 400, 100 * MS); /* 4.95 s later than the first look */
    done(v, 20, 99 * MS);
    look(v, 4900 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(100 * MS));
    look(v, 5000 * MS);
    look(v, 5000 * MS);
    assert_int_equal(v->promise.service_ns, 0);
}

static void running_work_counts_with_twice_its_age(void **state)
{
    struct view *v = *state;

    done(v, 1000, 10 * MS);
    v->seen.n_ages = 2;
    v->ages[0] = (struct promise_age){10 * MS, 500}; /* nothing to wonder about */
    v->ages[1] = (struct promise_age){100 * MS, 10}; /* 10 of 1010 */
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    v->ages[1].count = 11; /* 11 of 1011 */
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(200 * MS));
}

/* Twelve requests that hang for minutes say nothing about a service that serves all others. */
static void what_hangs_is_left_out_if_others_are_done(void **state)
{
    struct view *v = *state;

    v->seen.n_ages = 1;
    v->ages[0] = (struct promise_age){120 * S, 12};
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(240 * S)); /* nothing else is known */
    done(v, 100, 10 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
}

static void a_changed_service_is_learnt_anew(void **state)
{
    struct view *v = *state;

    work_steadily(v);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    /* 20 of 2020 are less than one in a hundred, but they are all that has happened. */
    done(v, 5, 100 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    done(v, 15, 100 * MS);
    look(v, 500 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(100 * MS));
    /* And back again. */
    for (unsigned i = 0; i < 4; i++) {
        done(v, 9, 10 * MS);
        look(v, 50 * MS);
    }
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
}

static void a_stopped_service_is_seen_by_ages_alone(void **state)
{
    struct view *v = *state;

    work_steadily(v);
    v->seen.n_ages = 1;
    for (uint64_t age_ms = 50; age_ms <= 1200; age_ms += 50) {
        v->ages[0] = (struct promise_age){age_ms * MS, 5};
        look(v, 50 * MS);
    }
    assert_int_equal(v->promise.service_ns, cell_ns(2400 * MS));
}

static void capacity_is_learnt_from_full_periods(void **state)
{
    struct view *v = *state;

    done(v, 3, 10 * MS);
    look(v, 100 * MS); /* room was left: that was the demand */
    assert_int_equal(v->promise.interval_ns, 0);
    v->seen.window_was_full = true;
    for (unsigned i = 0; i < 50; i++) {
        done(v, 17, 10 * MS);
        look(v, 100 * MS);
        assert_in_range(v->promise.interval_ns, 5882352, 5882353); /* 170/s */
    }
    v->seen.window_was_full = false;
    done(v, 1, 10 * MS);
    look(v, 999 * MS);
    assert_in_range(v->promise.interval_ns, 5882352, 5882353);
    look(v, MS);
    assert_int_equal(v->promise.interval_ns, 0);
}

static void configured_capacity_holds_until_there_is_less(void **state)
{
    struct view *v = *state;

    v->rules.interval_ns = 10 * MS;
    look(v, 0);
    assert_int_equal(v->promise.interval_ns, 10 * MS);
    v->seen.window_was_full = true;
    done(v, 20, 10 * MS);
    look(v, 100 * MS); /* 200/s */
    assert_int_equal(v->promise.interval_ns, 10 * MS);
    look(v, 900 * MS); /* 20/s */
    assert_int_equal(v->promise.interval_ns, 50 * MS);
    v->rules.interval_ns = 0;
    for (unsigned i = 0; i < 100; i++)
        look(v, S); /* stopped: bounded all the same */
    v->seen.window_was_full = false;
    v->rules.interval_ns = UINT64_MAX;
    look(v, S);
    assert_int_equal(v->promise.interval_ns, PROMISE_INTERVAL_MAX_NS);
}

static void broken_promises_tighten_alpha(void **state)
{
    struct view *v = *state;

    v->seen.late = 4;
    v->seen.unfinished = 2; /* 6 are what a lot of 600 may break */
    v->seen.useful = 94;
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 10000);
    v->seen.unfinished++;
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 6667);
    v->seen.late += 100; /* promised with the old alpha */
    look(v, 999 * MS);
    assert_int_equal(v->control.alpha_ppm, 6667);
    v->seen.late += 7;
    look(v, MS);
    assert_int_equal(v->control.alpha_ppm, 4445);
    for (unsigned i = 0; i < 50; i++) {
        v->seen.late += 7;
        look(v, S);
    }
    assert_int_equal(v->control.alpha_ppm, 10000 / 32 + 1);
}

static void kept_promises_loosen_alpha(void **state)
{
    struct view *v = *state;

    v->seen.useful = 597;
    v->seen.late = 2;
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 10000); /* 599: not yet */
    v->seen.useful++;
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 12501);
    v->seen.useful += 597;
    v->seen.late += 3; /* half of what is allowed: leave it */
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 12501);
    for (unsigned i = 0; i < 20; i++) {
        v->seen.useful += 600;
        look(v, 50 * MS);
    }
    assert_int_equal(v->control.alpha_ppm, 40000);
    v->rules.alpha_ppm = 2000; /* a new configuration */
    look(v, 50 * MS);
    assert_int_equal(v->control.alpha_ppm, 8000);
}

/* One in twenty takes longer than the deadline whatever is refused: the others are still served. */
static void work_that_cannot_be_in_time_does_not_count(void **state)
{
    struct view *v = *state;

    for (unsigned i = 0; i < 20; i++) {
        done(v, 95, 10 * MS);
        done(v, 5, 3 * S);
        v->seen.useful += 95;
        v->seen.late += 5;
        look(v, 50 * MS);
        assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    }
    assert_int_equal(v->control.alpha_ppm, 10000);
}

/* What may just be in time if it need not wait is not refused by the width of a cell. */
static void who_need_not_wait_gets_in(void **state)
{
    struct view *v = *state;

    v->rules.interval_ns = 5 * MS;
    v->seen.rtt_p99_ns = 2 * MS;
    look(v, 0);
    done(v, 100, 990 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, 995 * MS);
    assert_true(promise_kept(&v->promise, 0, S));
    assert_false(promise_kept(&v->promise, 1, S));
}

static void a_hopeless_service_gets_samples_only(void **state)
{
    struct view *v = *state;

    done(v, 6, 3 * S);
    done(v, 4, 10 * MS);
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(3 * S));
    assert_false(promise_kept(&v->promise, 0, S));
    assert_true(promise_sample(&v->promise, v->now_ns));
    look(v, 50 * MS);
    assert_false(promise_sample(&v->promise, v->now_ns));
    v->seen.useful++; /* the sample was in time: another */
    look(v, 50 * MS);
    assert_true(promise_sample(&v->promise, v->now_ns));
    assert_false(promise_sample(&v->promise, v->now_ns));
    done(v, 3, 10 * MS); /* 6 of 13 */
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, cell_ns(10 * MS));
    v->seen.useful++; /* no longer hopeless: samples once a second again */
    look(v, 50 * MS);
    assert_false(promise_sample(&v->promise, v->now_ns));
}

static void without_a_deadline_all_is_promised(void **state)
{
    struct view *v = *state;

    done(v, 100, 10 * MS);
    v->seen.window_was_full = true;
    look(v, 50 * MS);
    assert_true(v->promise.interval_ns && v->promise.service_ns);
    v->rules.deadline_ns = 0;
    look(v, 50 * MS);
    assert_int_equal(v->promise.interval_ns, 0);
    assert_int_equal(v->promise.service_ns, 0);
    v->rules.deadline_ns = S; /* begins anew */
    look(v, 50 * MS);
    assert_int_equal(v->promise.service_ns, 0);
}

#define VIEW_TEST(name) cmocka_unit_test_setup(name, start_and_look)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_known_at_first, start),
        VIEW_TEST(service_is_the_quantile_and_the_round_trip),
        VIEW_TEST(older_work_is_forgotten),
        VIEW_TEST(running_work_counts_with_twice_its_age),
        VIEW_TEST(what_hangs_is_left_out_if_others_are_done),
        VIEW_TEST(a_changed_service_is_learnt_anew),
        VIEW_TEST(a_stopped_service_is_seen_by_ages_alone),
        VIEW_TEST(capacity_is_learnt_from_full_periods),
        cmocka_unit_test_setup(configured_capacity_holds_until_there_is_less, start),
        VIEW_TEST(broken_promises_tighten_alpha),
        VIEW_TEST(kept_promises_loosen_alpha),
        VIEW_TEST(work_that_cannot_be_in_time_does_not_count),
        cmocka_unit_test_setup(who_need_not_wait_gets_in, start),
        VIEW_TEST(a_hopeless_service_gets_samples_only),
        VIEW_TEST(without_a_deadline_all_is_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
