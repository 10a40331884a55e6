/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that waited while their worker was paused: what belongs to a flow takes it on, what asks
 * for something does not. The worker does not run; the test takes it through its bursts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker/journey.h"
#include "tests/unit/core.h"
#include "tests/workers/gate.h"
#include "tests/workers/traffic.h"

#define IN  DIRECTION_IN
#define OUT DIRECTION_OUT

/* A frame of the flow, fresh or not; how many the gate lets through. */
static unsigned say(uint32_t flow, enum direction direction, uint8_t tcp_flags, bool data,
                    bool is_stale)
{
    struct worker *w = gate_awake(0);
    unsigned passed = 0, n;

    assert_true(data ? traffic_send_data(flow, direction, tcp_flags, 0)
                     : traffic_send(flow, direction, tcp_flags, 0));
    w->was_paused = is_stale;
    for (uint32_t i = 0; i < w->n_lanes; i++)
        journey_run(&w->burst, w->lanes[i]);
    w->was_paused = false;
    while ((n = traffic_discard()) > 0)
        passed += n;
    return passed;
}

static unsigned fresh(uint32_t flow, enum direction direction, uint8_t tcp_flags, bool data)
{
    return say(flow, direction, tcp_flags, data, false);
}

static unsigned stale(uint32_t flow, enum direction direction, uint8_t tcp_flags, bool data)
{
    return say(flow, direction, tcp_flags, data, true);
}

static uint32_t connected(void)
{
    const uint32_t flow = traffic_flow_of(0);

    assert_int_equal(fresh(flow, IN, TCP_SYN, false), 1);
    assert_int_equal(fresh(flow, OUT, TCP_SYN | TCP_ACK, false), 1);
    assert_int_equal(fresh(flow, IN, TCP_ACK, false), 1);
    return flow;
}

static uint64_t dropped(void)
{
    return gate_counters_of(0).dropped[REASON_STALE];
}

static uint32_t slots(void)
{
    return window_used(&gate.dp->shared->services[0].window);
}

/* Its client has sent it again by now; that one counts. */
static void a_stale_request_of_a_known_connection_is_dropped(void **state)
{
    const uint32_t flow = connected();
    const uint64_t before = dropped();

    (void)state;
    assert_int_equal(stale(flow, IN, TCP_ACK, true), 0);
    assert_int_equal(dropped(), before + 1);
    assert_int_equal(slots(), 0);
    assert_int_equal(fresh(flow, IN, TCP_ACK, true), 1);
    assert_int_equal(slots(), 1);
    assert_int_equal(dropped(), before + 1);
    assert_int_equal(fresh(flow, OUT, TCP_RST, false), 1);
    assert_int_equal(slots(), 0);
}

/* A reply goes on, and what ends a flow ends it, so that its slot is free. */
static void what_belongs_to_a_flow_takes_it_on(void **state)
{
    const uint32_t flow = connected();
    const uint64_t before = dropped();

    (void)state;
    assert_int_equal(stale(flow, IN, TCP_ACK, false), 1);
    assert_int_equal(fresh(flow, IN, TCP_ACK, true), 1);
    assert_int_equal(slots(), 1);
    assert_int_equal(stale(flow, OUT, TCP_ACK, true), 1);
    assert_int_equal(stale(flow, OUT, TCP_RST, false), 1);
    assert_int_equal(slots(), 0);
    assert_int_equal(dropped(), before);
}

static void what_belongs_to_none_is_dropped(void **state)
{
    const uint32_t flow = traffic_flow_of(0);
    const uint64_t before = dropped();

    (void)state;
    assert_int_equal(stale(flow, IN, TCP_SYN, false), 0);
    assert_int_equal(stale(flow, IN, TCP_ACK, true), 0);
    assert_int_equal(stale(flow, OUT, TCP_ACK, true), 0);
    assert_int_equal(dropped(), before + 3);
    assert_int_equal(fresh(flow, IN, TCP_SYN, false), 1);
}

static int open_all(void **state)
{
    const struct gate_plan plan = {
        .policy = gate_policy_of_exchanges(), .n_tenants = 1, .n_services = 1};

    (void)state;
    gate_open_as(&plan);
    traffic_open();
    gate.dp->workers[0]->facts[0] =
        (struct service_facts){.unit = UNIT_EXCHANGE, .silence_ms = 500};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_request_of_a_known_connection_is_dropped),
        cmocka_unit_test(what_belongs_to_a_flow_takes_it_on),
        cmocka_unit_test(what_belongs_to_none_is_dropped),
    };

    return cmocka_run_group_tests(tests, open_all, traffic_tear_down);
}
