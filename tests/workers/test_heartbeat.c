/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signs of life for a stand-in: they come while a worker takes what arrives for it, end with that,
 * and what arrived before the stand-in could know is not lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "dataplane/packet/parse.h"
#include "dataplane/worker/eal.h"
#include "tests/unit/core.h"
#include "tests/workers/gate.h"
#include "tests/workers/stall.h"
#include "tests/workers/traffic.h"

#define LATE_WORKER  1u /* polls queue 1 of either device */
#define LATE_FLOWS   10u
#define OLD_FLOWS    100u
#define OTHER_WORKER 2u
#define OTHER_FLOWS  10u
#define UNGUARDED    50u /* packets of the inside device's queue, where nobody stands in */

static struct heartbeat heartbeats[WORKERS];
static uint64_t stopping_ns;    /* atomic; 0: not yet */
static uint64_t beats[WORKERS]; /* of each worker: signs of life after that */
/* Atomic: LATE_WORKER's last sign of life before it was stopped, else 0; packets after the next. */
static uint64_t beat_before_ns, taken_alive;
static eth_rx_burst_t receive;

static uint64_t beat_of(uint32_t worker)
{
    return __atomic_load_n(&heartbeats[worker].now_ns, __ATOMIC_RELAXED);
}

/* In place of the driver's. When all stop, the packets for LATE_WORKER seem to arrive just as it
 * has given its last sign of life. */
static uint16_t receive_late(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    uint64_t since_ns = __atomic_load_n(&stopping_ns, __ATOMIC_ACQUIRE);
    uint32_t worker = rte_lcore_id() - EAL_WORKER_LCORE(0);
    uint16_t got;

    if (since_ns && beat_of(worker) > since_ns)
        beats[worker]++;
    if (since_ns && worker == LATE_WORKER && beat_of(worker))
        return 0;
    got = receive(queue, mbufs, n);
    since_ns = __atomic_load_n(&beat_before_ns, __ATOMIC_ACQUIRE);
    if (since_ns && worker == LATE_WORKER && beat_of(worker) != since_ns)
        __atomic_fetch_add(&taken_alive, got, __ATOMIC_RELAXED);
    return got;
}

static bool all_beat(void)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        if (beat_of(w) < gate.started_ns)
            return false;
    return true;
}

static uint64_t late_from_ns;

static bool late_goes_on(void)
{
    return beat_of(LATE_WORKER) > late_from_ns;
}

static bool late_is_still(void)
{
    return late_goes_on() && stall_all_is_still();
}

static void none_before_the_workers_run(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_int_equal(beat_of(w), 0);
    assert_int_equal(dataplane_start(gate.dp), 0);
    stall_wait_for(all_beat);
}

static uint64_t others_from_ns;

static bool others_go_on(void)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        if (w != LATE_WORKER && beat_of(w) <= others_from_ns)
            return false;
    return true;
}

/* The time of the loop it stands still in, whatever others do. */
static void a_worker_that_stands_still_gives_none(void **state)
{
    uint64_t last_ns;

    (void)state;
    stall_begin(NULL);
    stall_wait_for(stall_is_on);
    last_ns = beat_of(LATE_WORKER);
    assert_int_equal(last_ns, gate.dp->workers[LATE_WORKER]->now_ns);
    others_from_ns = dataplane_now_ns(gate.dp) + 10 * CORE_MS;
    stall_wait_for(others_go_on);
    assert_int_equal(beat_of(LATE_WORKER), last_ns);
    assert_true(last_ns < others_from_ns - 10 * CORE_MS);
    late_from_ns = last_ns;
    stall_end();
    stall_wait_for(late_goes_on);
}

static void ask(uint32_t owner, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_true(traffic_send(traffic_flow_of(owner), DIRECTION_IN, TCP_SYN, LATE_WORKER));
}

static uint64_t stale_of(uint32_t worker)
{
    return gate_counters_of(worker).dropped[REASON_STALE];
}

/* It stops in the middle of a loop, which still takes a burst. Then attempts are dropped, its own
 * and those it hands to others; what belongs to a flow passes, and so does all where nobody can
 * have stood in. */
static void attempts_that_waited_for_a_second_are_dropped_before_the_next(void **state)
{
    uint32_t flow = traffic_flow_of(LATE_WORKER);
    uint64_t late;
    unsigned seen;

    (void)state;
    assert_true(traffic_send(flow, DIRECTION_IN, TCP_SYN, LATE_WORKER));
    stall_wait_for(stall_all_is_still);
    stall_begin(NULL);
    stall_wait_for(stall_is_on);
    late_from_ns = beat_of(LATE_WORKER);
    __atomic_store_n(&beat_before_ns, late_from_ns, __ATOMIC_RELEASE);
    ask(LATE_WORKER, OLD_FLOWS);
    ask(OTHER_WORKER, OTHER_FLOWS);
    assert_true(traffic_send(flow, DIRECTION_IN, TCP_FIN | TCP_ACK, LATE_WORKER));
    for (unsigned i = 0; i < UNGUARDED; i++)
        assert_true(
            traffic_send(traffic_flow_of(LATE_WORKER), DIRECTION_OUT, TCP_ACK, LATE_WORKER));
    others_from_ns = late_from_ns + CORE_S + 100 * CORE_MS;
    stall_wait_for(others_go_on);
    stall_end();
    seen = stall_wait_for(late_is_still);
    __atomic_store_n(&beat_before_ns, 0, __ATOMIC_RELEASE);
    assert_true(seen == 1 + UNGUARDED || seen == 1 + UNGUARDED + BURST_MAX);
    assert_int_equal(stale_of(LATE_WORKER), OLD_FLOWS + 1 + UNGUARDED - seen);
    assert_int_equal(stale_of(OTHER_WORKER), OTHER_FLOWS);
    late = __atomic_load_n(&taken_alive, __ATOMIC_RELAXED); /* of what nobody stood in for, alone */
    assert_true(late == UNGUARDED || late == UNGUARDED - BURST_MAX);
}

static void they_end_when_nothing_more_is_taken(void **state)
{
    uint64_t taken_before;
    char why[128];

    (void)state;
    stall_wait_for(stall_all_is_still);
    taken_before = gate_counters_of(LATE_WORKER).received;
    __atomic_store_n(&stopping_ns, dataplane_now_ns(gate.dp), __ATOMIC_RELEASE);
    for (unsigned i = 0; i < LATE_FLOWS; i++)
        assert_true(traffic_send(traffic_flow_of(LATE_WORKER), DIRECTION_IN, TCP_SYN, LATE_WORKER));
    if (dataplane_stop(gate.dp, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_int_equal(beat_of(w), 0);
        assert_true(beats[w] > 0);
    }
    assert_int_equal(gate_counters_of(LATE_WORKER).received, taken_before + LATE_FLOWS);
    assert_int_equal(traffic_discard(), LATE_FLOWS);
    assert_int_equal(traffic_under_way(), 0);
    traffic_close();
    dataplane_destroy(gate.dp);
}

/* As if it were of another gate. */
static void unguard(enum direction direction, uint16_t queue)
{
    for (uint32_t i = 0; i < gate.dp->n_lanes; i++)
        if (gate.dp->lanes[i].direction == direction && gate.dp->lanes[i].queue == queue)
            gate.dp->lanes[i].stale_after_ns = UINT64_MAX;
}

static int open_all(void **state)
{
    const struct gate_plan plan = {.policy = gate_policy(0),
                                   .n_tenants = TENANTS,
                                   .n_services = 1,
                                   .heartbeats = heartbeats,
                                   .standby_after_ns = 200 * CORE_MS};

    (void)state;
    gate_open_as(&plan);
    traffic_open();
    stall_prepare(LATE_WORKER);
    unguard(DIRECTION_OUT, LATE_WORKER);
    receive = rte_eth_fp_ops[gate.dp->ports[0].id].rx_pkt_burst;
    for (unsigned port = 0; port < 2; port++)
        rte_eth_fp_ops[gate.dp->ports[port].id].rx_pkt_burst = receive_late;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_before_the_workers_run),
        cmocka_unit_test(a_worker_that_stands_still_gives_none),
        cmocka_unit_test(attempts_that_waited_for_a_second_are_dropped_before_the_next),
        cmocka_unit_test(they_end_when_nothing_more_is_taken),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
