/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of the journey by step: which bursts are timed, what they add up to, and that it ends.
 * First step by step, then on workers as they run in the daemon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

#include "dataplane/packet/parse.h"
#include "dataplane/worker/journey.h"
#include "dataplane/worker/outlet.h"
#include "dataplane/worker/stopwatch.h"
#include "tests/workers/gate.h"
#include "tests/workers/traffic.h"

#define EVERY       DATAPLANE_STEPS_EVERY
#define SAMPLE_NS   50000000ull
#define PATIENCE_NS 20000000000ull
#define ROUND_FLOWS 2000u /* some 40 full bursts a worker at least */

static uint64_t cycles_of(const struct worker_steps *steps)
{
    uint64_t sum = 0;

    for (unsigned s = 0; s < STEP_MAX; s++)
        sum += steps->cycles[s];
    return sum;
}

/* -- step by step -- */

/* The first queue of the outside device, which worker 0 polls. */
static struct lane *first_lane(void)
{
    struct lane *lane = gate.dp->workers[0]->lanes[0];

    assert_int_equal(lane->own_port, 0);
    assert_int_equal(lane->queue, 0);
    return lane;
}

static void send_packets(uint32_t owner, unsigned n)
{
    while (n > 0) {
        uint32_t flow = traffic_flow_of(owner);

        if (traffic_is_capped(flow))
            continue;
        assert_true(traffic_open_flow(flow, 0));
        n--;
    }
}

/* A poll that brings nothing, and one that brings `n` packets of that owner. */
static void one_burst(uint32_t owner, unsigned n)
{
    struct burst *b = &gate_awake(0)->burst;

    assert_int_equal(journey_run(b, first_lane()), 0);
    send_packets(owner, n);
    assert_int_equal(journey_run(b, first_lane()), n);
    traffic_discard();
}

static void nothing_is_timed_unless_asked_for(void **state)
{
    const struct worker_steps none = {0};
    struct worker_steps steps;

    (void)state;
    for (unsigned i = 0; i < 2 * EVERY; i++)
        one_burst(0, 1);
    assert_memory_equal(&gate.dp->workers[0]->steps, &none, sizeof(none));
    assert_int_equal(gate_awake(0)->burst.lap_cycles, 0); /* no clock was read */
    assert_false(dataplane_worker_steps(gate.dp, 0, &steps));
}

/* Of bursts of 1, 2, 3 ... packets. Between laps no cycle is lost or counted twice. */
static void one_burst_in_nineteen_is_timed_from_end_to_end(void **state)
{
    const struct worker_steps *steps = &gate.dp->workers[0]->steps;
    uint64_t start_cycles, sum = 0;

    (void)state;
    stopwatch_ask(&gate_awake(0)->burst, true);
    for (unsigned i = 1; i <= EVERY + 1; i++) {
        start_cycles = rte_rdtsc();
        one_burst(0, i);
        assert_int_equal(steps->bursts, i >= EVERY);
        if (i == EVERY) {
            sum = cycles_of(steps);
            assert_true(sum > 0 && sum <= rte_rdtsc() - start_cycles);
            for (unsigned s = 0; s < STEP_MAX; s++)
                assert_true(steps->cycles[s] > 0);
        }
    }
    assert_int_equal(cycles_of(steps), sum);
    assert_int_equal(steps->packets, EVERY);
    for (unsigned i = EVERY + 2; i <= 2 * EVERY; i++) {
        one_burst(0, 2);
        assert_int_equal(steps->bursts, i < 2 * EVERY ? 1 : 2);
    }
    assert_int_equal(steps->packets, EVERY + 2);
    stopwatch_ask(&gate_awake(0)->burst, false);
}

/* Worker 0 finds them, worker 1 judges them. */
static void bursts_that_were_handed_over_are_timed_too(void **state)
{
    const struct worker_steps *steps = &gate.dp->workers[1]->steps;
    uint64_t start_cycles = rte_rdtsc();

    (void)state;
    stopwatch_ask(&gate_awake(1)->burst, true);
    for (unsigned i = 0; i < EVERY; i++) {
        assert_int_equal(journey_run_handed(&gate_awake(1)->burst), 0);
        one_burst(1, 3);
        assert_int_equal(journey_run_handed(&gate_awake(1)->burst), 3);
        traffic_discard();
    }
    assert_int_equal(steps->bursts, 1);
    assert_int_equal(steps->packets, 3);
    assert_true(cycles_of(steps) <= rte_rdtsc() - start_cycles);
    for (unsigned s = 0; s < STEP_MAX; s++)
        assert_int_equal(steps->cycles[s] > 0, s != STEP_HAND_OVER);
    stopwatch_ask(&gate_awake(1)->burst, false);
    for (unsigned i = 0; i < 2 * EVERY; i++) {
        one_burst(1, 1);
        assert_int_equal(journey_run_handed(&gate_awake(1)->burst), 1);
        traffic_discard();
    }
    assert_int_equal(steps->bursts, 1);
    assert_int_equal(traffic_under_way(), 0);
}

/* -- while they run -- */

static uint64_t now_ns(void)
{
    return dataplane_now_ns(gate.dp);
}

static void open_flows(unsigned n)
{
    uint64_t start_ns = now_ns();

    for (unsigned i = 0; i < n; i++)
        assert_true(traffic_open_flow(traffic_flow_of(WORKERS), i % 4));
    while (traffic_under_way() > 0) {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        if (traffic_answer() == 0)
            sched_yield();
    }
}

static void take_steps(struct worker_steps steps[WORKERS])
{
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_true(dataplane_worker_steps(gate.dp, w, &steps[w]));
}

/* Until each worker has begun a loop after that time. */
static void wait_for_loops_after(uint64_t time_ns)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        while (__atomic_load_n(&gate.dp->workers[w]->now_ns, __ATOMIC_ACQUIRE) <= time_ns) {
            assert_true(now_ns() < time_ns + PATIENCE_NS);
            sched_yield();
        }
}

static bool all_sampled(const struct worker_steps steps[WORKERS])
{
    for (uint32_t w = 0; w < WORKERS; w++)
        if (steps[w].bursts == 0)
            return false;
    return true;
}

static void each_worker_samples_and_stops_by_itself(void **state)
{
    struct worker_steps steps[WORKERS], later[WORKERS];
    uint64_t start_ns = now_ns(), asked_ns;

    (void)state;
    do {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        dataplane_sample_steps(gate.dp, PATIENCE_NS);
        open_flows(ROUND_FLOWS);
        take_steps(steps);
    } while (!all_sampled(steps));
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_true(steps[w].packets >= steps[w].bursts);
        assert_true(steps[w].packets <= steps[w].bursts * BURST_MAX);
    }

    /* Asked for less meanwhile, it goes on. */
    dataplane_sample_steps(gate.dp, 1);
    wait_for_loops_after(now_ns() + 1000000);
    open_flows(ROUND_FLOWS);
    take_steps(later);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_true(later[w].bursts > steps[w].bursts);

    /* As if those seconds were over: it ends by itself. */
    __atomic_store_n(&gate.dp->sample_until_cycles, 0, __ATOMIC_RELAXED);
    dataplane_sample_steps(gate.dp, SAMPLE_NS);
    asked_ns = now_ns();
    open_flows(ROUND_FLOWS);
    wait_for_loops_after(asked_ns + SAMPLE_NS + 1000000);
    take_steps(steps);
    open_flows(ROUND_FLOWS);
    take_steps(later);
    assert_memory_equal(steps, later, sizeof(steps));
}

static void a_new_sampling_starts_from_nothing(void **state)
{
    const struct worker_steps none = {0};
    struct worker_steps steps[WORKERS];

    (void)state;
    dataplane_sample_steps(gate.dp, 1);
    take_steps(steps);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_memory_equal(&steps[w], &none, sizeof(none));
}

static int start_workers(void **state)
{
    (void)state;
    return dataplane_start(gate.dp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_timed_unless_asked_for),
        cmocka_unit_test(one_burst_in_nineteen_is_timed_from_end_to_end),
        cmocka_unit_test(bursts_that_were_handed_over_are_timed_too),
        cmocka_unit_test_setup(each_worker_samples_and_stops_by_itself, start_workers),
        cmocka_unit_test(a_new_sampling_starts_from_nothing),
    };

    return cmocka_run_group_tests(tests, traffic_set_up, traffic_tear_down);
}
