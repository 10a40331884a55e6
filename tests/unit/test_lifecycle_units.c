/* SPDX-License-Identifier: BSD-3-Clause */
/* What a slot is held for: exchanges, datagrams, connections that are owed a reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"

#define IN  DIRECTION_IN
#define OUT DIRECTION_OUT

#define ACK     TCP_ACK
#define SYN_ACK (TCP_SYN | TCP_ACK)
#define FIN_ACK (TCP_FIN | TCP_ACK)

#define SILENCE_MS 50

static const struct flow_timeouts timeouts = {
    .embryonic_ms = 3000,
    .tcp_idle_ms = 60000,
    .udp_idle_ms = 30000,
    .fin_ms = 2000,
    .linger_ms = 1000,
    .owed_max_ms = 300000,
};

/* Both ends of a conversation; sequence numbers advance with what passes. */
struct talk {
    struct flow flow;
    uint32_t seq[DIRECTION_MAX];
    struct packet last; /* passed */
};

static struct flow_moment at(uint32_t now_ms)
{
    return flow_moment(now_ms, now_ms * 1000000ull);
}

/* A segment that has just been sent. */
static struct packet segment(struct talk *talk, enum direction direction, uint8_t flags,
                             uint32_t payload_bytes)
{
    struct packet packet = {
        .kind = PACKET_TCP,
        .protocol = PROTOCOL_TCP,
        .tcp_flags = flags,
        .payload_bytes = payload_bytes,
        .tcp_seq = talk->seq[direction],
        .tcp_ack = talk->seq[1 - direction],
    };

    talk->seq[direction] += payload_bytes + !!(flags & (TCP_SYN | TCP_FIN));
    return packet;
}

/* What a worker does: asks, takes and frees the slot, and lets the packet pass. */
static struct flow_change pass_packet(struct talk *talk, const struct packet *packet,
                                      enum direction direction, uint32_t now_ms)
{
    enum flow_effect asked = flow_request(&talk->flow, packet, direction);
    struct flow_change change;

    change = flow_advance(&talk->flow, packet, direction, at(now_ms));
    if (asked != FLOW_EFFECT_NONE || change.effect == FLOW_EFFECT_REQUEST)
        assert_int_equal(change.effect, asked);
    if (change.effect == FLOW_EFFECT_ENDED)
        talk->flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    if (change.effect == FLOW_EFFECT_REQUEST || change.effect == FLOW_EFFECT_NEXT)
        talk->flow.flags |= FLOW_HAS_SLOT;
    talk->last = *packet;
    return change;
}

static void step(struct talk *talk, enum direction direction, uint8_t flags, uint32_t payload_bytes,
                 uint32_t now_ms, enum flow_effect effect, uint8_t events)
{
    struct packet packet = segment(talk, direction, flags, payload_bytes);
    struct flow_change change = pass_packet(talk, &packet, direction, now_ms);

    assert_int_equal(change.effect, effect);
    assert_int_equal(change.events, events);
}

static struct talk open_talk(enum policy_unit unit, uint32_t client_seq)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}, .seq = {client_seq, 0xfffff000}};
    struct packet syn = segment(&talk, IN, TCP_SYN, 0);

    flow_restart(&talk.flow, &syn, unit, at(0));
    if (flow_opening_takes_slot(unit, &syn))
        talk.flow.flags |= FLOW_HAS_SLOT;
    step(&talk, OUT, SYN_ACK, 0, 1, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, OUT, SYN_ACK, 0, 2, FLOW_EFFECT_NONE, 0);
    talk.seq[OUT]--; /* that was a repetition */
    step(&talk, IN, ACK, 0, 3, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_ESTABLISHED);
    return talk;
}

static bool has_slot(const struct talk *talk)
{
    return talk->flow.flags & FLOW_HAS_SLOT;
}

static bool expired(const struct talk *talk, uint32_t now_ms, enum outcome expected)
{
    enum outcome outcome = expected;
    bool is = flow_expired(&talk->flow, &timeouts, now_ms, &outcome);

    assert_int_equal(outcome, expected);
    return is;
}

/* -- exchanges -- */

/* Request in two segments, reply in three, silence, and again; across the wrap of both halves and
 * of whole sequence numbers. */
static void an_exchange_ends_in_silence(void **state)
{
    static const uint32_t client_seqs[] = {0, 0x7ff0, 0xfff0, 0xfffffff0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct talk talk = open_talk(UNIT_EXCHANGE, client_seqs[i]);

        assert_false(has_slot(&talk));
        for (uint32_t t = 100; t < 1000000; t += 50000) {
            step(&talk, IN, ACK, 20, t, FLOW_EFFECT_REQUEST, 0);
            assert_int_equal(talk.flow.began, flow_time(t * 1000000ull));
            step(&talk, IN, ACK, 1460, t + 1, FLOW_EFFECT_NONE, 0); /* the same request */
            step(&talk, OUT, ACK, 0, t + 2, FLOW_EFFECT_NONE, 0);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 2000)); /* it is owed */
            step(&talk, OUT, ACK, 100, t + 2000, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
            assert_in_range(flow_elapsed_ns(&talk.flow, (t + 2000) * 1000000ull), 1999980000,
                            2000020000);
            step(&talk, OUT, ACK, 1460, t + 2040, FLOW_EFFECT_NONE, 0);
            step(&talk, IN, ACK, 0, t + 2041, FLOW_EFFECT_NONE, 0); /* no life of the service's */
            step(&talk, OUT, ACK, 1, t + 2080, FLOW_EFFECT_NONE, 0);
            step(&talk, IN, ACK, 0, t + 2100, FLOW_EFFECT_NONE, 0);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 2129));
            assert_true(flow_silent(&talk.flow, SILENCE_MS, t + 2130));
            assert_true(has_slot(&talk));
            talk.flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
            flow_end_exchange(&talk.flow);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 40000));
        }
    }
}

static void the_next_request_ends_an_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet again;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 100, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NEXT, 0);
    again = talk.last;
    assert_int_equal(talk.flow.began, flow_time(30000000));
    assert_true(has_slot(&talk));
    step(&talk, OUT, ACK, 100, 40, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    /* Its reply was lost behind us: the client repeats a request that was answered. */
    assert_int_equal(flow_request(&talk.flow, &again, IN), FLOW_EFFECT_NONE);
    assert_int_equal(pass_packet(&talk, &again, IN, 50).effect, FLOW_EFFECT_NONE);
    assert_int_equal(talk.flow.began, flow_time(30000000));
    /* Freed first, as a worker does that has to ask for the next slot: then it is no "next". */
    again = segment(&talk, IN, ACK, 20);
    assert_int_equal(flow_request(&talk.flow, &again, IN), FLOW_EFFECT_NEXT);
    flow_end_exchange(&talk.flow);
    assert_int_equal(pass_packet(&talk, &again, IN, 60).effect, FLOW_EFFECT_REQUEST);
}

/* A probe of Windows carries one byte that was acknowledged long ago. */
static void a_keep_alive_probe_is_no_request(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 0xfffffff0);
    struct packet probe;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 100, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    flow_end_exchange(&talk.flow);
    talk.flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    talk.seq[IN]--;
    probe = segment(&talk, IN, ACK, 1);
    assert_int_equal(flow_request(&talk.flow, &probe, IN), FLOW_EFFECT_NONE);
    assert_int_equal(pass_packet(&talk, &probe, IN, 7000).effect, FLOW_EFFECT_NONE);
    assert_int_equal(talk.flow.heard_ms, 7000); /* but a sign of life */
    step(&talk, IN, ACK, 1, 7001, FLOW_EFFECT_REQUEST, 0);
}

static void a_request_that_waits_is_not_asked_for_twice(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet request = segment(&talk, IN, ACK, 20), more = segment(&talk, IN, ACK, 20);
    struct packet ack = segment(&talk, IN, ACK, 0);

    (void)state;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_REQUEST);
    talk.flow.flags |= FLOW_WAITS;
    talk.flow.waiter = 7;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_REPEAT);
    assert_int_equal(flow_request(&talk.flow, &more, IN), FLOW_EFFECT_REPEAT);
    assert_int_equal(flow_request(&talk.flow, &ack, IN), FLOW_EFFECT_NONE);
    talk.flow.flags &= (uint8_t)~FLOW_WAITS;
    assert_int_equal(pass_packet(&talk, &request, IN, 100).effect, FLOW_EFFECT_REQUEST);
    assert_int_equal(pass_packet(&talk, &request, IN, 101).effect, FLOW_EFFECT_NONE);
}

/* Only data of the client on an open flow begins an exchange. */
static void what_begins_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet request = segment(&talk, IN, ACK, 20), other = request;

    (void)state;
    for (unsigned s = FLOW_OPENING; s <= FLOW_CLOSED; s++) {
        bool open = s == FLOW_ANSWERED || s == FLOW_ESTABLISHED || s == FLOW_CLOSING;

        talk.flow.state = (uint8_t)s;
        assert_int_equal(flow_request(&talk.flow, &request, IN),
                         open ? FLOW_EFFECT_REQUEST : FLOW_EFFECT_NONE);
        assert_int_equal(flow_request(&talk.flow, &request, OUT), FLOW_EFFECT_NONE);
    }
    talk.flow.state = FLOW_ESTABLISHED;
    other.tcp_flags = TCP_RST | TCP_ACK;
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_NONE);
    other.tcp_flags = TCP_SYN;
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_NONE);
    other.tcp_flags = FIN_ACK; /* a request that is the last */
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_REQUEST);
    talk.flow.state = FLOW_CLOSING;
    talk.flow.flags |= FLOW_HAS_FIN_INSIDE; /* to a service that has closed */
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_NONE);
    talk.flow = open_talk(UNIT_CONNECTION, 5).flow;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_NONE);
}

/* Half closed by the client with its request; reply and FIN in one segment. */
static void an_exchange_ends_with_the_services_fin(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, IN, FIN_ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    assert_int_equal(talk.flow.state, FLOW_CLOSING);
    assert_false(expired(&talk, 10 + 299999, OUTCOME_AGED)); /* owed */
    step(&talk, OUT, FIN_ACK, 100, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, FIN_ACK, 100, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_CLOSING); /* the connection has not ended */
    assert_false(has_slot(&talk));
    step(&talk, IN, FIN_ACK, 0, 30, FLOW_EFFECT_ENDED, 0);
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
}

static void the_clients_reset_ends_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0);
    assert_true(has_slot(&talk));
    assert_false(expired(&talk, 20 + 999, OUTCOME_ABORTED));
    assert_true(expired(&talk, 20 + 1000, OUTCOME_ABORTED));
    step(&talk, OUT, FIN_ACK, 0, 30, FLOW_EFFECT_ENDED, 0);
    assert_false(has_slot(&talk));
}

static void a_greeting_is_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, OUT, ACK, 30, 10, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, OUT, ACK, 30, 11, FLOW_EFFECT_NONE, 0);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));
    step(&talk, IN, ACK, 20, 20, FLOW_EFFECT_REQUEST, 0);
}

/* A SYN with data (RFC 7413) begins its exchange at once. */
static void a_syn_with_data_is_a_request(void **state)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}};
    struct packet syn = segment(&talk, IN, TCP_SYN, 20), again;

    (void)state;
    assert_true(flow_opening_takes_slot(UNIT_EXCHANGE, &syn));
    flow_restart(&talk.flow, &syn, UNIT_EXCHANGE, at(0));
    talk.flow.flags |= FLOW_HAS_SLOT;
    assert_false(expired(&talk, 2999, OUTCOME_AGED));
    assert_true(expired(&talk, 3000, OUTCOME_AGED)); /* nobody has answered it */
    step(&talk, OUT, SYN_ACK, 0, 10, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, IN, ACK, 0, 20, FLOW_EFFECT_NONE, 0);
    again = syn;
    again.tcp_flags = ACK; /* the service had not taken it */
    assert_int_equal(pass_packet(&talk, &again, IN, 30).effect, FLOW_EFFECT_NONE);
    step(&talk, OUT, ACK, 100, 40, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_true(flow_silent(&talk.flow, SILENCE_MS, 90));
}

static void an_exchange_found_mid_way_is_in_its_reply(void **state)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}, .seq = {0xffff, 9}};
    struct packet found = segment(&talk, OUT, ACK, 100);

    (void)state;
    flow_start_established(&talk.flow, &found, UNIT_EXCHANGE, at(100));
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 149));
    assert_true(flow_silent(&talk.flow, SILENCE_MS, 150));
    talk.seq[IN]--;
    step(&talk, IN, ACK, 1, 110, FLOW_EFFECT_NONE, 0); /* of before */
    step(&talk, IN, ACK, 20, 120, FLOW_EFFECT_NEXT, 0);
}

/* -- what is owed -- */

/* A reply that takes its time, whatever the client does meanwhile. */
static void no_slot_is_freed_while_a_reply_is_owed(void **state)
{
    static const enum policy_unit units[] = {UNIT_CONNECTION, UNIT_EXCHANGE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct talk talk = open_talk(units[i], 5);
        struct packet request = segment(&talk, IN, ACK, 20);

        pass_packet(&talk, &request, IN, 1000);
        for (uint32_t t = 2000; t < 299000; t += 1000) {
            assert_false(expired(&talk, t, OUTCOME_AGED));
            pass_packet(&talk, &request, IN, t); /* nor does it prolong it */
            step(&talk, IN, ACK, 0, t, FLOW_EFFECT_NONE, 0);
        }
        assert_false(expired(&talk, 1000 + 299999, OUTCOME_AGED));
        assert_true(expired(&talk, 1000 + 300000, OUTCOME_AGED));
        assert_true(has_slot(&talk));                          /* so its loss can be counted */
        step(&talk, OUT, ACK, 0, 200000, FLOW_EFFECT_NONE, 0); /* the service's sign of life does */
        assert_false(expired(&talk, 200000 + 299999, OUTCOME_AGED));
        step(&talk, OUT, ACK, 10, 300000, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
        assert_true(expired(&talk, 300000 + 60000, OUTCOME_AGED));
    }
}

/* Nothing is owed where nothing was asked, and nothing to whom has no slot. */
static void idle_rules_hold_for_the_rest(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct flow_timeouts patient = timeouts;
    enum outcome outcome;

    (void)state;
    assert_false(expired(&talk, 3 + 59999, OUTCOME_AGED));
    assert_true(expired(&talk, 3 + 60000, OUTCOME_AGED));
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    talk.flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    assert_true(expired(&talk, 10 + 60000, OUTCOME_AGED));
    talk.flow.flags |= FLOW_HAS_SLOT;
    patient.tcp_idle_ms = 400000; /* longer than what is owed */
    assert_false(flow_expired(&talk.flow, &patient, 10 + 399999, &outcome));
    assert_true(flow_expired(&talk.flow, &patient, 10 + 400000, &outcome));
    step(&talk, OUT, FIN_ACK, 0, 20, FLOW_EFFECT_NONE, 0); /* it will not pay any more */
    assert_true(expired(&talk, 20 + 2000, OUTCOME_AGED));
}

/* -- what a connection tells of its service -- */

static void a_connection_is_heard_once(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);

    (void)state;
    assert_true(has_slot(&talk));
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.began, 0); /* a connection began with its SYN */
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 40, FLOW_EFFECT_NONE, 0);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));
    step(&talk, OUT, FIN_ACK, 20, 50, FLOW_EFFECT_NONE, 0); /* one side's end is not its end */
    assert_true(has_slot(&talk));
}

static struct flow_change service_resets(struct talk *talk)
{
    struct packet rst = segment(talk, OUT, TCP_RST | TCP_ACK, 0);
    struct flow_change change = pass_packet(talk, &rst, OUT, 5000);

    assert_int_equal(change.effect, FLOW_EFFECT_ENDED);
    assert_int_equal(change.outcome, OUTCOME_RESET);
    return change;
}

static void which_resets_are_failures(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet syn = segment(&talk, IN, TCP_SYN, 0);

    (void)state;
    flow_restart(&talk.flow, &syn, UNIT_EXCHANGE, at(0));
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED); /* to a SYN */

    talk = open_talk(UNIT_CONNECTION, 5);
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED);

    talk = open_talk(UNIT_CONNECTION, 5);
    step(&talk, IN, FIN_ACK, 0, 10, FLOW_EFFECT_NONE, 0); /* it had asked for nothing */
    assert_int_equal(service_resets(&talk).events, 0);

    talk = open_talk(UNIT_CONNECTION, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0); /* the client gave up itself */
    assert_int_equal(service_resets(&talk).events, 0);

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(service_resets(&talk).events, 0); /* after the first byte */

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NEXT, 0);
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED); /* of the next */
}

/* -- endings -- */

static void case_B02_ports_used_again(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct packet syn;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, FIN_ACK, 0, 30, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, FIN_ACK, 0, 40, FLOW_EFFECT_ENDED, 0);
    talk.seq[IN] += 100000;
    syn = segment(&talk, IN, TCP_SYN, 0);
    assert_true(flow_is_attempt(&talk.flow, &syn, IN));
    flow_restart(&talk.flow, &syn, UNIT_CONNECTION, at(2040));
    talk.flow.flags |= FLOW_HAS_SLOT;
    assert_int_equal(talk.flow.flags, FLOW_HAS_SLOT | FLOW_UNHEARD);
    assert_int_equal(talk.flow.began, flow_time(2040000000));
    step(&talk, OUT, SYN_ACK, 0, 2041, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, IN, ACK, 20, 2042, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, TCP_RST, 0, 2043, FLOW_EFFECT_ENDED, FLOW_EVENT_REPLY_FAILED);
    step(&talk, OUT, TCP_RST, 0, 2044, FLOW_EFFECT_NONE, 0);
}

/* Variant: the old connection still looks open, for both ends have forgotten it unseen. */
static void case_B02_a_syn_lands_on_an_open_flow(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5), other;
    struct flow_change change;
    struct packet packet;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    other = talk;
    talk.seq[IN] += 100000;
    step(&talk, IN, TCP_SYN, 0, 5000, FLOW_EFFECT_REPEAT, 0);
    packet = segment(&talk, OUT, SYN_ACK, 0);
    change = pass_packet(&talk, &packet, OUT, 5001);
    assert_int_equal(change.effect, FLOW_EFFECT_REOPENED);
    assert_int_equal(change.outcome, OUTCOME_FINISHED);
    assert_int_equal(change.events, FLOW_EVENT_ANSWERED);
    assert_true(has_slot(&talk)); /* the old one's, which the caller frees */
    assert_int_equal(talk.flow.began, flow_time(5001000000));
    step(&talk, OUT, SYN_ACK, 0, 5500, FLOW_EFFECT_NONE, 0); /* once */
    assert_true(expired(&talk, 8001, OUTCOME_AGED));         /* it has to be answered */
    step(&talk, IN, ACK, 20, 5600, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 5601, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);

    /* A service that knows the old connection answers by an ACK, and nothing has happened. */
    step(&other, IN, TCP_SYN, 0, 5000, FLOW_EFFECT_REPEAT, 0);
    step(&other, OUT, ACK, 0, 5001, FLOW_EFFECT_NONE, 0);
    assert_int_equal(other.flow.state, FLOW_ESTABLISHED);
}

/* As far as it can be told without sequence numbers: a RST that the service did not believe. */
static void case_B03_a_forged_reset_frees_nothing(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0); /* not the client's */
    step(&talk, OUT, ACK, 100, 30, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    step(&talk, IN, ACK, 0, 40, FLOW_EFFECT_NONE, 0); /* the client's */
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    step(&talk, OUT, ACK, 100, 50, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_ESTABLISHED);
    assert_false(expired(&talk, 50 + 59999, OUTCOME_AGED));

    /* The genuine one is followed by what was under way, and by more of its kind. */
    step(&talk, IN, TCP_RST, 0, 60, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 100, 70, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 80, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 100, 90, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    assert_true(has_slot(&talk));
    assert_true(expired(&talk, 60 + 1000, OUTCOME_ABORTED));
    step(&talk, OUT, TCP_RST, 0, 100, FLOW_EFFECT_ENDED, 0);
    step(&talk, OUT, ACK, 100, 110, FLOW_EFFECT_NONE, 0); /* a straggler */
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
}

/* The client has vanished after its FIN; the service repeats its last segment, ever more slowly. */
static void a_service_that_repeats_its_data_is_no_running_work(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct packet last;
    uint32_t now_ms = 30;

    (void)state;
    step(&talk, IN, FIN_ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, FIN_ACK, 1000, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    last = talk.last;
    assert_true(expired(&talk, 2020, OUTCOME_AGED));
    for (uint32_t pause_ms = 200; pause_ms < 60000; pause_ms *= 2) {
        now_ms += pause_ms;
        assert_false(expired(&talk, now_ms, OUTCOME_AGED));
        assert_int_equal(pass_packet(&talk, &last, OUT, now_ms).effect, FLOW_EFFECT_NONE);
        assert_int_equal(talk.flow.state, FLOW_CLOSED);
        assert_false(has_slot(&talk));
    }
    assert_true(expired(&talk, now_ms + 60000, OUTCOME_AGED));
    /* Its ports are free for a new connection none the less. */
    last = segment(&talk, IN, TCP_SYN, 0);
    assert_true(flow_is_attempt(&talk.flow, &last, IN));
    talk.flow.marks |= FLOW_IS_TIMED;
    flow_restart(&talk.flow, &last, UNIT_CONNECTION, at(now_ms));
    assert_int_equal(talk.flow.marks, FLOW_IS_TIMED); /* that is the ring's, not the flow's */
}

/* -- datagrams -- */

static const struct packet datagram = {.kind = PACKET_UDP, .protocol = PROTOCOL_UDP};

static struct talk ask(uint32_t now_ms)
{
    struct talk talk = {.flow = {.key = {.tags = 17u << 24}}};

    assert_true(flow_is_attempt(&talk.flow, &datagram, IN));
    flow_restart(&talk.flow, &datagram, UNIT_DATAGRAM, at(now_ms));
    assert_true(flow_opening_takes_slot(UNIT_DATAGRAM, &datagram));
    talk.flow.flags |= FLOW_HAS_SLOT;
    return talk;
}

static void case_C01_queries_from_one_port(void **state)
{
    struct talk talk = ask(1000);

    (void)state;
    /* Retries take no slot, do not prolong it, and are not when it began. */
    for (uint32_t now_ms = 2000; now_ms < 31000; now_ms += 1000) {
        assert_false(flow_is_attempt(&talk.flow, &datagram, IN));
        assert_false(expired(&talk, now_ms, OUTCOME_AGED));
        assert_int_equal(pass_packet(&talk, &datagram, IN, now_ms).effect, FLOW_EFFECT_REPEAT);
    }
    assert_true(expired(&talk, 31000, OUTCOME_AGED));
    assert_int_equal(flow_elapsed_ns(&talk.flow, 30000000000) >> 20, 29000000000 >> 20);

    for (unsigned query = 0; query < 4; query++) {
        struct flow_change change = pass_packet(&talk, &datagram, OUT, 30000);

        assert_int_equal(change.effect, FLOW_EFFECT_ENDED);
        assert_int_equal(change.outcome, OUTCOME_FINISHED);
        assert_int_equal(change.events, FLOW_EVENT_FIRST_BYTE);
        /* A late or second reply frees nothing. */
        change = pass_packet(&talk, &datagram, OUT, 30001);
        assert_int_equal(change.effect, FLOW_EFFECT_NONE);
        assert_int_equal(change.events, 0);
        assert_true(flow_is_attempt(&talk.flow, &datagram, IN)); /* the next query */
        flow_restart(&talk.flow, &datagram, UNIT_DATAGRAM, at(30002));
        talk.flow.flags |= FLOW_HAS_SLOT;
    }
}

static void a_datagram_that_waits_is_not_asked_for_twice(void **state)
{
    struct talk talk = ask(0);

    (void)state;
    talk.flow.flags = FLOW_WAITS;
    assert_false(flow_is_attempt(&talk.flow, &datagram, IN));
    assert_int_equal(flow_advance(&talk.flow, &datagram, IN, at(1)).effect, FLOW_EFFECT_REPEAT);
}

/* -- the clock of work -- */

static void ticks_come_round(void **state)
{
    const uint64_t round_ns = 1ull << (32 + FLOW_TICK_SHIFT);
    struct flow flow = {.began = flow_time(3 * round_ns - 20000)};

    (void)state;
    assert_int_equal(flow_time(16384), 1);
    assert_int_equal(flow_time(round_ns + 16383), 0);
    assert_int_equal(flow_elapsed_ns(&flow, 3 * round_ns - 20000), 0);
    assert_int_equal(flow_elapsed_ns(&flow, 3 * round_ns + 1000000), 1032192); /* 63 ticks */
    assert_true(round_ns > 19 * 3600 * 1000000000ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_ends_in_silence),
        cmocka_unit_test(the_next_request_ends_an_exchange),
        cmocka_unit_test(a_keep_alive_probe_is_no_request),
        cmocka_unit_test(a_request_that_waits_is_not_asked_for_twice),
        cmocka_unit_test(what_begins_no_exchange),
        cmocka_unit_test(an_exchange_ends_with_the_services_fin),
        cmocka_unit_test(the_clients_reset_ends_no_exchange),
        cmocka_unit_test(a_greeting_is_no_exchange),
        cmocka_unit_test(a_syn_with_data_is_a_request),
        cmocka_unit_test(an_exchange_found_mid_way_is_in_its_reply),
        cmocka_unit_test(no_slot_is_freed_while_a_reply_is_owed),
        cmocka_unit_test(idle_rules_hold_for_the_rest),
        cmocka_unit_test(a_connection_is_heard_once),
        cmocka_unit_test(which_resets_are_failures),
        cmocka_unit_test(case_B02_ports_used_again),
        cmocka_unit_test(case_B02_a_syn_lands_on_an_open_flow),
        cmocka_unit_test(case_B03_a_forged_reset_frees_nothing),
        cmocka_unit_test(a_service_that_repeats_its_data_is_no_running_work),
        cmocka_unit_test(case_C01_queries_from_one_port),
        cmocka_unit_test(a_datagram_that_waits_is_not_asked_for_twice),
        cmocka_unit_test(ticks_come_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
