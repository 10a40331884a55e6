/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that wait for a slot on a worker, and what happens to their flows meanwhile: whatever it
 * is, a flow has one slot and one place among its service's connections, or none. Of a service
 * whose unit is the exchange. The worker does not run; the test takes it through its bursts.
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

#define IN      DIRECTION_IN
#define OUT     DIRECTION_OUT
#define SYN_ACK (TCP_SYN | TCP_ACK)
#define FIN_ACK (TCP_FIN | TCP_ACK)
#define RST_ACK (TCP_RST | TCP_ACK)

static uint64_t age_ns = 100 * CORE_S; /* for which a packet may wait */

static struct policy *policy_of(uint64_t epoch, uint32_t window)
{
    struct policy_ports ports = {TRAFFIC_PORT, TRAFFIC_PORT};
    struct address address = core_address(TRAFFIC_SERVICE);
    struct policy_tenant tenant = core_tenant(0);
    struct policy_service service = core_service(0, &address, &ports);
    struct policy_spec spec = {
        .tenants = &tenant, .services = &service, .n_tenants = 1, .n_services = 1, .epoch = epoch};
    struct policy *policy;

    service.unit = UNIT_EXCHANGE;
    service.window = window;
    service.wait = (struct policy_wait){.places = 4, .age_ns = age_ns};
    assert_int_equal(policy_create(&spec, &policy), 0);
    return policy;
}

/* What worker 0 does in a loop. */
static void play(void)
{
    struct worker *w = gate_awake(0);

    for (uint32_t i = 0; i < w->n_lanes; i++)
        journey_run(&w->burst, w->lanes[i]);
    journey_release(&w->burst, false);
    while (traffic_discard() > 0)
        ;
}

/* Slots for so many from now on. */
static void set_window(uint32_t window)
{
    uint64_t epoch = policy_epoch(dataplane_policy(gate.dp)) + 1;

    assert_int_equal(dataplane_publish(gate.dp, policy_of(epoch, window)), 0);
    play();
}

static void say(uint32_t flow, enum direction direction, uint8_t tcp_flags)
{
    assert_true(traffic_send(flow, direction, tcp_flags, 0));
    play();
}

static void say_data(uint32_t flow, enum direction direction, uint8_t tcp_flags)
{
    assert_true(traffic_send_data(flow, direction, tcp_flags, 0));
    play();
}

static void say_numbered(uint32_t flow, enum direction direction, uint32_t seq, uint32_t ack)
{
    assert_true(traffic_send_numbered(flow, direction, (struct traffic_numbers){seq, ack}, 0));
    play();
}

static void assert_there_are(uint32_t connections, uint32_t waiting, uint32_t slots)
{
    const struct service_shared *s = &gate.dp->shared->services[0];
    struct worker_view view;

    dataplane_worker_view(gate.dp, 0, &view);
    assert_int_equal(window_used(&s->connections), connections);
    assert_int_equal(window_used(&s->waiting), waiting);
    assert_int_equal(window_used(&s->window), slots);
    assert_int_equal(view.held, waiting);
    assert_int_equal(view.slots, slots);
    assert_int_equal(traffic_under_way(), waiting);
    assert_true(gate_balanced(0));
}

static uint32_t open_connection(void)
{
    uint32_t flow = traffic_flow_of(0);

    say(flow, IN, TCP_SYN);
    say(flow, OUT, SYN_ACK);
    say(flow, IN, TCP_ACK);
    return flow;
}

static const struct admission_service_counters *counters(void)
{
    return admission_service_counters(gate.dp->workers[0]->admission, 0);
}

static uint64_t cancelled(void)
{
    return counters()->cancelled;
}

/* A whole exchange on an open connection, and the end of both. */
static void exchange_and_close(uint32_t flow)
{
    say_data(flow, IN, TCP_ACK);
    assert_there_are(1, 0, 1);
    say_data(flow, OUT, TCP_ACK);
    say(flow, OUT, FIN_ACK);
    assert_there_are(1, 0, 0);
    say(flow, IN, FIN_ACK);
    assert_there_are(0, 0, 0);
}

/* Nobody waits for an answer of a connection that its service has reset; the next one on the same
 * ports is another. */
static void a_request_does_not_outlive_its_connection(void **state)
{
    uint64_t before = cancelled();
    uint32_t flow;

    (void)state;
    set_window(0);
    flow = open_connection();
    say_data(flow, IN, TCP_ACK);
    assert_there_are(1, 1, 0);
    say(flow, OUT, RST_ACK);
    assert_there_are(0, 0, 0);
    assert_int_equal(cancelled(), before + 1);
    say(flow, IN, TCP_SYN);
    say(flow, OUT, SYN_ACK);
    set_window(1);
    assert_there_are(1, 0, 0);
    exchange_and_close(flow);
}

static void a_request_does_not_outlive_the_services_side(void **state)
{
    uint64_t before = cancelled();
    uint32_t flow;

    (void)state;
    set_window(0);
    flow = open_connection();
    say_data(flow, IN, TCP_ACK);
    say(flow, OUT, FIN_ACK);
    assert_there_are(1, 0, 0);
    assert_int_equal(cancelled(), before + 1);
    set_window(1);
    assert_there_are(1, 0, 0);
    say(flow, IN, FIN_ACK);
    assert_there_are(0, 0, 0);
}

/* The service has forgotten the connection, and its client opens it anew. */
static void a_new_connection_on_old_ports_has_the_old_ones_place(void **state)
{
    uint32_t flow;

    (void)state;
    set_window(1);
    flow = open_connection();
    say(flow, IN, TCP_SYN);
    say(flow, OUT, SYN_ACK);
    assert_there_are(1, 0, 0);
    exchange_and_close(flow);
}

/* A SYN that brings the first request along, and waits with it. What the service says meanwhile is
 * about a connection before. */
static void a_connection_that_waits_as_a_whole_is_counted_once(void **state)
{
    uint32_t flow = traffic_flow_of(0);

    (void)state;
    set_window(0);
    say_data(flow, IN, TCP_SYN);
    assert_there_are(0, 1, 0);
    say(flow, OUT, RST_ACK);
    say(flow, OUT, FIN_ACK);
    assert_there_are(0, 1, 0);
    set_window(1);
    assert_there_are(1, 0, 1);
    say(flow, OUT, SYN_ACK);
    say(flow, IN, TCP_ACK);
    say_data(flow, OUT, TCP_ACK);
    exchange_and_close(flow);
}

/* The service has had the bytes of a request that waits, before the connection was open, and has
 * replied. Let in, they are old: no exchange begins, and the next request has a slot of its own. */
static uint32_t wait_with_an_answered_request(void)
{
    uint32_t flow;

    set_window(0);
    flow = open_connection();
    say_numbered(flow, IN, 0, 0);
    say_numbered(flow, OUT, 0, TRAFFIC_DATA_BYTES);
    assert_there_are(1, 1, 0);
    return flow;
}

static void ask_once_more_and_close(uint32_t flow)
{
    say_numbered(flow, IN, TRAFFIC_DATA_BYTES, TRAFFIC_DATA_BYTES);
    assert_there_are(1, 0, 1);
    say_numbered(flow, OUT, TRAFFIC_DATA_BYTES, 2 * TRAFFIC_DATA_BYTES);
    say(flow, OUT, FIN_ACK);
    assert_there_are(1, 0, 0);
    say(flow, IN, FIN_ACK);
    assert_there_are(0, 0, 0);
}

static void a_request_answered_while_it_waited_keeps_no_slot(void **state)
{
    uint64_t before = counters()->outcomes[OUTCOME_FINISHED];
    uint32_t flow = wait_with_an_answered_request();

    (void)state;
    set_window(1);
    assert_there_are(1, 0, 0);
    assert_int_equal(counters()->outcomes[OUTCOME_FINISHED], before + 1);
    ask_once_more_and_close(flow);
    assert_int_equal(counters()->outcomes[OUTCOME_FINISHED], before + 2);
}

/* The same where it waited in vain, and passes on debt. */
static void nor_one_that_passes_for_want_of_a_slot(void **state)
{
    uint64_t before = counters()->adopted, after_ns;
    uint32_t flow;

    (void)state;
    gate.dp->workers[0]->facts[0].turn = TURN_PASS;
    flow = wait_with_an_answered_request();
    age_ns = CORE_MS;
    set_window(0);
    for (after_ns = dataplane_now_ns(gate.dp) + age_ns; dataplane_now_ns(gate.dp) <= after_ns;)
        ;
    play();
    assert_there_are(1, 0, 0);
    assert_int_equal(counters()->adopted, before + 1);
    set_window(1);
    ask_once_more_and_close(flow);
}

static int open_all(void **state)
{
    const struct gate_plan plan = {
        .policy = policy_of(0, 0), .n_tenants = 1, .n_services = 1, .waiting_max = 8};

    (void)state;
    gate_open_as(&plan);
    traffic_open();
    gate.dp->workers[0]->facts[0] =
        (struct service_facts){.unit = UNIT_EXCHANGE, .turn = TURN_RST, .silence_ms = 1000};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_does_not_outlive_its_connection),
        cmocka_unit_test(a_request_does_not_outlive_the_services_side),
        cmocka_unit_test(a_new_connection_on_old_ports_has_the_old_ones_place),
        cmocka_unit_test(a_connection_that_waits_as_a_whole_is_counted_once),
        cmocka_unit_test(a_request_answered_while_it_waited_keeps_no_slot),
        cmocka_unit_test(nor_one_that_passes_for_want_of_a_slot),
    };

    return cmocka_run_group_tests(tests, open_all, traffic_tear_down);
}
