/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four workers before they run, taken through their bursts one by one: who polls and sends what,
 * what full hand-over rings do, and what is known within a burst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/worker/journey.h"
#include "dataplane/worker/outlet.h"
#include "tests/workers/gate.h"
#include "tests/workers/traffic.h"

#define RING_ROOM (DATAPLANE_HANDOVER_RING - 1u)

static void poll_lanes_of(uint32_t worker)
{
    struct worker *w = gate_awake(worker);

    for (uint32_t i = 0; i < w->n_lanes; i++)
        while (journey_run(&w->burst, w->lanes[i]) > 0)
            ;
}

static struct worker_view view_of(uint32_t worker)
{
    struct worker_view view;

    dataplane_worker_view(gate.dp, worker, &view);
    return view;
}

static void judge_handed_of(uint32_t worker)
{
    struct worker *w = gate_awake(worker);

    while (journey_run_handed(&w->burst) > 0)
        ;
}

static void each_queue_has_one_poller_and_one_sender(void **state)
{
    (void)state;
    for (uint32_t port = 0; port < gate.dp->n_ports; port++) {
        unsigned senders[QUEUES_MAX] = {0}, pollers[QUEUES_MAX] = {0};

        assert_int_equal(gate.dp->ports[port].rx_queues, gate.rings[port].n_receive);
        assert_int_equal(gate.dp->ports[port].tx_queues, gate.rings[port].n_transmit);
        for (uint32_t w = 0; w < WORKERS; w++) {
            const struct outlet *outlet = &gate.dp->workers[w]->outlets[port];
            const struct outlet *owners = &gate.dp->workers[outlet->owner]->outlets[port];

            assert_int_equal(owners->owner, outlet->owner); /* nothing is handed on twice */
            senders[outlet->queue] += outlet->owner == w;
            for (uint32_t i = 0; i < gate.dp->workers[w]->n_lanes; i++)
                if (gate.dp->workers[w]->lanes[i]->own_port == port)
                    pollers[gate.dp->workers[w]->lanes[i]->queue]++;
        }
        for (unsigned q = 0; q < gate.rings[port].n_transmit; q++)
            assert_int_equal(senders[q], 1);
        for (unsigned q = 0; q < gate.rings[port].n_receive; q++)
            assert_int_equal(pollers[q], 1);
    }
}

/* Rings do not count what waits in them; the last burst of the one that polls is all there is. */
static void each_receive_queue_is_a_place_to_wait(void **state)
{
    unsigned seen[2][QUEUES_MAX] = {0};

    (void)state;
    assert_int_equal(dataplane_receive_count(gate.dp), 4 + 2);
    for (uint32_t i = 0; i < 6; i++) {
        struct receive_view view;

        dataplane_receive_view(gate.dp, i, &view);
        assert_string_equal(view.depth_source, "burst");
        assert_int_equal(view.bound, 0);
        seen[strcmp(view.device, "net_ring_outside") != 0][view.queue]++;
    }
    for (unsigned q = 0; q < 4; q++) {
        assert_int_equal(seen[0][q], 1);
        assert_int_equal(seen[1][q], q < 2);
    }
}

/* A histogram is each worker's own. */
static void how_long_things_took_is_told_over_all_workers(void **state)
{
    const struct slot slot = {.service = 0};
    struct latency_view views[LATENCY_MAX];

    (void)state;
    dataplane_service_latency(gate.dp, 0, views);
    assert_int_equal(views[LATENCY_CONNECT].count, 0);
    assert_int_equal(views[LATENCY_CONNECT].p99_ns, 0);
    for (unsigned i = 0; i < 100; i++)
        admission_connected(gate.dp->workers[i % WORKERS]->admission, &slot,
                            i < 50   ? HISTOGRAM_MIN_NS
                            : i < 95 ? 2 * HISTOGRAM_MIN_NS
                            : i < 99 ? 4 * HISTOGRAM_MIN_NS
                                     : 8 * HISTOGRAM_MIN_NS);
    dataplane_service_latency(gate.dp, 0, views);
    assert_int_equal(views[LATENCY_CONNECT].count, 100);
    assert_int_equal(views[LATENCY_CONNECT].p50_ns, 33 * HISTOGRAM_MIN_NS / 32);
    assert_int_equal(views[LATENCY_CONNECT].p95_ns, 2 * 33 * HISTOGRAM_MIN_NS / 32);
    assert_int_equal(views[LATENCY_CONNECT].p99_ns, 4 * 33 * HISTOGRAM_MIN_NS / 32);
    assert_int_equal(views[LATENCY_REPLY].count, 0);
}

/* These devices cannot be told how to spread flows, and whoever starts the gate is told. */
static void case_D01_a_device_that_spreads_flows_otherwise_is_named(void **state)
{
    (void)state;
    assert_non_null(strstr(gate.said, "note: net_ring_outside does not spread flows symmetrically "
                                      "over its 4 queues"));
    assert_non_null(strstr(gate.said, "note: net_ring_inside does not spread flows symmetrically "
                                      "over its 2 queues"));
}

/* A worker that does not look after its ring: what does not fit is freed and counted by the one who
 * has it; what fits is judged when it comes round. */
static void case_G02_a_full_ring_of_packets_to_judge(void **state)
{
    const unsigned sent = 3000, lost = sent - RING_ROOM;

    (void)state;
    for (unsigned i = 0; i < sent; i++)
        assert_true(traffic_open_flow(traffic_flow_of(1), 0));
    poll_lanes_of(0);
    assert_int_equal(gate_counters_of(0).received, sent);
    assert_int_equal(gate_counters_of(0).handed_out, RING_ROOM);
    assert_int_equal(gate_counters_of(0).handoff_failed, lost);
    assert_int_equal(traffic_under_way(), RING_ROOM);
    assert_int_equal(view_of(1).judge, RING_ROOM);
    assert_int_equal(view_of(1).handover_max, RING_ROOM);
    assert_int_equal(view_of(0).judge + view_of(1).send, 0);

    judge_handed_of(1);
    assert_int_equal(view_of(1).judge, 0);
    assert_int_equal(gate_counters_of(1).handed_in, RING_ROOM);
    assert_true(gate_balanced(0) && gate_balanced(1));
    while (traffic_discard() > 0)
        ;
    assert_int_equal(traffic.received + gate_counters_of(1).handed_out, RING_ROOM);
    gate.dp->workers[0]->burst.n = 0;
    while (outlet_send_handed(gate_awake(0)) + outlet_send_handed(gate_awake(1)) > 0)
        ;
    while (traffic_discard() > 0)
        ;
    assert_int_equal(traffic_under_way(), 0);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_true(gate_balanced(w));
    assert_int_equal(gate_counters_of(1).forwarded[PASS_ATTEMPT] +
                         gate_counters_of(1).dropped[REASON_RATE] + gate_counters_of(0).answered +
                         gate_counters_of(1).answered,
                     RING_ROOM);
}

/* The same on the way out: worker 2 has no queue of its own to the outside and sends through 0. */
static void case_G02_a_full_ring_of_packets_to_send(void **state)
{
    const unsigned sent = 3000, lost = sent - RING_ROOM;
    uint64_t before = traffic.received;

    (void)state;
    assert_int_equal(gate.dp->workers[2]->outlets[0].owner, 0);
    for (unsigned i = 0; i < sent; i++) {
        assert_true(traffic_send(traffic_flow_of(2), DIRECTION_OUT, TCP_ACK, 1));
        if (i % 1000 == 999) { /* worker 1 finds them, worker 2 judges them, nobody sends */
            poll_lanes_of(1);
            judge_handed_of(2);
        }
    }
    assert_int_equal(gate_counters_of(2).handed_in, sent);
    assert_int_equal(gate_counters_of(2).handed_out, RING_ROOM);
    assert_int_equal(gate_counters_of(2).handoff_failed, lost);
    assert_int_equal(traffic_under_way(), RING_ROOM);
    assert_int_equal(view_of(0).send, RING_ROOM);
    assert_int_equal(view_of(0).judge + view_of(2).send, 0);
    while (outlet_send_handed(gate_awake(0)) > 0)
        ;
    while (traffic_discard() > 0)
        ;
    assert_int_equal(traffic.received - before, RING_ROOM);
    assert_int_equal(traffic_under_way(), 0);
    assert_int_equal(gate_counters_of(0).forwarded[PASS_INSIDE], RING_ROOM);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_true(gate_balanced(w));
}

/* Flows of which the first packet is still in the burst: the next ones belong to them already. */
static void flows_that_begin_within_a_burst_are_known_to_the_rest_of_it(void **state)
{
    struct admission_service_counters before, after;

    (void)state;
    dataplane_service_counters(gate.dp, 0, &before);
    for (unsigned i = 0; i < 10; i++) {
        uint32_t flow = traffic_flow_of(0);

        while (traffic_is_capped(flow))
            flow = traffic_flow_of(0);
        assert_true(traffic_open_flow(flow, 0));
        assert_true(traffic_send(flow, DIRECTION_IN, TCP_ACK, 0));
        assert_true(traffic_send(flow, DIRECTION_IN, TCP_ACK, 0));
    }
    assert_int_equal(journey_run(&gate_awake(0)->burst, gate.dp->workers[0]->lanes[0]), 30);
    dataplane_service_counters(gate.dp, 0, &after);
    assert_int_equal(after.attempts - before.attempts, 10);
    assert_int_equal(gate_counters_of(0).forwarded[PASS_FLOW], 20);
    while (traffic_discard() > 0)
        ;
    assert_int_equal(traffic_under_way(), 0);
}

/* Control traffic has one bucket, through however many queues and workers it comes. */
static void control_traffic_is_bounded_over_all_queues(void **state)
{
    const unsigned each = 60, burst = 100 + 1, per_ms = 1;
    uint64_t start_ns = dataplane_now_ns(gate.dp), passed = gate_counters().forwarded[PASS_CONTROL],
             earned;

    (void)state;
    for (unsigned i = 0; i < 4 * each; i++)
        assert_true(traffic_send_arp(i % 4));
    for (uint32_t w = 0; w < WORKERS; w++)
        poll_lanes_of(w);
    for (uint32_t w = 0; w < WORKERS; w++)
        while (outlet_send_handed(gate_awake(w)) > 0)
            ;
    passed = gate_counters().forwarded[PASS_CONTROL] - passed;
    earned = (dataplane_now_ns(gate.dp) - start_ns) / 1000000 * per_ms + 1;
    assert_in_range(passed, burst, burst + earned);
    assert_int_equal(gate_counters().dropped[REASON_CONTROL], 4 * each - passed);
    while (traffic_discard() > 0)
        ;
    assert_int_equal(traffic_under_way(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_queue_has_one_poller_and_one_sender),
        cmocka_unit_test(each_receive_queue_is_a_place_to_wait),
        cmocka_unit_test(how_long_things_took_is_told_over_all_workers),
        cmocka_unit_test(case_D01_a_device_that_spreads_flows_otherwise_is_named),
        cmocka_unit_test(case_G02_a_full_ring_of_packets_to_judge),
        cmocka_unit_test(case_G02_a_full_ring_of_packets_to_send),
        cmocka_unit_test(control_traffic_is_bounded_over_all_queues),
        cmocka_unit_test(flows_that_begin_within_a_burst_are_known_to_the_rest_of_it),
    };

    return cmocka_run_group_tests(tests, traffic_set_up, traffic_tear_down);
}
