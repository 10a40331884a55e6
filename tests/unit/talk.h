/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversations for tests of the lifecycle: both ends of one, and what a worker does between. */
#ifndef SLUICE_TESTS_TALK_H
#define SLUICE_TESTS_TALK_H

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

static inline struct flow_moment at(uint32_t now_ms)
{
    return flow_moment(now_ms, now_ms * 1000000ull);
}

/* A segment that has just been sent. */
static inline struct packet segment(struct talk *talk, enum direction direction, uint8_t flags,
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
static inline struct flow_change pass_packet(struct talk *talk, const struct packet *packet,
                                             enum direction direction, uint32_t now_ms)
{
    enum flow_effect asked = flow_request(&talk->flow, packet, direction);
    struct flow_change change;

    change = flow_advance(&talk->flow, packet, direction, at(now_ms));
    if (asked != FLOW_EFFECT_NONE || change.effect == FLOW_EFFECT_REQUEST)
        assert_int_equal(change.effect, asked);
    if (change.effect == FLOW_EFFECT_ENDED)
        talk->flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    if (change.effect == FLOW_EFFECT_REQUEST || change.effect == FLOW_EFFECT_NEXT) {
        talk->flow.flags |= FLOW_HAS_SLOT;
        talk->flow.marks &= (uint8_t)~FLOW_FIRST;
    }
    if (change.effect == FLOW_EFFECT_RESUMED)
        talk->flow.flags |= FLOW_HAS_SLOT;
    talk->last = *packet;
    return change;
}

static inline void step(struct talk *talk, enum direction direction, uint8_t flags,
                        uint32_t payload_bytes, uint32_t now_ms, enum flow_effect effect,
                        uint8_t events)
{
    struct packet packet = segment(talk, direction, flags, payload_bytes);
    struct flow_change change = pass_packet(talk, &packet, direction, now_ms);

    assert_int_equal(change.effect, effect);
    assert_int_equal(change.events, events);
}

static inline struct talk open_talk(enum policy_unit unit, uint32_t client_seq)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}, .seq = {client_seq, 0xfffff000}};
    struct packet syn = segment(&talk, IN, TCP_SYN, 0);

    flow_restart(&talk.flow, &syn, unit, at(0));
    if (flow_opening_takes_slot(unit, &syn))
        talk.flow.flags |= FLOW_HAS_SLOT;
    else
        talk.flow.marks |= FLOW_FIRST;
    step(&talk, OUT, SYN_ACK, 0, 1, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, OUT, SYN_ACK, 0, 2, FLOW_EFFECT_NONE, 0);
    talk.seq[OUT]--; /* that was a repetition */
    step(&talk, IN, ACK, 0, 3, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_ESTABLISHED);
    return talk;
}

static inline bool has_slot(const struct talk *talk)
{
    return talk->flow.flags & FLOW_HAS_SLOT;
}

/* What a worker does with one that has ended in silence. */
static inline void end_in_silence(struct talk *talk, uint32_t now_ms)
{
    assert_true(flow_silent(&talk->flow, SILENCE_MS, now_ms));
    talk->flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    flow_end_exchange(&talk->flow);
}

static inline bool expired(const struct talk *talk, uint32_t now_ms, enum outcome expected)
{
    enum outcome outcome = expected;
    bool is = flow_expired(&talk->flow, &timeouts, now_ms, &outcome);

    assert_int_equal(outcome, expected);
    return is;
}

#endif
