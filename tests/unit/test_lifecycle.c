/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"

#define TCP_PSH 0x08
#define TCP_ECE 0x40
#define TCP_CWR 0x80

#define IN  DIRECTION_IN
#define OUT DIRECTION_OUT

#define FIN_OUTSIDE FLOW_HAS_FIN_OUTSIDE
#define FIN_INSIDE  FLOW_HAS_FIN_INSIDE

#define THEN_MS 1000 /* when the flow was last heard */
#define NOW_MS  1500

static struct packet tcp(uint8_t flags)
{
    return (struct packet){.kind = PACKET_TCP, .protocol = PROTOCOL_TCP, .tcp_flags = flags};
}

static const struct packet udp = {.kind = PACKET_UDP, .protocol = PROTOCOL_UDP};

static const struct flow_timeouts timeouts = {
    .embryonic_ms = 3000,
    .tcp_idle_ms = 60000,
    .udp_idle_ms = 30000,
    .fin_ms = 2000,
    .linger_ms = 1000,
    .owed_max_ms = 300000,
};

/* -- every state against every packet -- */

enum expected { GOES_ON, REPEATS, FINISHED, RESET, ABORTED };

struct step {
    uint8_t state, fins; /* before */
    enum direction direction;
    uint8_t tcp_flags;
    uint8_t state_after, fins_after;
    enum expected expected;
    bool heard; /* is it a sign of life? */
};

#define BOTH (FIN_OUTSIDE | FIN_INSIDE)

static const struct step steps[] = {
    /* The client's SYN was passed. */
    {FLOW_OPENING, 0, IN, TCP_SYN, FLOW_OPENING, 0, REPEATS, true},
    {FLOW_OPENING, 0, IN, TCP_ACK, FLOW_OPENING, 0, GOES_ON, false},
    {FLOW_OPENING, 0, IN, TCP_RST, FLOW_LINGERING, 0, GOES_ON, true},
    {FLOW_OPENING, 0, IN, TCP_FIN | TCP_ACK, FLOW_OPENING, 0, GOES_ON, false},
    {FLOW_OPENING, 0, IN, TCP_SYN | TCP_FIN, FLOW_OPENING, 0, REPEATS, true},
    {FLOW_OPENING, 0, OUT, TCP_SYN | TCP_ACK, FLOW_ANSWERED, 0, GOES_ON, true},
    {FLOW_OPENING, 0, OUT, TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, true},
    {FLOW_OPENING, 0, OUT, TCP_RST | TCP_ACK, FLOW_CLOSED, 0, RESET, true},
    {FLOW_OPENING, 0, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_INSIDE, GOES_ON, true},
    /* The service's SYN-ACK was passed: only the client can prove that it exists. */
    {FLOW_ANSWERED, 0, IN, TCP_SYN, FLOW_ANSWERED, 0, REPEATS, false},
    {FLOW_ANSWERED, 0, IN, TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, true},
    {FLOW_ANSWERED, 0, IN, TCP_PSH | TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, true},
    {FLOW_ANSWERED, 0, IN, TCP_RST, FLOW_LINGERING, 0, GOES_ON, true},
    {FLOW_ANSWERED, 0, IN, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_ANSWERED, 0, OUT, TCP_SYN | TCP_ACK, FLOW_ANSWERED, 0, GOES_ON, false},
    {FLOW_ANSWERED, 0, OUT, TCP_ACK, FLOW_ANSWERED, 0, GOES_ON, false},
    {FLOW_ANSWERED, 0, OUT, TCP_RST, FLOW_CLOSED, 0, RESET, true},
    {FLOW_ANSWERED, 0, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_INSIDE, GOES_ON, true},
    /* Open. */
    {FLOW_ESTABLISHED, 0, IN, TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, true},
    {FLOW_ESTABLISHED, 0, IN, TCP_SYN, FLOW_ESTABLISHED, 0, REPEATS, false},
    {FLOW_ESTABLISHED, 0, IN, TCP_RST | TCP_ACK, FLOW_LINGERING, 0, GOES_ON, true},
    {FLOW_ESTABLISHED, 0, IN, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_ESTABLISHED, 0, OUT, TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, true},
    {FLOW_ESTABLISHED, 0, OUT, TCP_SYN | TCP_ACK, FLOW_ESTABLISHED, 0, GOES_ON, false},
    {FLOW_ESTABLISHED, 0, OUT, TCP_RST, FLOW_CLOSED, 0, RESET, true},
    {FLOW_ESTABLISHED, 0, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_INSIDE, GOES_ON, true},
    /* The client closed its side: the reply is still owed. */
    {FLOW_CLOSING, FIN_OUTSIDE, IN, TCP_ACK, FLOW_CLOSING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_OUTSIDE, IN, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_OUTSIDE, IN, TCP_SYN, FLOW_CLOSING, FIN_OUTSIDE, REPEATS, false},
    {FLOW_CLOSING, FIN_OUTSIDE, IN, TCP_RST, FLOW_LINGERING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_OUTSIDE, OUT, TCP_ACK, FLOW_CLOSING, FIN_OUTSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_OUTSIDE, OUT, TCP_RST, FLOW_CLOSED, FIN_OUTSIDE, RESET, true},
    {FLOW_CLOSING, FIN_OUTSIDE, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSED, BOTH, FINISHED, true},
    /* The service closed its side. */
    {FLOW_CLOSING, FIN_INSIDE, IN, TCP_ACK, FLOW_CLOSING, FIN_INSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_INSIDE, IN, TCP_FIN | TCP_ACK, FLOW_CLOSED, BOTH, FINISHED, true},
    {FLOW_CLOSING, FIN_INSIDE, IN, TCP_RST, FLOW_LINGERING, FIN_INSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_INSIDE, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSING, FIN_INSIDE, GOES_ON, true},
    {FLOW_CLOSING, FIN_INSIDE, OUT, TCP_RST, FLOW_CLOSED, FIN_INSIDE, RESET, true},
    /* The client reset it: nothing it sends counts any more, the service decides. */
    {FLOW_LINGERING, 0, IN, TCP_ACK, FLOW_LINGERING, 0, GOES_ON, false},
    {FLOW_LINGERING, 0, IN, TCP_RST, FLOW_LINGERING, 0, GOES_ON, false},
    {FLOW_LINGERING, 0, IN, TCP_FIN, FLOW_LINGERING, 0, GOES_ON, false},
    {FLOW_LINGERING, 0, OUT, TCP_ACK, FLOW_LINGERING, 0, GOES_ON, false},
    {FLOW_LINGERING, 0, OUT, TCP_SYN | TCP_ACK, FLOW_LINGERING, 0, GOES_ON, false},
    {FLOW_LINGERING, 0, OUT, TCP_RST, FLOW_CLOSED, 0, RESET, true},
    {FLOW_LINGERING, 0, OUT, TCP_FIN | TCP_ACK, FLOW_CLOSED, FIN_INSIDE, ABORTED, true},
    {FLOW_LINGERING, FIN_OUTSIDE, OUT, TCP_FIN, FLOW_CLOSED, BOTH, ABORTED, true},
    /* Closed: stragglers pass and change nothing. */
    {FLOW_CLOSED, BOTH, IN, TCP_ACK, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, BOTH, IN, TCP_FIN, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, BOTH, IN, TCP_RST, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, BOTH, OUT, TCP_ACK, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, BOTH, OUT, TCP_FIN, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, BOTH, OUT, TCP_RST, FLOW_CLOSED, BOTH, GOES_ON, false},
    {FLOW_CLOSED, 0, OUT, TCP_SYN | TCP_ACK, FLOW_CLOSED, 0, GOES_ON, false},
};

static bool change_is(struct flow_change change, enum expected expected)
{
    static const struct flow_change changes[] = {
        [GOES_ON] = {.effect = FLOW_EFFECT_NONE, .outcome = OUTCOME_FINISHED},
        [REPEATS] = {.effect = FLOW_EFFECT_REPEAT, .outcome = OUTCOME_FINISHED},
        [FINISHED] = {.effect = FLOW_EFFECT_ENDED, .outcome = OUTCOME_FINISHED},
        [RESET] = {.effect = FLOW_EFFECT_ENDED, .outcome = OUTCOME_RESET},
        [ABORTED] = {.effect = FLOW_EFFECT_ENDED, .outcome = OUTCOME_ABORTED},
    };

    return change.effect == changes[expected].effect &&
           (change.effect != FLOW_EFFECT_ENDED || change.outcome == changes[expected].outcome);
}

/* The ECN bits and PSH change no verdict (RFC 3168: a SYN may carry ECE and CWR). */
static void every_state_against_every_packet(void **state)
{
    static const uint8_t extra[] = {0, TCP_PSH, TCP_ECE | TCP_CWR};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        for (size_t e = 0; e < sizeof(extra); e++) {
            const struct step *s = &steps[i];
            struct packet p = tcp(s->tcp_flags | extra[e]);
            struct flow flow = {.key = {.tags = 6u << 24},
                                .state = s->state,
                                .flags = FLOW_HAS_SLOT | s->fins,
                                .heard_ms = THEN_MS};

            if (!change_is(flow_advance(&flow, &p, s->direction, flow_moment(NOW_MS, 0)),
                           s->expected) ||
                flow.state != s->state_after || flow.flags != (FLOW_HAS_SLOT | s->fins_after) ||
                flow.heard_ms != (s->heard ? NOW_MS : THEN_MS))
                fail_msg("step %zu, flags %02x: state %d, flags %02x, heard %u", i, p.tcp_flags,
                         flow.state, flow.flags, flow.heard_ms);
        }
}

static void what_asks_for_new_work(void **state)
{
    (void)state;
    for (unsigned s = FLOW_OPENING; s <= FLOW_CLOSED; s++)
        for (unsigned flags = 0; flags < 256; flags++) {
            struct flow flow = {.state = (uint8_t)s, .flags = FLOW_HAS_SLOT};
            struct packet p = tcp((uint8_t)flags);
            bool over = s == FLOW_CLOSED || s == FLOW_LINGERING || s == FLOW_SHUT;
            bool syn = (flags & TCP_SYN) && !(flags & TCP_ACK);

            assert_int_equal(flow_is_attempt(&flow, &p, IN), over && syn);
            assert_false(flow_is_attempt(&flow, &p, OUT));
        }
}

/* -- ageing -- */

static void case_timeouts(uint8_t state, uint8_t fins, uint8_t protocol, uint32_t allowed_ms,
                          enum outcome expected)
{
    /* The age clock may wrap: 49 days of uptime. */
    static const uint32_t starts_ms[] = {0, 123456, UINT32_MAX - 500};

    for (size_t i = 0; i < 3; i++) {
        struct flow flow = {.key = {.tags = (uint32_t)protocol << 24},
                            .state = state,
                            .flags = FLOW_HAS_SLOT | fins,
                            .heard_ms = starts_ms[i]};
        enum outcome outcome = OUTCOME_MAX;

        assert_false(flow_expired(&flow, &timeouts, starts_ms[i] + allowed_ms - 1, &outcome));
        assert_int_equal(outcome, OUTCOME_MAX);
        assert_true(flow_expired(&flow, &timeouts, starts_ms[i] + allowed_ms, &outcome));
        assert_int_equal(outcome, expected);
    }
}

static void silence_allowed_in_each_state(void **state)
{
    (void)state;
    case_timeouts(FLOW_OPENING, 0, 6, timeouts.embryonic_ms, OUTCOME_AGED);
    case_timeouts(FLOW_ANSWERED, 0, 6, timeouts.embryonic_ms, OUTCOME_AGED);
    case_timeouts(FLOW_ESTABLISHED, 0, 6, timeouts.tcp_idle_ms, OUTCOME_AGED);
    case_timeouts(FLOW_ESTABLISHED, 0, 17, timeouts.udp_idle_ms, OUTCOME_AGED);
    /* A client that closed its side still waits for the reply, which may take long. */
    case_timeouts(FLOW_CLOSING, FIN_OUTSIDE, 6, timeouts.tcp_idle_ms, OUTCOME_AGED);
    case_timeouts(FLOW_CLOSING, FIN_INSIDE, 6, timeouts.fin_ms, OUTCOME_AGED);
    case_timeouts(FLOW_LINGERING, 0, 6, timeouts.linger_ms, OUTCOME_ABORTED);
    case_timeouts(FLOW_CLOSED, BOTH, 6, timeouts.fin_ms, OUTCOME_AGED);
}

/* -- stories -- */

static struct flow opened(uint32_t now_ms)
{
    struct flow flow = {.key = {.tags = 6u << 24}};
    struct packet syn = tcp(TCP_SYN);

    flow_restart(&flow, &syn, UNIT_CONNECTION, flow_moment(now_ms, 0));
    flow.flags |= FLOW_HAS_SLOT;
    return flow;
}

static enum flow_effect advance(struct flow *flow, uint8_t flags, enum direction direction,
                                uint32_t now_ms)
{
    struct packet p = tcp(flags);
    struct flow_change change;

    assert_false(flow_is_attempt(flow, &p, direction));
    change = flow_advance(flow, &p, direction, flow_moment(now_ms, 0));
    if (change.effect == FLOW_EFFECT_ENDED) {
        assert_int_not_equal(flow->flags & FLOW_HAS_SLOT, 0); /* it ends once */
        flow->flags &= (uint8_t)~FLOW_HAS_SLOT;
    }
    return change.effect;
}

static void case_B01_same_syn_is_one_attempt(void **state)
{
    struct flow flow = opened(0);
    enum outcome outcome;

    (void)state;
    assert_int_equal(advance(&flow, TCP_SYN, IN, 1000), FLOW_EFFECT_REPEAT);
    assert_false(flow_expired(&flow, &timeouts, 2999, &outcome));
    assert_int_equal(advance(&flow, TCP_SYN, IN, 3000), FLOW_EFFECT_REPEAT);
    assert_int_equal(flow.flags, FLOW_HAS_SLOT | FLOW_UNHEARD);
    assert_false(flow_expired(&flow, &timeouts, 3999, &outcome));
    assert_int_equal(advance(&flow, TCP_SYN | TCP_ACK, OUT, 3001), FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_SYN, IN, 3002), FLOW_EFFECT_REPEAT);
    assert_int_equal(advance(&flow, TCP_ACK, IN, 3003), FLOW_EFFECT_NONE);
    assert_int_equal(flow.state, FLOW_ESTABLISHED);
    assert_int_equal(flow.flags, FLOW_HAS_SLOT | FLOW_UNHEARD);
    assert_false(flow_expired(&flow, &timeouts, 3003 + timeouts.tcp_idle_ms - 1, &outcome));
}

/* However often a client that is never answered repeats its SYN, its slot comes back. */
static void repeated_syns_keep_no_slot(void **state)
{
    struct flow flow = opened(0);
    enum outcome outcome;

    (void)state;
    for (uint32_t now_ms = 1000; now_ms < 4000; now_ms += 500) {
        assert_int_equal(advance(&flow, TCP_SYN, IN, now_ms), FLOW_EFFECT_REPEAT);
        assert_false(flow_expired(&flow, &timeouts, now_ms, &outcome));
    }
    assert_false(flow_expired(&flow, &timeouts, 3999, &outcome));
    assert_true(flow_expired(&flow, &timeouts, 4000, &outcome));
    assert_int_equal(outcome, OUTCOME_AGED);
}

/* Data and a FIN to which nobody can have been invited: the spoofer's own. */
static void nothing_of_the_client_opens_an_unanswered_flow(void **state)
{
    struct flow flow = opened(0);
    struct packet data = tcp(TCP_ACK);
    enum outcome outcome;

    (void)state;
    data.payload_bytes = 100;
    assert_int_equal(flow_advance(&flow, &data, IN, flow_moment(2000, 0)).effect, FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_FIN | TCP_ACK, IN, 2500), FLOW_EFFECT_NONE);
    assert_int_equal(flow.state, FLOW_OPENING);
    assert_int_equal(flow.flags, FLOW_HAS_SLOT | FLOW_UNHEARD);
    assert_true(flow_expired(&flow, &timeouts, 3000, &outcome));
}

/* A service that repeats its SYN-ACK to a client that does not exist keeps no slot alive. */
static void unanswered_syn_ack_ages(void **state)
{
    struct flow flow = opened(0);
    enum outcome outcome;

    (void)state;
    for (uint32_t now_ms = 10; now_ms < 3010; now_ms += 1000)
        advance(&flow, TCP_SYN | TCP_ACK, OUT, now_ms);
    assert_false(flow_expired(&flow, &timeouts, 3009, &outcome));
    assert_true(flow_expired(&flow, &timeouts, 3010, &outcome));
    assert_int_equal(outcome, OUTCOME_AGED);
}

static void case_B07_ecn_handshake(void **state)
{
    struct flow flow = opened(0);

    (void)state;
    assert_int_equal(advance(&flow, 0xc2, IN, 1), FLOW_EFFECT_REPEAT); /* SYN, ECE, CWR */
    assert_int_equal(advance(&flow, 0x52, OUT, 2), FLOW_EFFECT_NONE);  /* SYN, ACK, ECE */
    assert_int_equal(flow.state, FLOW_ANSWERED);
    assert_int_equal(advance(&flow, 0x10, IN, 3), FLOW_EFFECT_NONE);
    assert_int_equal(flow.state, FLOW_ESTABLISHED);
    advance(&flow, 0x11, IN, 4);
    assert_int_equal(advance(&flow, 0x51, OUT, 5), FLOW_EFFECT_ENDED); /* FIN, ACK, ECE */
    assert_true(
        flow_is_attempt(&flow, &(struct packet){.kind = PACKET_TCP, .tcp_flags = 0xc2}, IN));
}

static void case_B09_each_slot_is_freed_once(void **state)
{
    struct flow flow = opened(0);
    const struct packet syn = tcp(TCP_SYN);

    (void)state;
    assert_int_equal(advance(&flow, TCP_SYN | TCP_ACK, OUT, 0), FLOW_EFFECT_NONE);
    /* FIN twice from either side, RST behind them. */
    assert_int_equal(advance(&flow, TCP_FIN | TCP_ACK, IN, 1), FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_FIN | TCP_ACK, IN, 2), FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_FIN | TCP_ACK, OUT, 3), FLOW_EFFECT_ENDED);
    assert_int_equal(advance(&flow, TCP_FIN | TCP_ACK, OUT, 4), FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_RST, OUT, 5), FLOW_EFFECT_NONE);
    assert_int_equal(advance(&flow, TCP_RST, IN, 6), FLOW_EFFECT_NONE);
    assert_int_equal(flow.state, FLOW_CLOSED);

    /* A new life on the same entry owes nothing to the old one. */
    assert_true(flow_is_attempt(&flow, &syn, IN));
    flow_restart(&flow, &syn, UNIT_CONNECTION, flow_moment(7, 0));
    assert_int_equal(flow.flags, FLOW_UNHEARD);
    assert_int_equal(flow.state, FLOW_OPENING);
    assert_int_equal(flow.heard_ms, 7);
    flow.flags = FLOW_HAS_SLOT;
    assert_int_equal(advance(&flow, TCP_RST, OUT, 8), FLOW_EFFECT_ENDED);
    assert_int_equal(advance(&flow, TCP_RST, OUT, 9), FLOW_EFFECT_NONE);

    /* The client's RST alone frees nothing before the service confirms. */
    flow = opened(10);
    advance(&flow, TCP_SYN | TCP_ACK, OUT, 11);
    assert_int_equal(advance(&flow, TCP_RST, IN, 12), FLOW_EFFECT_NONE);
    assert_int_not_equal(flow.flags & FLOW_HAS_SLOT, 0);
    assert_int_equal(advance(&flow, TCP_FIN, OUT, 13), FLOW_EFFECT_ENDED);
    assert_int_equal(advance(&flow, TCP_RST, OUT, 14), FLOW_EFFECT_NONE);
}

static void found_mid_way(void **state)
{
    struct flow flow = {.key = {.tags = 6u << 24}, .flags = FIN_INSIDE, .state = FLOW_CLOSED};

    (void)state;
    flow_start_established(&flow, &(struct packet){0}, UNIT_CONNECTION, flow_moment(5, 0));
    assert_int_equal(flow.state, FLOW_ESTABLISHED);
    assert_int_equal(flow.flags, 0);
    assert_int_equal(flow.heard_ms, 5);
}

static void udp_slot_is_held_to_the_first_reply(void **state)
{
    struct flow flow = {.key = {.tags = 17u << 24}};
    enum outcome outcome;

    (void)state;
    assert_true(flow_is_attempt(&flow, &udp, IN)); /* no slot: a datagram is a new exchange */
    flow_restart(&flow, &udp, UNIT_DATAGRAM, flow_moment(0, 0));
    assert_int_equal(flow.state, FLOW_ESTABLISHED);
    flow.flags |= FLOW_HAS_SLOT;
    /* Retries are the same attempt and do not keep it alive. */
    for (uint32_t now_ms = 1000; now_ms < timeouts.udp_idle_ms; now_ms += 1000) {
        assert_false(flow_is_attempt(&flow, &udp, IN));
        assert_true(change_is(flow_advance(&flow, &udp, IN, flow_moment(now_ms, 0)), REPEATS));
    }
    assert_int_equal(flow.heard_ms, 0);
    assert_true(flow_expired(&flow, &timeouts, timeouts.udp_idle_ms, &outcome));
    assert_int_equal(outcome, OUTCOME_AGED);

    assert_false(flow_is_attempt(&flow, &udp, OUT));
    assert_true(change_is(flow_advance(&flow, &udp, OUT, flow_moment(29500, 0)), FINISHED));
    flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    /* Further replies pass and free nothing; the next datagram asks again. */
    assert_true(change_is(flow_advance(&flow, &udp, OUT, flow_moment(29600, 0)), GOES_ON));
    assert_int_equal(flow.heard_ms, 29600);
    assert_true(flow_is_attempt(&flow, &udp, IN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_against_every_packet),
        cmocka_unit_test(what_asks_for_new_work),
        cmocka_unit_test(silence_allowed_in_each_state),
        cmocka_unit_test(case_B01_same_syn_is_one_attempt),
        cmocka_unit_test(repeated_syns_keep_no_slot),
        cmocka_unit_test(nothing_of_the_client_opens_an_unanswered_flow),
        cmocka_unit_test(unanswered_syn_ack_ages),
        cmocka_unit_test(case_B07_ecn_handshake),
        cmocka_unit_test(case_B09_each_slot_is_freed_once),
        cmocka_unit_test(found_mid_way),
        cmocka_unit_test(udp_slot_is_held_to_the_first_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
