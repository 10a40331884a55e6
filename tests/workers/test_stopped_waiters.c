/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker that stops with packets waiting in its hands: after a second their places are others',
 * to the last one; back again it releases its own, whose places it gives back no more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "tests/unit/core.h"
#include "tests/workers/gate.h"
#include "tests/workers/stall.h"
#include "tests/workers/traffic.h"

#define HELD_UP 1u /* worker */
#define BUSY    2u
#define PLACES  64u
#define PAUSED  10u /* that wait on the one that stops */
#define EARLY   5u  /* and on another one */
#define MANY    1000u

/* -- policies: nobody has a slot, or everybody -- */

static struct policy *policy_of(uint64_t epoch, uint32_t window)
{
    struct policy_ports ports = {TRAFFIC_PORT, TRAFFIC_PORT};
    struct address address = core_address(TRAFFIC_SERVICE);
    struct policy_tenant tenant = core_tenant(0);
    struct policy_service service = core_service(0, &address, &ports);
    struct policy_spec spec = {
        .tenants = &tenant, .services = &service, .n_tenants = 1, .n_services = 1, .epoch = epoch};
    struct policy *policy;

    service.window = window;
    service.wait = (struct policy_wait){.places = PLACES, .age_ns = 100 * CORE_S};
    assert_int_equal(policy_create(&spec, &policy), 0);
    return policy;
}

static void publish(uint32_t window)
{
    uint64_t epoch = policy_epoch(dataplane_policy(gate.dp)) + 1;

    assert_int_equal(dataplane_publish(gate.dp, policy_of(epoch, window)), 0);
}

/* -- what is there -- */

static uint32_t waiting(void)
{
    return window_used(&gate.dp->shared->services[0].waiting);
}

static struct admission_service_counters counts(void)
{
    struct admission_service_counters c;

    dataplane_service_counters(gate.dp, 0, &c);
    return c;
}

static uint64_t held_by(uint32_t worker)
{
    struct worker_view view;

    dataplane_worker_view(gate.dp, worker, &view);
    return view.held;
}

/* -- waiting for what is to come -- */

static uint32_t wanted; /* by some of these */

static bool as_many_wait(void)
{
    return waiting() == wanted;
}

/* An attempt is counted before it is decided. */
static bool as_many_are_decided(void)
{
    struct admission_service_counters c = counts();

    return c.attempts == wanted &&
           held_by(HELD_UP) + held_by(BUSY) + c.admitted + c.refused[REASON_CAPACITY] == wanted;
}

static bool nothing_is_left(void)
{
    return stall_all_is_still() && gate_slots() == 0;
}

static void wait_until(bool (*done)(void), uint32_t n)
{
    wanted = n;
    stall_wait_for(done);
}

static void ask(uint32_t worker, uint32_t n)
{
    while (n-- > 0)
        assert_true(traffic_open_flow(traffic_flow_of(worker), worker));
}

/* -- in order -- */

static void a_worker_stops_with_waiters(void **state)
{
    (void)state;
    assert_int_equal(dataplane_start(gate.dp), 0);
    stall_wait_for(stall_others_adopted);
    ask(HELD_UP, PAUSED);
    ask(BUSY, EARLY);
    wait_until(as_many_wait, PAUSED + EARLY);
    assert_int_equal(held_by(HELD_UP), PAUSED);
    stall_begin(NULL);
    stall_wait_for(stall_is_on);
}

static void its_places_come_back(void **state)
{
    (void)state;
    dataplane_tend(gate.dp);
    if (!stall_is_dead())
        assert_int_equal(waiting(), PAUSED + EARLY);
    stall_wait_for(stall_is_dead);
    dataplane_tend(gate.dp);
    assert_int_equal(waiting(), EARLY);
    dataplane_tend(gate.dp); /* once */
    assert_int_equal(waiting(), EARLY);
}

static void others_have_them_all(void **state)
{
    (void)state;
    ask(BUSY, PLACES - EARLY);
    wait_until(as_many_are_decided, PAUSED + PLACES);
    assert_int_equal(waiting(), PLACES);
    assert_int_equal(held_by(BUSY), PLACES);
    assert_int_equal(counts().refused[REASON_CAPACITY], 0);
    publish(MANY);
    wait_until(as_many_wait, 0);
    stall_wait_for(stall_others_adopted);
    assert_int_equal(counts().admitted, PLACES);
    publish(0);
    stall_wait_for(stall_others_adopted);
}

/* What it holds has no place any more; all places are there for those who come. */
static void back_again_it_counts_nothing_twice(void **state)
{
    (void)state;
    stall_end();
    stall_wait_for(stall_others_adopted);
    assert_int_equal(held_by(HELD_UP), PAUSED);
    assert_int_equal(waiting(), 0);
    ask(HELD_UP, PLACES);
    wait_until(as_many_are_decided, PAUSED + 2 * PLACES);
    assert_int_equal(waiting(), PLACES);
    assert_int_equal(held_by(HELD_UP), PAUSED + PLACES);
    ask(HELD_UP, 1);
    wait_until(as_many_are_decided, PAUSED + 2 * PLACES + 1);
    assert_int_equal(waiting(), PLACES);
    assert_int_equal(counts().refused[REASON_CAPACITY], 1);
    publish(MANY);
    stall_wait_for(nothing_is_left);
    assert_int_equal(waiting(), 0);
    assert_int_equal(held_by(HELD_UP), 0);
    assert_int_equal(counts().admitted, PAUSED + 2 * PLACES);
    assert_int_equal(counts().waited, PAUSED + 2 * PLACES);
    assert_int_equal(window_used(dataplane_service_window(gate.dp, 0)), 0);
}

static int open_all(void **state)
{
    const struct gate_plan plan = {
        .policy = policy_of(0, 0), .n_tenants = 1, .n_services = 1, .waiting_max = 2 * PLACES};

    (void)state;
    gate_open_as(&plan);
    traffic_open();
    stall_prepare(HELD_UP);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_stops_with_waiters),
        cmocka_unit_test(its_places_come_back),
        cmocka_unit_test(others_have_them_all),
        cmocka_unit_test(back_again_it_counts_nothing_twice),
    };

    return cmocka_run_group_tests(tests, open_all, traffic_tear_down);
}
