/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/shed_control.h"

#define S  1000000000ull
#define MS 1000000ull

/* A service whose load comes as evenly as counters can: what is exact here is exact. */
struct service {
    struct shed_control control;
    struct shed_rules rules;
    struct shed_sample sample;
    struct shed_output out;
    uint64_t now_ns, period_ns;
    unsigned per_s[CLASS_MAX], completed_per_s;
    uint64_t head_age_ns;
};

static struct service service(double capacity, unsigned bulk, unsigned normal, unsigned critical)
{
    struct service s = {
        .rules = {.capacity_per_s = capacity,
                  .reserve_per_s = 20,
                  .ceiling = 0.98,
                  .wait_age_s = 0.1},
        .sample = {.clients = 1000},
        .now_ns = 77 * S,
        .period_ns = 100 * MS,
        .per_s = {[CLASS_BULK] = bulk, [CLASS_NORMAL] = normal, [CLASS_CRITICAL] = critical},
    };

    shed_control_init(&s.control);
    shed_control_step(&s.control, &s.rules, &s.sample, s.now_ns, &s.out);
    return s;
}

static void step(struct service *s)
{
    s->now_ns += s->period_ns;
    for (int c = 0; c < CLASS_MAX; c++)
        s->sample.offered[c] += s->per_s[c] * s->period_ns / S;
    s->sample.completed += s->completed_per_s * s->period_ns / S;
    s->sample.head_age_ns = s->head_age_ns;
    shed_control_step(&s->control, &s->rules, &s->sample, s->now_ns, &s->out);
}

static void run(struct service *s, unsigned steps)
{
    while (steps-- > 0)
        step(s);
}

static double p(const struct service *s, enum policy_class c)
{
    return s->out.p[c] / 4294967296.0;
}

static void probabilities_saturate(void **state)
{
    (void)state;
    assert_int_equal(shed_probability(0), 0);
    assert_int_equal(shed_probability(-0.5), 0);
    assert_int_equal(shed_probability(__builtin_nan("")), 0);
    assert_int_equal(shed_probability(0.25), 1u << 30);
    assert_int_equal(shed_probability(1), UINT32_MAX);
    assert_int_equal(shed_probability(7), UINT32_MAX);
    assert_int_equal(shed_probability(0.4), 1717986918u);
}

/* -- feed-forward -- */

/* Capacity 100, reserve 20, alerts 20: 60 of 100 bulk pass, and 20 stay free. */
static void four_tenths_of_bulk(void **state)
{
    struct service s = service(100, 100, 0, 20);

    (void)state;
    run(&s, 20);
    assert_float_equal(p(&s, CLASS_BULK), 0.4, 1e-9);
    assert_float_equal(s.out.rate_per_s[CLASS_BULK], 100, 1e-9);
    assert_float_equal(s.out.rate_per_s[CLASS_BULK] * (1 - p(&s, CLASS_BULK)), 60, 1e-6);
    assert_int_equal(s.out.p[CLASS_NORMAL], 0);
    assert_int_equal(s.out.p[CLASS_CRITICAL], 0);
    assert_float_equal(s.out.capacity_per_s, 100, 0);
}

static void uneven_periods_change_nothing(void **state)
{
    static const uint64_t periods_ms[] = {100, 10, 400, 50, 30};
    struct service s = service(180, 100, 0, 100); /* whole attempts in every period */

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        double expected;

        s.period_ns = periods_ms[i % 5] * MS;
        step(&s);
        expected = s.now_ns >= 78 * S ? 0.4 : 0; /* after the first second */
        assert_float_equal(p(&s, CLASS_BULK), expected, 1e-9);
    }
}

/* A burst of alerts is paid from the reserve: after 1 s bulk gives 20 * 1/30, not 20. */
static void alerts_spend_the_reserve_first(void **state)
{
    struct service s = service(100, 100, 0, 20);

    (void)state;
    run(&s, 1000);
    s.per_s[CLASS_CRITICAL] = 40;
    run(&s, 10);
    assert_in_range(s.out.p[CLASS_BULK], shed_probability(0.405), shed_probability(0.408));
    run(&s, 3000);
    assert_float_equal(p(&s, CLASS_BULK), 0.6, 1e-3);
}

static void critical_is_never_shed(void **state)
{
    struct service s = service(10, 300, 300, 300);

    (void)state;
    s.head_age_ns = 100 * MS;
    for (unsigned i = 0; i < 300; i++) {
        step(&s);
        assert_int_equal(s.out.p[CLASS_CRITICAL], 0);
    }
    assert_float_equal(p(&s, CLASS_BULK), 0.98, 1e-9);
    assert_float_equal(p(&s, CLASS_NORMAL), 0.98, 1e-9);
}

/* Bulk keeps its 2 %: 20/s of 1000. Where that is more than its budget, the next class pays. */
static void excess_spills_to_the_next_class(void **state)
{
    struct service enough = service(80, 1000, 50, 0), short_of = service(70, 1000, 50, 0);

    (void)state;
    run(&enough, 20); /* bulk may have 10 and takes 20, normal may have 50 */
    assert_float_equal(p(&enough, CLASS_BULK), 0.98, 1e-9);
    assert_int_equal(enough.out.p[CLASS_NORMAL], 0);
    run(&short_of, 20); /* bulk may have 0 and takes 20, normal may have 30 */
    assert_float_equal(p(&short_of, CLASS_BULK), 0.98, 1e-9);
    assert_float_equal(p(&short_of, CLASS_NORMAL), 0.4, 1e-9);
}

/* 65/s over a budget of 60 is within the noise of 8 s (3 * sqrt(65/8) = 8.6), 70/s is not. */
static void noise_does_not_engage(void **state)
{
    struct service s = service(100, 60, 0, 20), above = service(100, 70, 0, 20);

    (void)state;
    run(&s, 200);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    s.rules.capacity_per_s = 95; /* bulk may have 55 */
    run(&s, 200);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    run(&above, 200);
    assert_float_equal(p(&above, CLASS_BULK), 1 - 60.0 / 70, 1e-6);
    above.rules.capacity_per_s = 105; /* once engaged, the small excess counts too */
    run(&above, 1);
    assert_float_equal(p(&above, CLASS_BULK), 1 - 65.0 / 70, 1e-6);
    above.rules.capacity_per_s = 110;
    run(&above, 1);
    assert_int_equal(above.out.p[CLASS_BULK], 0);
    above.rules.capacity_per_s = 105; /* and has to be significant again afterwards */
    run(&above, 1);
    assert_int_equal(above.out.p[CLASS_BULK], 0);
}

/* A step of 240/s is seen in the first period, and the rate is the new one within 2 s. */
static void a_step_is_followed_at_once(void **state)
{
    struct service s = service(100, 60, 0, 20);

    (void)state;
    run(&s, 600);
    s.per_s[CLASS_BULK] = 300;
    run(&s, 1);
    assert_true(p(&s, CLASS_BULK) > 0.3);
    run(&s, 19);
    assert_float_equal(p(&s, CLASS_BULK), 0.8, 0.02);
    s.per_s[CLASS_BULK] = 60;
    run(&s, 30);
    assert_true(p(&s, CLASS_BULK) < 0.1);
}

/* -- PI -- */

/* x = (h e + g (d - d_before)) / T = (.03 * .02 + .3 * .02) / .1 = .066 of 100/s, from 50/s. */
static void pi_steps_by_its_formula(void **state)
{
    struct service s = service(100, 50, 0, 20);

    (void)state;
    run(&s, 20);
    s.head_age_ns = 20 * MS; /* d_ref: no error */
    run(&s, 20);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    s.head_age_ns = 40 * MS;
    step(&s);
    assert_float_equal(p(&s, CLASS_BULK), 0.132, 1e-8);
    step(&s); /* e alone */
    assert_float_equal(p(&s, CLASS_BULK), 0.144, 1e-8);
    s.head_age_ns = 0; /* - (.03 * .02 + .3 * .04) / .1 = -.126 */
    step(&s);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
}

/* Twice without a waiter: 1/64 is forgotten, besides - h d_ref / T = -.006. */
static void pi_decays_when_nobody_waits(void **state)
{
    struct service s = service(100, 50, 0, 20);
    double x;

    (void)state;
    s.head_age_ns = 100 * MS;
    run(&s, 40);
    s.head_age_ns = 0;
    step(&s);
    x = s.control.pi;
    assert_true(x > 0.1);
    step(&s);
    assert_float_equal(s.control.pi, (x - 0.006) * 63 / 64, 1e-9);
}

/* A minute of full queue does not wind it up: it stands at what the ceiling gives, and comes down.
 */
static void pi_does_not_wind_up(void **state)
{
    struct service s = service(0, 100, 0, 0);

    (void)state;
    s.head_age_ns = 100 * MS;
    run(&s, 600);
    assert_float_equal(p(&s, CLASS_BULK), 0.98, 1e-8);
    s.head_age_ns = 0;
    step(&s); /* - (.03 * .02 + .3 * .1) / .1 */
    assert_float_equal(p(&s, CLASS_BULK), 0.98 - 0.306, 1e-8);
    run(&s, 70);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
}

/* Half of 40 bulk at most, then of 20 normal. */
/* Twice the capacity, and nobody waits: half is too much to shed, and .03 * 33 ms / 100 ms of the
 * capacity is taken back in each period, up to half of it. Who reserves wants that room empty. */
static void an_empty_queue_takes_back_what_was_shed(void **state)
{
    struct service s = service(100, 200, 0, 0), reserving = s;
    double before;

    (void)state;
    s.rules.reserve_per_s = 0;
    run(&s, 20);
    before = p(&s, CLASS_BULK);
    assert_true(before < 0.5);
    step(&s);
    assert_float_equal(before - p(&s, CLASS_BULK), 0.01 * 100 / 200, 1e-7);
    s.rules.wait_age_s = 0.06;
    s.head_age_ns = 20 * MS; /* where it shall stand; it comes there at once */
    run(&s, 2);
    before = p(&s, CLASS_BULK);
    run(&s, 100);
    assert_float_equal(p(&s, CLASS_BULK), before, 1e-7);
    s.head_age_ns = 0;
    run(&s, 200);
    assert_float_equal(p(&s, CLASS_BULK), 1 - 150.0 / 200, 1e-7);
    run(&reserving, 200);
    assert_float_equal(p(&reserving, CLASS_BULK), 1 - 80.0 / 200, 1e-7);
    /* The next overload starts with what feed-forward says. */
    s.per_s[CLASS_BULK] = 50;
    run(&s, 200);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    assert_float_equal(s.control.pi, 0, 0);
}

static void pi_spills_to_the_next_class(void **state)
{
    struct service s = service(100, 40, 20, 20);

    (void)state;
    s.rules.ceiling = 0.5;
    s.head_age_ns = 100 * MS;
    run(&s, 11);
    s.head_age_ns = 20 * MS;    /* x is left as it stands at the first step of .2 below */
    s.control.pi = 0.25 + 0.24; /* 25 to shed: 20 of bulk, 5 of normal */
    step(&s);
    assert_float_equal(p(&s, CLASS_BULK), 0.5, 1e-8);
    assert_float_equal(p(&s, CLASS_NORMAL), 0.25, 1e-8);
}

/* -- what is no overload -- */

/* Cold start, small samples, one spike of the queue. */
static void case_F01_reacts_to_noise(void **state)
{
    struct service loud = service(100, 500, 0, 20), quiet = service(1, 5, 0, 0),
                   calm = service(100, 60, 0, 20);

    (void)state;
    loud.head_age_ns = 100 * MS;
    for (unsigned i = 0; i < 9; i++) { /* within the first second, whatever is seen */
        step(&loud);
        assert_int_equal(loud.out.p[CLASS_BULK], 0);
    }
    step(&loud);
    assert_true(p(&loud, CLASS_BULK) > 0.8);

    quiet.period_ns = 200 * MS;
    quiet.head_age_ns = 100 * MS;
    for (unsigned i = 0; i < SHED_COLD_SAMPLE - 1; i++) { /* one attempt in each */
        step(&quiet);
        assert_int_equal(quiet.out.p[CLASS_BULK], 0);
    }
    step(&quiet);
    assert_true(quiet.out.p[CLASS_BULK] > 0);

    for (unsigned i = 0; i < 60; i++) { /* spikes of 0.9 s in a calm load, from the start */
        calm.head_age_ns = i % 10 ? 100 * MS : 0;
        step(&calm);
        assert_int_equal(calm.out.p[CLASS_BULK], 0);
    }
}

/* -- learnt capacity -- */

static void capacity_is_learnt_under_a_full_window(void **state)
{
    struct service s = service(0, 100, 0, 20);

    (void)state;
    s.completed_per_s = 80;
    run(&s, 100); /* never full: what is completed is what was asked */
    assert_float_equal(s.out.capacity_per_s, 0, 0);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    s.sample.window_was_full = true;
    run(&s, 9);
    assert_float_equal(s.out.capacity_per_s, 0, 0);
    run(&s, 2);
    assert_float_equal(s.out.capacity_per_s, 80, 1e-6);
    assert_float_equal(p(&s, CLASS_BULK), 0.6, 1e-6);
    s.sample.window_was_full = false;
    s.completed_per_s = 60;
    run(&s, 10);
    assert_float_equal(s.out.capacity_per_s, 80, 1e-6);
}

/* A service that has recovered: slots are free while half is shed, so half as much again a second
 * is asked for, until the window is full once more. */
static void learnt_capacity_grows_while_slots_are_free(void **state)
{
    struct service s = service(0, 100, 0, 0);

    (void)state;
    s.rules.reserve_per_s = 0;
    s.rules.wait_age_s = 0;
    s.completed_per_s = 50;
    s.sample.window_was_full = true;
    run(&s, 12);
    assert_float_equal(s.out.capacity_per_s, 50, 1e-6);
    assert_float_equal(p(&s, CLASS_BULK), 0.5, 1e-6);
    s.sample.window_was_full = false;
    run(&s, 3);
    assert_float_equal(s.out.capacity_per_s, 50 * 1.05 * 1.05 * 1.05, 1e-4);
    run(&s, 30);
    assert_float_equal(s.out.capacity_per_s, 50 * 1.5, 1e-4);
    s.completed_per_s = 90;
    run(&s, 60);
    assert_int_equal(s.out.p[CLASS_BULK], 0);
    s.sample.window_was_full = true;
    run(&s, 200);
    assert_float_equal(s.out.capacity_per_s, 90, 1);
}

/* After 30 s of shedding without a full window it is asked anew, from what is shed now. */
static void learnt_capacity_is_forgotten_gently(void **state)
{
    struct service s = service(0, 100, 0, 20);

    (void)state;
    s.completed_per_s = 80;
    s.sample.window_was_full = true;
    run(&s, 12);
    s.sample.window_was_full = false;
    run(&s, 299);
    assert_float_equal(p(&s, CLASS_BULK), 0.6, 1e-6);
    s.head_age_ns = 1; /* so that only e counts: - h d_ref / T = -.006 of 120/s */
    step(&s);
    assert_float_equal(s.out.capacity_per_s, 0, 0);
    assert_float_equal(p(&s, CLASS_BULK), 0.6 - 0.006 * 120 / 100, 1e-6);
}

/* -- the rest of the output -- */

static void few_clients_are_shed_by_attempt(void **state)
{
    struct service s = service(100, 100, 0, 20);

    (void)state;
    s.sample.clients = 31;
    step(&s);
    assert_true(s.out.by_attempt);
    s.sample.clients = 32;
    step(&s);
    assert_false(s.out.by_attempt);
}

static void the_period_holds_32_attempts(void **state)
{
    struct service idle = service(0, 0, 0, 0), some = service(0, 600, 0, 400),
                   many = service(0, 100000, 0, 0);

    (void)state;
    run(&idle, 10);
    assert_int_equal(idle.out.period_ns, 100 * MS);
    run(&some, 10);
    assert_in_range(some.out.period_ns, 32 * MS - 1, 32 * MS + 1);
    run(&many, 10);
    assert_int_equal(many.out.period_ns, 10 * MS);
}

static void the_same_time_changes_nothing(void **state)
{
    struct service s = service(100, 100, 0, 20);
    struct shed_control before;

    (void)state;
    run(&s, 20);
    before = s.control;
    s.sample.offered[CLASS_BULK] += 1000;
    s.sample.head_age_ns = 100 * MS;
    s.out.p[CLASS_BULK] = 0;
    shed_control_step(&s.control, &s.rules, &s.sample, s.now_ns, &s.out);
    assert_float_equal(p(&s, CLASS_BULK), 0.4, 1e-9);
    assert_memory_equal(&s.control, &before, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_saturate),
        cmocka_unit_test(four_tenths_of_bulk),
        cmocka_unit_test(uneven_periods_change_nothing),
        cmocka_unit_test(alerts_spend_the_reserve_first),
        cmocka_unit_test(critical_is_never_shed),
        cmocka_unit_test(excess_spills_to_the_next_class),
        cmocka_unit_test(noise_does_not_engage),
        cmocka_unit_test(a_step_is_followed_at_once),
        cmocka_unit_test(pi_steps_by_its_formula),
        cmocka_unit_test(pi_decays_when_nobody_waits),
        cmocka_unit_test(pi_does_not_wind_up),
        cmocka_unit_test(an_empty_queue_takes_back_what_was_shed),
        cmocka_unit_test(pi_spills_to_the_next_class),
        cmocka_unit_test(case_F01_reacts_to_noise),
        cmocka_unit_test(capacity_is_learnt_under_a_full_window),
        cmocka_unit_test(learnt_capacity_grows_while_slots_are_free),
        cmocka_unit_test(learnt_capacity_is_forgotten_gently),
        cmocka_unit_test(few_clients_are_shed_by_attempt),
        cmocka_unit_test(the_period_holds_32_attempts),
        cmocka_unit_test(the_same_time_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
