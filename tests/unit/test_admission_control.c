/* SPDX-License-Identifier: BSD-3-Clause */
/* The control loop and the decision core together, period by period in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/shed.h"
#include "dataplane/admission/shed_control.h"
#include "tests/unit/overload.h"

#define PERIOD_NS (50 * CORE_MS)

static struct service_view view(struct gate *g)
{
    struct service_view view;

    admission_control_view(g->control, policy_service(g->crew.policy, WEB), g->now_ns, &view);
    return view;
}

/* Work of a tenant that is done at once, if it is admitted. */
static bool pass_through(struct gate *g, uint32_t tenant)
{
    struct attempt a = gate_attempt(g, tenant, WEB);
    struct decision d = gate_offer(g, (uint32_t)(a.cookie % g->crew.n), &a);
    const struct slot slot = {tenant, WEB, 0, d.held};
    const struct ending ending = {.client = a.client, .held_ns = 10 * CORE_MS};

    if (d.verdict != VERDICT_ADMIT)
        return false;
    admission_complete(g->crew.workers[a.cookie % g->crew.n], &slot, &ending, g->now_ns);
    return true;
}

struct passed {
    uint64_t of[TENANTS];
};

/* So many attempts a second of each tenant, evenly spread, for so long. */
static struct passed run(struct gate *g, const uint32_t per_s[TENANTS], uint64_t span_ns)
{
    const uint64_t from_ns = g->now_ns;
    uint64_t sent[TENANTS] = {0};
    struct passed passed = {0};

    for (; g->now_ns < from_ns + span_ns; g->now_ns += CORE_MS) {
        for (uint32_t t = 0; t < TENANTS; t++)
            for (; sent[t] < (g->now_ns - from_ns) * per_s[t] / CORE_S; sent[t]++)
                passed.of[t] += pass_through(g, t);
        if (g->now_ns % PERIOD_NS == 0)
            gate_steer(g);
    }
    return passed;
}

/*
 * Capacity 100, a reserve of 20 for bursts of what is worth more: of 60 bulk and 20 critical all
 * pass; of 100 and 20 bulk may have 100 - 20 - 20 = 60.
 */
static void bulk_is_shed_down_to_what_is_left(void **state)
{
    static const uint32_t calm[TENANTS] = {[BULK] = 60, [CRITICAL] = 20};
    static const uint32_t busy[TENANTS] = {[BULK] = 100, [CRITICAL] = 20};
    struct gate *g = *state;
    struct passed passed;

    g->services[WEB].capacity = core_rate(100, 1, 0);
    g->services[WEB].shed = (struct policy_shed){980000, core_rate(20, 1, 0)};
    gate_adopt(g);
    passed = run(g, calm, 60 * CORE_S);
    assert_int_equal(passed.of[BULK] + passed.of[CRITICAL], 60 * 80 - 2);
    run(g, busy, 20 * CORE_S);
    passed = run(g, busy, 60 * CORE_S);
    assert_int_equal(passed.of[CRITICAL], 60 * 20 - 1);
    assert_in_range((uint64_t)(view(g).shed[CLASS_BULK] * 1000), 380, 420);
    assert_in_range(passed.of[BULK], 60 * 57, 60 * 63);
    assert_true(view(g).shed[CLASS_CRITICAL] == 0);
    assert_in_range((uint64_t)view(g).rate_per_s[CLASS_BULK], 98, 102);
}

/* A control thread that stalls loses its say: half of it 1.5 s later, all in the end. */
static void shedding_of_a_stalled_control_thread_decays(void **state)
{
    struct gate *g = *state;
    struct advice *advice = &g->crew.shared->services[WEB].advice;
    static const uint64_t ages_ms[] = {500, 1500, 2500, 60000};
    static const uint32_t least[] = {7800, 3800, 1800, 0}, most[] = {8200, 4200, 2200, 0};

    gate_adopt(g);
    advice->shed[CLASS_BULK] = shed_probability(.8);
    advice->stamped_ns = g->now_ns;
    for (unsigned i = 0; i < 4; i++) {
        unsigned refused = 0;

        g->now_ns = advice->stamped_ns + ages_ms[i] * CORE_MS;
        for (unsigned k = 0; k < 10000; k++)
            refused += !pass_through(g, BULK);
        assert_in_range(refused, least[i], most[i]);
    }
}

/* In the first three seconds one spike of the queue; later nine of ten packets are refused at once,
 * by a quota. Neither is overload of the service. */
static void case_F01_noise_is_not_overload(void **state)
{
    static const uint32_t calm[TENANTS] = {[BULK] = 20, [NORMAL] = 20};
    static const uint32_t flood[TENANTS] = {[BULK] = 1000, [NORMAL] = 20};
    struct gate *g = *state;
    struct passed passed;
    struct released r;

    g->services[WEB].capacity = core_rate(100, 1, 0);
    g->services[WEB].shed = (struct policy_shed){980000, core_rate(0, 1, 0)};
    g->services[WEB].window = 4;
    g->services[WEB].wait = (struct policy_wait){.places = 16, .age_ns = 100 * CORE_MS};
    g->tenants[BULK].attempts = core_rate(50, 1, 9);
    gate_adopt(g);
    run(g, calm, CORE_S);
    gate_fill(g, NORMAL, 4);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_WAIT);
    g->now_ns += PERIOD_NS - 1;
    gate_steer(g);
    for (unsigned i = 0; i < 14; i++) {
        gate_done(g, NORMAL, 0);
        if (i < 10)
            assert_true(gate_poll(g, 0, &r));
    }
    g->now_ns++;
    for (unsigned i = 0; i < 40; i++) {
        run(g, calm, PERIOD_NS);
        assert_true(view(g).shed[CLASS_BULK] == 0 && view(g).shed[CLASS_NORMAL] == 0);
    }
    passed = run(g, flood, 20 * CORE_S);
    assert_true(view(g).shed[CLASS_BULK] == 0);
    assert_int_equal(passed.of[NORMAL], 20 * 20 - 1);
    assert_in_range(passed.of[BULK], 20 * 50, 20 * 50 + 10);
    assert_int_equal(gate_counts(g, WEB).refused[REASON_SHED], 0);
}

/* The return after a stop: a tenth at first, all after a minute. */
static void operator_lets_the_load_back_in_slowly(void **state)
{
    static const struct {
        uint64_t at_s;
        double admit;
        uint32_t least, most;
    } steps[] = {{0, .1, 900, 1100}, {30, .55, 5350, 5650}, {60, 1, 10000, 10000}};
    struct gate *g = *state;
    uint64_t from_ns;

    g->services[WEB].admit_ppm = 100000;
    g->services[WEB].admit_over_ns = 60 * CORE_S;
    gate_adopt(g);
    from_ns = g->now_ns;
    gate_steer(g);
    for (unsigned i = 0; i < 3; i++) {
        unsigned passed = 0;

        g->now_ns = from_ns + steps[i].at_s * CORE_S;
        if (i)
            gate_steer(g);
        assert_true(view(g).admit > steps[i].admit - 1e-9);
        assert_true(view(g).admit < steps[i].admit + 1e-9);
        for (unsigned k = 0; k < 10000; k++)
            passed += pass_through(g, CRITICAL);
        assert_in_range(passed, steps[i].least, steps[i].most);
    }
}

/* 300 pieces of work refused and still useful; 170/s are served and 130/s come: gone in 7.5 s. */
static void refusals_say_when_the_backlog_is_gone(void **state)
{
    static const uint32_t steady[TENANTS] = {[BULK] = 130};
    struct gate *g = *state;

    g->services[WEB].capacity = core_rate(170, 1, 0);
    g->services[WEB].deadline_ns = 1000 * CORE_S;
    g->services[WEB].shed.ceiling_ppm = 0;
    gate_adopt(g);
    run(g, steady, 60 * CORE_S);
    assert_int_equal(view(g).retry_after_s, 1);
    g->services[WEB].window = 0;
    gate_adopt(g);
    run(g, steady, 2309 * CORE_MS); /* 300 of them */
    g->services[WEB].window = POLICY_WINDOW_MAX;
    gate_adopt(g);
    run(g, steady, CORE_S);
    assert_true(view(g).backlog == 300);
    assert_int_equal(view(g).retry_after_s, 8);
    assert_int_equal(view(g).counters.refused_unique, 300);
}

/* A gateway that misses packets sheds bulk, over all services; and that ages as well. */
static void gateway_sheds_for_itself(void **state)
{
    const struct gateway_sample full = {.fill = 1, .missed = 10};
    struct gate *g = *state;
    double shed[CLASS_MAX];

    gate_adopt(g);
    gate_steer(g);
    for (unsigned i = 0; i < 40; i++) {
        g->now_ns += PERIOD_NS;
        admission_control_step(g->control, g->crew.policy, &full, g->now_ns);
    }
    admission_control_gateway(g->control, shed);
    assert_true(shed[CLASS_BULK] > .97);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_GATEWAY);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_ADMIT);
    g->now_ns += 40 * CORE_S;
    gate_fill(g, BULK, 10);
}

/* Half of what was tried failed, never three in a row: the loop opens the breaker. */
static void half_of_the_work_failing_opens_the_breaker(void **state)
{
    struct gate *g = *state;
    const struct slot slot = {.tenant = BULK, .service = WEB};
    unsigned n = 0;

    g->services[WEB].breaker.failures = 3;
    gate_adopt(g);
    gate_steer(g);
    do {
        g->now_ns += PERIOD_NS;
        gate_fill(g, BULK, 1);
        if (n++ & 1)
            admission_no_answer(g->crew.workers[0], &slot, 0, g->now_ns);
        else
            admission_first_byte(g->crew.workers[0], &slot, g->now_ns);
        gate_done(g, BULK, 0);
        gate_steer(g);
    } while (view(g).breaker.state == BREAKER_CLOSED && n < 100);
    assert_int_equal(n, 20);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_BREAKER);
}

/* A hundred are refused, come again and are served; forty more are refused, and what is over a
 * quota is its tenant's. Refused is refused: the total of an objective never goes back. */
static void objectives_keep_what_was_refused(void **state)
{
    struct gate *g = *state;
    struct attempt a[100];

    g->services[WEB].slo.objective_ppm = 990000;
    g->services[WEB].window = 0;
    g->tenants[NORMAL].attempts = core_rate(0, 1, 0);
    gate_adopt(g);
    gate_steer(g);
    for (unsigned i = 0; i < 100; i++) {
        a[i] = gate_attempt(g, BULK, WEB);
        assert_int_equal(gate_offer(g, 0, &a[i]).reason, REASON_CAPACITY);
        assert_int_equal(gate_ask(g, NORMAL).reason, REASON_RATE);
    }
    g->now_ns += PERIOD_NS;
    gate_steer(g);
    assert_float_equal(view(g).burn[SLO_5M], 100. / 100 * .05 / 300 / .01, 1e-12);
    g->services[WEB].window = 100;
    gate_adopt(g);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(gate_offer(g, 0, &a[i]).verdict, VERDICT_ADMIT);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(gate_ask(g, BULK).reason, REASON_CAPACITY);
    g->now_ns += PERIOD_NS;
    gate_steer(g);
    assert_int_equal(view(g).counters.served_late, 100);
    assert_float_equal(view(g).burn[SLO_5M], 140. / 140 * .1 / 300 / .01, 1e-12);
    for (unsigned i = 0; i < 100; i++)
        gate_done(g, BULK, 0);
    g->now_ns += PERIOD_NS;
    gate_steer(g);
    assert_float_equal(view(g).burn[SLO_5M], 140. / 240 * .15 / 300 / .01, 1e-12);
    g->services[WEB].slo.objective_ppm = 900000; /* holds for what was counted, too */
    gate_adopt(g);
    g->now_ns += PERIOD_NS;
    gate_steer(g);
    assert_float_equal(view(g).burn[SLO_5M], 140. / 240 * .2 / 300 / .1, 1e-12);
}

static void the_oldest_waits_on_any_worker(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 0;
    g->services[WEB].wait = (struct policy_wait){.places = 8, .age_ns = CORE_S};
    gate_adopt(g);
    gate_steer(g);
    assert_int_equal(view(g).oldest_wait_ns, 0);
    for (unsigned i = 1; i < 4; i++) { /* the first on worker 2, then on 0, then on 2 again */
        struct attempt a = gate_attempt(g, BULK, WEB);

        assert_int_equal(gate_offer(g, i & 1 ? 2 : 0, &a).verdict, VERDICT_WAIT);
        g->now_ns += 10 * CORE_MS;
    }
    assert_int_equal(view(g).oldest_wait_ns, 30 * CORE_MS);
    assert_int_equal(view(g).waiting, 3);
}

/* 1000/s of 10 ms each keep ten slots busy; 1.3 times as many shall find 85 % of them busy. */
static void slots_that_would_do(void **state)
{
    static const uint32_t steady[TENANTS] = {[NORMAL] = 1000};
    struct gate *g = *state;

    g->services[WEB].shed.ceiling_ppm = 0;
    gate_adopt(g);
    run(g, steady, 20 * CORE_S);
    assert_int_equal(view(g).slots_needed, 16); /* of 15.3 */
}

/* Half-way up. The same order again changes nothing, a new one begins anew, and so does one after
 * all were let in. */
static void a_new_order_begins_the_ramp_anew(void **state)
{
    static const struct {
        uint32_t ppm, orders;
        double admit;
    } steps[] = {{100000, 0, .55}, {100000, 1, .1}, {POLICY_PPM, 1, 1}, {100000, 1, .1}};
    struct gate *g = *state;

    g->services[WEB].admit_ppm = 100000;
    g->services[WEB].admit_over_ns = 60 * CORE_S;
    gate_adopt(g);
    gate_steer(g);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        g->now_ns += 30 * CORE_S;
        g->services[WEB].admit_ppm = steps[i].ppm;
        g->services[WEB].admit_orders = steps[i].orders;
        gate_adopt(g);
        gate_steer(g);
        assert_float_equal(view(g).admit, steps[i].admit, 1e-6);
    }
}

/* Whom shedding spares the operator's ramp may turn away, and the other way round: half of half. */
static void the_ramp_turns_others_away_than_shedding(void **state)
{
    struct gate *g = *state;
    struct advice *advice = &g->crew.shared->services[WEB].advice;
    unsigned passed = 0;

    gate_adopt(g);
    advice->shed[CLASS_BULK] = advice->turned_away = shed_probability(.5);
    advice->stamped_ns = g->now_ns;
    for (unsigned i = 0; i < 10000; i++)
        passed += pass_through(g, BULK);
    assert_in_range(passed, 2350, 2650);
}

/* A hundred clients a second ago are none of now: the one that is left is not shed for good. */
static void clients_that_ask_no_more_are_forgotten(void **state)
{
    struct gate *g = *state;
    const struct advice *advice = &g->crew.shared->services[WEB].advice;
    struct attempt a = gate_attempt(g, BULK, WEB);

    gate_adopt(g);
    for (unsigned i = 0; i < 100; i++)
        assert_true(pass_through(g, BULK));
    g->now_ns += PERIOD_NS;
    gate_steer(g);
    assert_int_equal(advice->by_attempt, 0);
    for (unsigned i = 0; i < 2; i++) { /* now and the second before, then neither */
        assert_int_equal(advice->by_attempt, 0);
        g->now_ns += CORE_S;
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        gate_done(g, BULK, 0);
        gate_steer(g);
    }
    assert_int_equal(advice->by_attempt, 1);
}

/* A second in which the workers see 50 bulk and 20 critical, and a guard before them `shed` bulk
 * for each of the 50; how many critical passed. */
static uint64_t second_behind_a_guard(struct gate *g, struct admission_service_counters *front,
                                      unsigned shed)
{
    uint64_t critical = 0;

    for (unsigned period = 0; period < 20; period++, g->now_ns += PERIOD_NS) {
        for (unsigned i = 0; i < 2 + period % 2; i++) {
            pass_through(g, BULK);
            front->reached[CLASS_BULK] += shed;
            front->attempts += shed;
            front->refused[REASON_SHED] += shed;
        }
        critical += pass_through(g, CRITICAL);
        gate_steer(g);
    }
    return critical;
}

/*
 * What the workers still see would fit, and yet as much is shed as if all had come to them: of 100
 * bulk they may have 100 - 20 - 20 = 60. Once the guard has nothing to shed, nobody has.
 */
static void what_is_shed_in_front_is_still_offered(void **state)
{
    struct admission_service_counters front[SERVICES] = {0};
    struct gate *g = *state;
    uint64_t critical = 0;

    g->services[WEB].capacity = core_rate(100, 1, 0);
    g->services[WEB].shed = (struct policy_shed){980000, core_rate(20, 1, 0)};
    gate_adopt(g);
    gate_steer(g);
    g->now_ns += PERIOD_NS;
    admission_control_front(g->control, front);
    for (unsigned s = 0; s < 60; s++)
        critical += second_behind_a_guard(g, &front[WEB], 1);
    assert_in_range((uint64_t)(view(g).rate_per_s[CLASS_BULK] * 1000), 99500, 100500);
    assert_in_range((uint64_t)(view(g).shed[CLASS_BULK] * 1000), 395, 405);
    assert_int_equal(critical, 60 * 20);
    assert_int_equal(view(g).counters.attempts, 60 * (50 + 70));
    assert_int_equal(view(g).counters.refused[REASON_SHED],
                     60 * 50 + gate_counts(g, WEB).refused[REASON_SHED]);
    for (unsigned s = 0; s < 20; s++)
        second_behind_a_guard(g, &front[WEB], 0);
    assert_in_range((uint64_t)(view(g).rate_per_s[CLASS_BULK] * 1000), 49500, 50500);
    assert_true(view(g).shed[CLASS_BULK] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST_FOUR(bulk_is_shed_down_to_what_is_left),
        OVERLOAD_TEST(shedding_of_a_stalled_control_thread_decays),
        OVERLOAD_TEST(case_F01_noise_is_not_overload),
        OVERLOAD_TEST(operator_lets_the_load_back_in_slowly),
        OVERLOAD_TEST_FOUR(refusals_say_when_the_backlog_is_gone),
        OVERLOAD_TEST(gateway_sheds_for_itself),
        OVERLOAD_TEST(half_of_the_work_failing_opens_the_breaker),
        OVERLOAD_TEST(objectives_keep_what_was_refused),
        OVERLOAD_TEST_FOUR(the_oldest_waits_on_any_worker),
        OVERLOAD_TEST(slots_that_would_do),
        OVERLOAD_TEST(a_new_order_begins_the_ramp_anew),
        OVERLOAD_TEST(the_ramp_turns_others_away_than_shedding),
        OVERLOAD_TEST(clients_that_ask_no_more_are_forgotten),
        OVERLOAD_TEST_FOUR(what_is_shed_in_front_is_still_offered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
