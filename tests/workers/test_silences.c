/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges that end in silence, when there are more of them than the ring has room for. The worker
 * does not run; the test takes it through its bursts, and time passes as the test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "dataplane/flow/silence.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker/journey.h"
#include "dataplane/worker/silences.h"
#include "tests/unit/core.h"
#include "tests/workers/gate.h"
#include "tests/workers/traffic.h"

#define IN         DIRECTION_IN
#define OUT        DIRECTION_OUT
#define SILENCE_MS 500u

static uint64_t ahead_ns; /* of the clock */

static struct worker *awake(void)
{
    struct worker *w = gate_awake(0);

    w->burst.now_ns += ahead_ns;
    w->burst.moment = flow_moment(flow_table_tick(w->flows, w->burst.now_ns), w->burst.now_ns);
    return w;
}

static void say(uint32_t flow, enum direction direction, uint8_t tcp_flags, bool data)
{
    struct worker *w = awake();

    assert_true(data ? traffic_send_data(flow, direction, tcp_flags, 0)
                     : traffic_send(flow, direction, tcp_flags, 0));
    for (uint32_t i = 0; i < w->n_lanes; i++)
        journey_run(&w->burst, w->lanes[i]);
    while (traffic_discard() > 0)
        ;
}

/* An exchange whose reply has begun. */
static void exchange(void)
{
    uint32_t flow = traffic_flow_of(0);

    say(flow, IN, TCP_SYN, false);
    say(flow, OUT, TCP_SYN | TCP_ACK, false);
    say(flow, IN, TCP_ACK, false);
    say(flow, IN, TCP_ACK, true);
    say(flow, OUT, TCP_ACK, true);
}

static uint32_t slots(void)
{
    return window_used(&gate.dp->shared->services[0].window);
}

static void pass_time(uint64_t ms)
{
    ahead_ns += ms * CORE_MS;
}

/* The ring has room for one of two: the sweep finds the other. */
static void the_sweep_finds_what_the_ring_had_no_room_for(void **state)
{
    struct worker *w = awake();
    struct silence *whole = w->silence;

    (void)state;
    w->silence = silence_init(core_memory(silence_bytes(1)), 1);
    exchange();
    exchange();
    assert_int_equal(slots(), 2);
    pass_time(SILENCE_MS);
    silences_tend(awake());
    assert_int_equal(slots(), 1);
    pass_time(FLOW_SWEEP_MS);
    while (!flow_table_sweep(awake()->flows, journey_expire, w))
        pass_time(1);
    silences_tend(w);
    assert_int_equal(slots(), 0);
    assert_int_equal(admission_service_counters(w->admission, 0)->outcomes[OUTCOME_FINISHED], 2);
    assert_int_equal(flow_table_used(w->flows), 2); /* the connections go on */
    free(w->silence);
    w->silence = whole;
}

static int open_all(void **state)
{
    const struct gate_plan plan = {
        .policy = gate_policy_of_exchanges(), .n_tenants = 1, .n_services = 1};

    (void)state;
    gate_open_as(&plan);
    traffic_open();
    gate.settings.timeouts.tcp_idle_ms = 60000;
    gate.dp->workers[0]->facts[0] =
        (struct service_facts){.unit = UNIT_EXCHANGE, .silence_ms = SILENCE_MS};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sweep_finds_what_the_ring_had_no_room_for),
    };

    return cmocka_run_group_tests(tests, open_all, traffic_tear_down);
}
