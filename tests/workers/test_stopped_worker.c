/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases of four workers while policies change, and while one of the four stops in the middle of
 * its loop, with a lease in its hands: what it holds is taken back, what is handed to it is
 * counted, what it must not miss waits, and when it goes on it spends nothing of what was taken
 * back. To the token, since the quota is in bytes, of which a frame's worth is leased at any rate:
 * at one byte a second nothing else moves the pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dataplane/admission/state.h"
#include "tests/unit/core.h"
#include "tests/workers/gate.h"
#include "tests/workers/stall.h"
#include "tests/workers/traffic.h"

#define HELD_UP   1u /* worker; polls queue 1 of either device */
#define HANDING   0u /* worker that hands it packets; polls queue 0 */
#define BUSY      2u /* worker that wants all tokens; polls queue 2 of the outside device */
#define SYN_BYTES 40u
#define LOT       LEASE_FRAME_BYTES
#define BURST     97160u                      /* 64 lots, and a whole number of SYNs: */
#define FULL      (BURST / SYN_BYTES)         /* 2429, and no byte left */
#define FULL_LESS ((BURST - LOT) / SYN_BYTES) /* 2391, and two bytes: 38 s until the next SYN */
#define TOO_MANY  100u
#define SPRINKLE  8u
#define SPRINKLED 2200u /* what is left is more than all workers can hold in lots */
#define IN_QUEUE  10u
#define RING_ROOM (DATAPLANE_HANDOVER_RING - 1u)
#define FAST      (80000000ull) /* bit/s: the burst in 10 ms */
#define SLOW      (8ull)

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* -- the stop -- */

static struct lease *lease_of(uint32_t worker)
{
    return &gate.dp->workers[worker]->admission->tenants[TENANT_CAPPED].bits;
}

static bool has_lease(void)
{
    return lease_is_held(lease_of(HELD_UP));
}

/* -- waiting for what is to come -- */

static unsigned waiting; /* packets that nobody but the stopped worker will take */

static bool others_are_still(void)
{
    return traffic_under_way() == waiting && gate_balanced(HANDING) && gate_balanced(BUSY);
}

static bool only_the_stopped_holds_a_slot(void)
{
    return gate_slots() == 1 && window_used(dataplane_service_window(gate.dp, 0)) == 1 &&
           window_used(dataplane_tenant_window(gate.dp, TENANT_CAPPED)) == 1;
}

static bool no_slot_is_held(void)
{
    return gate_slots() == 0 && window_used(dataplane_service_window(gate.dp, 0)) == 0 &&
           window_used(dataplane_tenant_window(gate.dp, TENANT_CAPPED)) == 0;
}

/* -- policies -- */

static int publish_burst(uint64_t bits, uint64_t burst_bytes)
{
    struct policy_tenant capped = core_tenant(TENANT_CAPPED);
    struct policy *policy;
    int err;

    capped.bits = core_rate(bits, 1, burst_bytes);
    policy = gate_policy_with(policy_epoch(dataplane_policy(gate.dp)) + 1, &capped);
    err = dataplane_publish(gate.dp, policy);
    if (err)
        policy_free(policy);
    return err;
}

static int publish(uint64_t bits)
{
    return publish_burst(bits, BURST);
}

/* The pool becomes as full as it may, and then nothing is earned any more. */
static void fill_pool(void)
{
    assert_int_equal(publish(FAST), 0);
    stall_wait_for(stall_others_adopted);
    pause_ns(20 * CORE_MS);
    assert_int_equal(publish(SLOW), 0);
    stall_wait_for(stall_others_adopted);
}

static int64_t leased(void)
{
    return __atomic_load_n(&gate.dp->shared->tenants[TENANT_CAPPED].bits.outstanding,
                           __ATOMIC_ACQUIRE);
}

/* -- traffic of the tenant -- */

static void open_flows(uint32_t n, uint32_t owner, unsigned queue)
{
    while (n-- > 0) {
        uint32_t flow;

        do
            flow = traffic_flow_of(owner);
        while (!traffic_is_capped(flow));
        assert_true(traffic_open_flow(flow, queue));
    }
}

static struct admission_tenant_counters tenant(void)
{
    struct admission_tenant_counters counters;

    dataplane_tenant_counters(gate.dp, TENANT_CAPPED, &counters);
    return counters;
}

/* How many a worker admits that is asked for more than there can be. */
static uint64_t admitted_of(uint32_t asked)
{
    struct admission_tenant_counters before = tenant(), after;

    open_flows(asked, BUSY, BUSY);
    stall_wait_for(others_are_still);
    after = tenant();
    assert_int_equal(after.attempts - before.attempts, asked);
    assert_int_equal(after.refused[REASON_BITS] - before.refused[REASON_BITS],
                     asked - (after.admitted - before.admitted));
    return after.admitted - before.admitted;
}

/* -- in order -- */

static bool nothing_is_leased(void)
{
    return leased() == 0;
}

/* A new burst every 10 ms, always above what is there, while all four spend it: each change returns
 * every lot. When all is spent, it is what there was, and every attempt is counted. */
static void policies_that_change_refill_and_lose_nothing(void **state)
{
    uint64_t next_ns = 0, first_epoch;

    (void)state;
    assert_int_equal(dataplane_start(gate.dp), 0);
    fill_pool();
    first_epoch = policy_epoch(dataplane_policy(gate.dp));
    for (uint32_t sent = 0; sent < SPRINKLED; sent += SPRINKLE) {
        if (dataplane_now_ns(gate.dp) >= next_ns) {
            next_ns = dataplane_now_ns(gate.dp) + 10 * CORE_MS;
            dataplane_tend(gate.dp);
            publish_burst(SLOW, (2 + sent % 3) * BURST); /* or not, if a worker did not run */
        }
        open_flows(SPRINKLE, sent / SPRINKLE % WORKERS, sent / SPRINKLE % 3);
        pause_ns(CORE_MS);
        traffic_discard();
    }
    stall_wait_for(stall_all_is_still);
    stall_wait_for(nothing_is_leased);
    assert_int_equal(tenant().admitted, SPRINKLED);
    assert_true(policy_epoch(dataplane_policy(gate.dp)) > first_epoch + 20);
    assert_int_equal(admitted_of(FULL - SPRINKLED + TOO_MANY), FULL - SPRINKLED);
}

static void a_worker_stops_with_a_lease(void **state)
{
    (void)state;
    stall_wait_for(no_slot_is_held);
    fill_pool();
    stall_begin(has_lease);
    open_flows(1, HELD_UP, HELD_UP);
    stall_wait_for(stall_is_on);
    assert_int_equal(lease_of(HELD_UP)->left, LOT - SYN_BYTES);
    assert_int_equal(leased(), LOT);
}

/* Silent for a moment: nobody may have what it holds, to the byte. */
static void others_have_all_but_its_lease(void **state)
{
    (void)state;
    pause_ns(100 * CORE_MS);
    dataplane_tend(gate.dp);
    if (stall_is_dead())
        fail_msg("this machine held up the test for most of a second");
    fill_pool();
    assert_int_equal(admitted_of(FULL_LESS + TOO_MANY), FULL_LESS);
}

static void when_it_is_dead_others_have_all(void **state)
{
    (void)state;
    stall_wait_for(stall_is_dead);
    dataplane_tend(gate.dp);
    /* The others' have aged: the window is no limit. */
    stall_wait_for(only_the_stopped_holds_a_slot);
    fill_pool();
    assert_int_equal(admitted_of(FULL + TOO_MANY), FULL);
}

static uint64_t handed_before;

static bool handing_has_all(void)
{
    struct worker_counters c = gate_counters_of(HANDING);

    return c.handed_out + c.handoff_failed >= handed_before + RING_ROOM + TOO_MANY;
}

static void case_G02_what_is_handed_to_it_fills_its_ring(void **state)
{
    struct worker_counters before = gate_counters_of(HANDING), c;

    (void)state;
    assert_int_equal(before.handoff_failed, 0);
    handed_before = before.handed_out;
    open_flows(RING_ROOM + TOO_MANY, HELD_UP, HANDING);
    open_flows(IN_QUEUE, HELD_UP, HELD_UP); /* these its device keeps */
    stall_wait_for(handing_has_all);
    c = gate_counters_of(HANDING);
    assert_int_equal(c.handed_out - before.handed_out, RING_ROOM);
    assert_int_equal(c.handoff_failed, TOO_MANY);
    waiting = RING_ROOM + IN_QUEUE;
    stall_wait_for(others_are_still);
    /* That is no overload of the others, who would refuse as `gateway`. */
    for (unsigned i = 0; i < 20; i++) {
        pause_ns(20 * CORE_MS);
        dataplane_tend(gate.dp);
    }
    assert_int_equal(admitted_of(TOO_MANY), 0);
}

/* It may use any policy since it stopped: four have been replaced, four more may be. The one that
 * is turned away moves nothing. */
static void policies_wait_for_it(void **state)
{
    uint64_t epoch;

    (void)state;
    for (unsigned i = 4; i < DATAPLANE_RETIRED_MAX; i++)
        assert_int_equal(publish(SLOW), 0);
    epoch = policy_epoch(dataplane_policy(gate.dp));
    for (unsigned i = 0; i < 3; i++) {
        dataplane_tend(gate.dp);
        assert_int_equal(publish(FAST), -EBUSY);
        assert_int_equal(dataplane_retired_count(gate.dp), DATAPLANE_RETIRED_MAX);
    }
    pause_ns(20 * CORE_MS);
    assert_int_equal(policy_epoch(dataplane_policy(gate.dp)), epoch);
    stall_wait_for(stall_others_adopted);
    assert_int_equal(admitted_of(TOO_MANY), 0);
}

/* All that has waited for it is refused: the pool is empty, and its lease void. */
static void back_again_it_spends_nothing(void **state)
{
    struct admission_tenant_counters before = tenant(), after;
    uint64_t handed_in = gate_counters_of(HELD_UP).handed_in;

    (void)state;
    stall_end();
    waiting = 0;
    stall_wait_for(stall_all_is_still);
    after = tenant();
    assert_int_equal(after.admitted, before.admitted);
    assert_int_equal(after.admitted, FULL + 1 + FULL_LESS + FULL);
    assert_int_equal(after.refused[REASON_BITS] - before.refused[REASON_BITS],
                     RING_ROOM + IN_QUEUE);
    assert_int_equal(gate_counters_of(HELD_UP).handed_in - handed_in, RING_ROOM);
    assert_int_equal(leased(), 0);
    stall_wait_for(no_slot_is_held);
    /* Its policies can be freed. The rate of those that were turned away has earned nothing. */
    dataplane_tend(gate.dp);
    assert_int_equal(dataplane_retired_count(gate.dp), 0);
    assert_int_equal(publish(SLOW), 0);
    stall_wait_for(stall_others_adopted);
    assert_int_equal(admitted_of(TOO_MANY), 0);
    /* And again it is one among others. */
    fill_pool();
    open_flows(FULL + TOO_MANY, HELD_UP, HELD_UP);
    stall_wait_for(stall_all_is_still);
    assert_int_equal(tenant().admitted - after.admitted, FULL);
}

/* The end does not wait for it for ever, and still can come when it goes on. */
static void a_stopped_worker_is_not_waited_for_endlessly(void **state)
{
    char why[128] = "", expected[128];

    (void)state;
    stall_begin(NULL);
    stall_wait_for(stall_is_on);
    open_flows(IN_QUEUE, HELD_UP, HANDING);
    assert_int_equal(dataplane_stop(gate.dp, why, sizeof(why)), -ETIMEDOUT);
    snprintf(expected, sizeof(expected),
             "worker %u (CPU %u) does not stop: no sign of life for 5 s", HELD_UP,
             gate.settings.eal.worker_cpus[HELD_UP]);
    assert_string_equal(why, expected);
    stall_end();
    assert_int_equal(dataplane_stop(gate.dp, why, sizeof(why)), 0);
    assert_int_equal(dataplane_stop(gate.dp, why, sizeof(why)), 0);
    while (traffic_discard() > 0)
        ;
    assert_true(stall_all_is_still());
    assert_int_equal(gate_counters().handed_in, gate_counters().handed_out);
    assert_int_equal(rte_mempool_in_use_count(gate.dp->pool), 0);
    traffic_close();
    dataplane_destroy(gate.dp);
}

static int open_all(void **state)
{
    traffic_set_up(state);
    stall_prepare(HELD_UP);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_that_change_refill_and_lose_nothing),
        cmocka_unit_test(a_worker_stops_with_a_lease),
        cmocka_unit_test(others_have_all_but_its_lease),
        cmocka_unit_test(when_it_is_dead_others_have_all),
        cmocka_unit_test(case_G02_what_is_handed_to_it_fills_its_ring),
        cmocka_unit_test(policies_wait_for_it),
        cmocka_unit_test(back_again_it_spends_nothing),
        cmocka_unit_test(a_stopped_worker_is_not_waited_for_endlessly),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
