/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"
#include "dataplane/flow/silence.h"
#include "tests/property/random.h"
#include "tests/unit/flows.h"

static struct silence *start(uint32_t max, uint32_t now_ms)
{
    struct silence *silence = silence_init(core_memory(silence_bytes(max)), max);

    assert_int_equal(silence_pop_due(silence, now_ms), 0);
    return silence;
}

static void flows_come_when_they_are_due(void **state)
{
    /* The age clock may wrap: 49 days of uptime. */
    static const uint32_t starts_ms[] = {0, 123456, UINT32_MAX - 30};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t now_ms = starts_ms[i];
        struct silence *silence = start(4, now_ms);

        assert_true(silence_push(silence, 1, now_ms + 50));
        assert_true(silence_push(silence, 2, now_ms + 20)); /* of a service that is sooner silent */
        assert_true(silence_push(silence, 3, now_ms - 7));  /* has passed */
        assert_int_equal(silence_pop_due(silence, now_ms), 3);
        assert_int_equal(silence_pop_due(silence, now_ms), 0);
        assert_true(silence_push(silence, 4, now_ms));
        assert_int_equal(silence_pop_due(silence, now_ms), 4);
        assert_int_equal(silence_pop_due(silence, now_ms + 19), 0);
        assert_int_equal(silence_pop_due(silence, now_ms + 20), 2);
        assert_int_equal(silence_pop_due(silence, now_ms + 49), 0);
        assert_int_equal(silence_pop_due(silence, now_ms + 100000), 1);
        assert_int_equal(silence_pop_due(silence, now_ms + 100000), 0);
        assert_true(silence_push(silence, 5, now_ms + 100001));
        assert_int_equal(silence_pop_due(silence, now_ms + 100000), 0);
        assert_int_equal(silence_pop_due(silence, now_ms + 100001), 5);
        free(silence);
    }
}

static void long_silences_come_early(void **state)
{
    struct silence *silence = start(4, 1000);

    (void)state;
    assert_true(silence_push(silence, 1, 1000 + 60000));
    assert_true(silence_push(silence, 2, 1000 + SILENCE_SPAN_MS - 1));
    assert_true(silence_push(silence, 3, 1000 + SILENCE_SPAN_MS));
    assert_int_equal(silence_pop_due(silence, 1000 + SILENCE_SPAN_MS - 2), 0);
    for (unsigned n = 0; n < 3; n++)
        assert_int_not_equal(silence_pop_due(silence, 1000 + SILENCE_SPAN_MS - 1), 0);
    assert_int_equal(silence_pop_due(silence, 1000 + SILENCE_SPAN_MS - 1), 0);
    free(silence);
}

static void a_full_ring_says_so(void **state)
{
    struct silence *silence = start(3, 0);

    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        for (uint32_t flow = 1; flow <= 3; flow++)
            assert_true(silence_push(silence, flow, round * 10 + flow));
        assert_false(silence_push(silence, 4, round * 10));
        for (uint32_t flow = 1; flow <= 3; flow++)
            assert_int_equal(silence_pop_due(silence, round * 10 + 5), flow);
        assert_int_equal(silence_pop_due(silence, round * 10 + 5), 0);
    }
    free(silence);
}

/* Against the plainest list of dues; bursts and pauses of time, flows that come and go. */
#define FLOWS 200

static void it_is_a_list_of_dues(void **state)
{
    uint32_t dues[FLOWS + 1] = {0}, now_ms = UINT32_MAX - 5000;
    struct silence *silence = start(FLOWS, now_ms);
    bool in[FLOWS + 1] = {false};
    uint64_t seed = 7;

    (void)state;
    for (unsigned step = 0; step < 100000; step++) {
        uint32_t flow = 1 + (uint32_t)random_below(&seed, FLOWS);

        if (!in[flow]) {
            dues[flow] = now_ms + (uint32_t)random_below(&seed, SILENCE_SPAN_MS);
            in[flow] = silence_push(silence, flow, dues[flow]);
            assert_true(in[flow]);
        }
        if (random_below(&seed, 4) > 0)
            continue;
        now_ms += (uint32_t)random_below(&seed, random_below(&seed, 50) ? 20 : 3000);
        for (uint32_t last = 0; (flow = silence_pop_due(silence, now_ms)) != 0; last = flow) {
            assert_true(in[flow]);
            assert_true((int32_t)(now_ms - dues[flow]) >= 0);
            assert_true(last == 0 || (int32_t)(dues[flow] - dues[last]) >= 0);
            in[flow] = false;
        }
        for (flow = 1; flow <= FLOWS; flow++)
            assert_true(!in[flow] || (int32_t)(dues[flow] - now_ms) > 0);
    }
    free(silence);
}

/* As a worker uses it: many short exchanges on a flow, and it stands in the ring once. */
static void a_flow_is_in_the_ring_once(void **state)
{
    const struct packet request = {.kind = PACKET_TCP, .payload_bytes = 1};
    struct flow_table *table = flows_start(16);
    struct silence *silence = start(1, 0);
    struct flow *flow = flows_insert(table, 3);
    struct packet reply = request;
    uint32_t looked = 0, ended_ms = 0;

    (void)state;
    flow_start_established(flow, &request, UNIT_EXCHANGE, flow_moment(0, 0));
    flow_end_exchange(flow);
    for (uint32_t now_ms = 0; now_ms < 400; now_ms++) {
        struct packet next = request;

        next.tcp_seq = now_ms;
        reply.tcp_ack = now_ms + 1;
        if (now_ms < 200) {
            flow_advance(flow, &next, DIRECTION_IN, flow_moment(now_ms, 0));
            flow_advance(flow, &reply, DIRECTION_OUT, flow_moment(now_ms, 0));
            if (!(flow->marks & FLOW_IS_TIMED))
                assert_true(silence_push(silence, flow_index(table, flow), now_ms + 50));
            flow->marks |= FLOW_IS_TIMED;
        }
        for (uint32_t due; (due = silence_pop_due(silence, now_ms)) != 0; looked++) {
            assert_ptr_equal(flow_at(table, due), flow);
            if (!flow_silent(flow, 50, now_ms)) {
                assert_true(silence_push(silence, due, flow->heard_ms + 50));
                continue;
            }
            flow->marks &= (uint8_t)~FLOW_IS_TIMED;
            flow_end_exchange(flow);
            ended_ms = now_ms;
        }
    }
    assert_int_equal(looked, 5);
    assert_int_equal(ended_ms, 199 + 50);
    free(silence);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_come_when_they_are_due), cmocka_unit_test(long_silences_come_early),
        cmocka_unit_test(a_full_ring_says_so),          cmocka_unit_test(it_is_a_list_of_dues),
        cmocka_unit_test(a_flow_is_in_the_ring_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
