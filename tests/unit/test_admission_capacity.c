/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control loop takes for the capacity of a service, from the decision core's counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

#define PERIOD_NS (50 * CORE_MS)

static struct service_view view(struct gate *g)
{
    struct service_view view;

    admission_control_view(g->control, policy_service(g->crew.policy, WEB), g->now_ns, &view);
    return view;
}

/* So many are done within the period, and as many begin. */
static void turn_over(struct gate *g, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        gate_done(g, BULK, 0);
    gate_fill(g, BULK, n);
    g->now_ns += PERIOD_NS;
    gate_steer(g);
}

/* Four slots that are full at one look and free at the next tell of the demand. From the second
 * full look in turn on, four in 50 ms are what the service can do. */
static void capacity_is_learnt_while_the_window_stays_full(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 4;
    g->services[WEB].deadline_ns = 10 * CORE_S;
    gate_adopt(g);
    gate_steer(g);
    for (unsigned i = 0; i < 40; i++) {
        gate_fill(g, BULK, 4);
        g->now_ns += PERIOD_NS;
        gate_steer(g);
        for (unsigned k = 0; k < 4; k++)
            gate_done(g, BULK, 0);
        g->now_ns += PERIOD_NS;
        gate_steer(g);
        assert_int_equal(view(g).interval_ns, 0);
        assert_true(view(g).capacity_per_s == 0);
    }
    gate_fill(g, BULK, 4);
    turn_over(g, 4);
    assert_int_equal(view(g).interval_ns, 0);
    turn_over(g, 4);
    assert_in_range(view(g).interval_ns, 12500000 - 1, 12500000);
    for (unsigned i = 0; i < 40; i++)
        turn_over(g, 4);
    assert_in_range(view(g).interval_ns, 12500000 - 1, 12500000);
    assert_float_equal(view(g).capacity_per_s, 80, 1e-9);
}

/* A slot has just come free, but somebody waits for it: the demand is not what holds it up. */
static void a_service_for_which_somebody_waits_is_full(void **state)
{
    struct gate *g = *state;
    struct released r;

    g->services[WEB].window = 4;
    g->services[WEB].deadline_ns = 10 * CORE_S;
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = CORE_S};
    gate_adopt(g);
    gate_steer(g);
    gate_fill(g, BULK, 4);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(view(g).interval_ns, 0); /* not four of full periods yet */
        assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
        gate_done(g, BULK, 0);
        g->now_ns += PERIOD_NS;
        gate_steer(g);
        assert_true(gate_poll(g, 0, &r));
    }
    assert_in_range(view(g).interval_ns, 50000000 - 1, 50000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(capacity_is_learnt_while_the_window_stays_full),
        OVERLOAD_TEST(a_service_for_which_somebody_waits_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
