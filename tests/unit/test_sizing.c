/* SPDX-License-Identifier: BSD-3-Clause */
/* The published figures, and values of exact rational arithmetic (all the digits of a double). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "control/config/sizing.h"

/* As doubles: assert_float_equal() of cmocka 1.1 compares floats. */
#define assert_close(value, wanted, epsilon)                                                       \
    do {                                                                                           \
        double value_ = (value), wanted_ = (wanted);                                               \
        if (!(fabs(value_ - wanted_) <= (epsilon)))                                                \
            fail_msg("%.17g is not %.17g", value_, wanted_);                                       \
    } while (0)

static void erlang_b_is_exact(void **state)
{
    (void)state;
    assert_close(sizing_erlang_b(250, 270), .0123490339395302, 1e-15);
    assert_close(sizing_erlang_b(250, 272), .0102466576813452, 1e-15);
    assert_close(sizing_erlang_b(250, 273), .00929615672675281, 1e-15);
    assert_close(sizing_erlang_b(250.2, 270), .0125784393536323, 1e-15);
    assert_close(sizing_erlang_b(1250, 1280), .00967690715433933, 1e-15);
    assert_close(sizing_erlang_b(2500, 2565), .00376792183426711, 1e-15);
    assert_close(sizing_erlang_b(2500, 2526), .00987073098543669, 1e-15);
    assert_close(sizing_erlang_b(1, 1), .5, 0);
    assert_close(sizing_erlang_b(0, 1), 0, 0);
    assert_close(sizing_erlang_b(5, 0), 1, 0);
}

static void published_lines(void **state)
{
    (void)state;
    assert_int_equal(sizing_lines(250, .01), 273);
    assert_int_equal(sizing_lines(1250, .01), 1280);
    assert_int_equal(sizing_lines(2500, .01), 2526);
    assert_int_equal(sizing_lines(1, .5), 1); /* not more than the share, but as much */
    assert_int_equal(sizing_lines(1, .4999), 2);
    assert_int_equal(sizing_lines(0, .01), 1);
    assert_int_equal(sizing_lines(7, 1), 0);
}

/* 100/s x .2 s; x 30 ms; 100 MB/s x 20 ms; 8 MB at 100 MB/s; .1 s that become 1 s. */
static void published_products_of_rate_and_time(void **state)
{
    (void)state;
    assert_close(sizing_window(100, .2), 20, 1e-12);
    assert_close(sizing_window(100, .030), 3, 1e-12);
    assert_close(sizing_window(100e6, .020), 2e6, 1e-6);
    assert_close(sizing_held_s(8e6, 100e6), .080, 1e-15);
    assert_close(sizing_window(100, 1) - sizing_window(100, .1), 90, 1e-12);
    /* A core that a piece of work needs for 10 ms, and then waits for 100: 11 in flight. */
    assert_close(sizing_window(1 / .010, .010 + .100), 11, 1e-12);
}

/* Four slots of 20 ms: half busy at 100/s, full at 200/s, 170/s at 85 %. */
static void published_capacity(void **state)
{
    (void)state;
    assert_close(sizing_utilisation(&(struct sizing_load){100, .020, 4}), .5, 1e-12);
    assert_close(sizing_utilisation(&(struct sizing_load){200, .020, 4}), 1, 1e-12);
    assert_close(sizing_utilisation(&(struct sizing_load){170, .020, 4}), .85, 1e-12);
}

/* In service times: 9, 19 and 99. */
static void one_slot_waits_as_published(void **state)
{
    const struct sizing_load busy = {90, .010, 1};

    (void)state;
    assert_close(sizing_wait_s(&(struct sizing_load){.90, 1, 1}, (struct sizing_spread){1, 1}), 9,
                 1e-12);
    assert_close(sizing_wait_s(&(struct sizing_load){.95, 1, 1}, (struct sizing_spread){1, 1}), 19,
                 1e-11);
    assert_close(sizing_wait_s(&(struct sizing_load){.99, 1, 1}, (struct sizing_spread){1, 1}), 99,
                 1e-10);
    assert_close(sizing_wait_s(&busy, (struct sizing_spread){1, 1}), .090, 1e-13);
    assert_close(sizing_wait_s(&busy, (struct sizing_spread){1, 2}), .225, 1e-13);
    assert_close(sizing_wait_s(&busy, (struct sizing_spread){1, 0}), .045, 1e-13); /* M/D/1 */
    assert_close(sizing_wait_s(&busy, (struct sizing_spread){0, 0}), 0, 0);
}

static void more_slots_wait_less(void **state)
{
    const struct sizing_load load = {130, 4. / 170, 4};

    (void)state;
    assert_close(sizing_wait_s(&load, (struct sizing_spread){1, 1}), .0133597775319424, 1e-15);
    assert_close(sizing_wait_s(&load, (struct sizing_spread){1, 2}), .0333994438298560, 1e-15);
}

static void a_full_service_has_no_mean_wait(void **state)
{
    (void)state;
    assert_true(isinf(
        sizing_wait_s(&(struct sizing_load){170, 4. / 170, 4}, (struct sizing_spread){1, 1})));
    assert_true(isinf(
        sizing_wait_s(&(struct sizing_load){850, 4. / 170, 4}, (struct sizing_spread){1, 1})));
}

/* M/M/4/21: four slots, 17 places. */
static void a_bounded_queue_refuses_as_published(void **state)
{
    struct sizing_bounded q = sizing_bounded(&(struct sizing_load){200, 4. / 170, 4}, 17);

    (void)state;
    assert_close(q.refused, .155896956605213, 1e-14);
    assert_close(200 * (1 - q.refused), 168.820608678957, 1e-11);
    assert_close(q.wait_s, .0719733450632441, 1e-15);
    q = sizing_bounded(&(struct sizing_load){850, 4. / 170, 4}, 17);
    assert_close(q.refused, .800000000000014, 1e-14);
    assert_close(850 * (1 - q.refused), 169.999999999988, 1e-11);
    assert_close(q.wait_s, .0985294117647165, 1e-15);
    q = sizing_bounded(&(struct sizing_load){250, 1, 270}, 0);
    assert_close(q.refused, .0123490339395302, 1e-15);
    assert_close(q.wait_s, 0, 0);
    q = sizing_bounded(&(struct sizing_load){0, 1, 4}, 5);
    assert_close(q.refused, 0, 0);
    assert_close(q.wait_s, 0, 0);
}

static void published_drain_times(void **state)
{
    (void)state;
    assert_close(sizing_drain_s(1000, 100, 90), 100, 0);
    assert_close(sizing_drain_s(1000, 100, 99), 1000, 0);
    assert_close(sizing_drain_s(200 * 3600, 200, 0), 3600, 0); /* 720 000 in an hour */
    assert_close(sizing_drain_s(300, 170, 130), 7.5, 0);
    assert_true(isinf(sizing_drain_s(0, 170, 170)));
    assert_true(isinf(sizing_drain_s(1, 170, 200)));
}

/* 170/s and 100 ms: 17 places, of which the last waits 100 ms. */
static void published_places(void **state)
{
    (void)state;
    assert_close(sizing_places(170, .100), 16, 0);
    assert_close(sizing_places(170, .1001), 17, 0);
    assert_close(sizing_places(170, .099), 16, 0);
    assert_close(sizing_places(170, .0941), 15, 0);
    assert_close(sizing_places(1, .100), 0, 0);
    assert_close(sizing_places(0, 1), 0, 0);
    assert_close(sizing_last_wait_s(16, 170), .0941176470588235, 1e-15);
}

static void lost_ends_hold_slots(void **state)
{
    (void)state;
    assert_close(sizing_leaked_slots(170, .01, 60), 102, 1e-12);
    assert_close(sizing_idle_s(8, 170, .01), .235294117647059, 1e-15);
    assert_close(sizing_leaked_slots(170, .01, sizing_idle_s(8, 170, .01)), .4, 1e-15);
}

static void whole_numbers_stay_what_they_are(void **state)
{
    (void)state;
    assert_close(sizing_whole(3.0000000000000004), 3, 0);
    assert_close(sizing_whole(3.00001), 4, 0);
    assert_close(sizing_whole(2.99999), 3, 0);
    assert_close(sizing_whole(0), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erlang_b_is_exact),
        cmocka_unit_test(published_lines),
        cmocka_unit_test(published_products_of_rate_and_time),
        cmocka_unit_test(published_capacity),
        cmocka_unit_test(one_slot_waits_as_published),
        cmocka_unit_test(more_slots_wait_less),
        cmocka_unit_test(a_full_service_has_no_mean_wait),
        cmocka_unit_test(a_bounded_queue_refuses_as_published),
        cmocka_unit_test(published_drain_times),
        cmocka_unit_test(published_places),
        cmocka_unit_test(lost_ends_hold_slots),
        cmocka_unit_test(whole_numbers_stay_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
