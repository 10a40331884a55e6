/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/flow/lifecycle.h"

static const struct flow_change goes_on = {FLOW_EFFECT_NONE, OUTCOME_FINISHED};
static const struct flow_change repeats = {FLOW_EFFECT_REPEAT, OUTCOME_FINISHED};

static struct flow_change end_with(struct flow *flow, enum outcome outcome, uint32_t now_ms)
{
    flow->state = FLOW_CLOSED;
    flow->heard_ms = now_ms;
    return (struct flow_change){FLOW_EFFECT_ENDED, outcome};
}

/* -- UDP: datagrams out answer datagrams in -- */

static struct flow_change advance_udp(struct flow *flow, enum direction direction, uint32_t now_ms)
{
    if (direction == DIRECTION_IN && flow->flags & FLOW_ASKED_OUTSIDE) {
        flow->flags &= (uint8_t)~FLOW_ASKED_OUTSIDE;
        return goes_on;
    }
    if (direction == DIRECTION_IN)
        return repeats; /* a retry must not prolong the life of what is never answered */
    flow->heard_ms = now_ms;
    if (flow->service == FLOW_NO_SERVICE)
        flow->flags |= FLOW_ASKED_OUTSIDE;
    return flow->flags & FLOW_HAS_SLOT ? (struct flow_change){FLOW_EFFECT_ENDED, OUTCOME_FINISHED}
                                       : goes_on;
}

/* -- TCP -- */

static bool is_syn(uint8_t tcp_flags)
{
    return (tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

static struct flow_change take_fin(struct flow *flow, uint8_t own, uint8_t other, uint32_t now_ms)
{
    flow->flags |= own;
    if (flow->state == FLOW_LINGERING) /* the client had reset it, now the service closes as well */
        return own == FLOW_HAS_FIN_INSIDE ? end_with(flow, OUTCOME_ABORTED, now_ms) : goes_on;
    if (flow->flags & other)
        return end_with(flow, OUTCOME_FINISHED, now_ms);
    flow->state = FLOW_CLOSING;
    flow->heard_ms = now_ms;
    return goes_on;
}

/* The client's packets. Its RST alone frees nothing yet: the work may still run. */
static struct flow_change advance_tcp_in(struct flow *flow, uint8_t tcp_flags, uint32_t now_ms)
{
    if (is_syn(tcp_flags)) {
        flow->heard_ms = now_ms;
        return repeats;
    }
    if (flow->state == FLOW_CLOSED || flow->state == FLOW_LINGERING)
        return goes_on;
    if (tcp_flags & TCP_RST) {
        flow->state = FLOW_LINGERING;
        flow->heard_ms = now_ms;
        return goes_on;
    }
    if (tcp_flags & TCP_FIN)
        return take_fin(flow, FLOW_HAS_FIN_OUTSIDE, FLOW_HAS_FIN_INSIDE, now_ms);
    if (flow->state == FLOW_ANSWERED)
        flow->state = FLOW_ESTABLISHED;
    flow->heard_ms = now_ms;
    return goes_on;
}

/* The service's packets. */
static struct flow_change advance_tcp_out(struct flow *flow, uint8_t tcp_flags, uint32_t now_ms)
{
    if (flow->state == FLOW_CLOSED)
        return goes_on;
    if (tcp_flags & TCP_RST)
        return end_with(flow, OUTCOME_RESET, now_ms);
    if (tcp_flags & TCP_FIN)
        return take_fin(flow, FLOW_HAS_FIN_INSIDE, FLOW_HAS_FIN_OUTSIDE, now_ms);
    if (flow->state == FLOW_LINGERING)
        return goes_on;
    if (tcp_flags & TCP_SYN) {
        /* Repeats of the SYN-ACK must not keep a spoofed client's slot. */
        if (flow->state == FLOW_OPENING) {
            flow->state = FLOW_ANSWERED;
            flow->heard_ms = now_ms;
        }
        return goes_on;
    }
    if (flow->state == FLOW_OPENING)
        flow->state = FLOW_ESTABLISHED;
    if (flow->state != FLOW_ANSWERED)
        flow->heard_ms = now_ms;
    return goes_on;
}

bool flow_is_attempt(const struct flow *flow, const struct packet *packet, enum direction direction)
{
    if (direction == DIRECTION_OUT)
        return false;
    if (packet->kind == PACKET_UDP)
        return !(flow->flags & (FLOW_HAS_SLOT | FLOW_ASKED_OUTSIDE));
    return is_syn(packet->tcp_flags) &&
           (flow->state == FLOW_CLOSED || flow->state == FLOW_LINGERING);
}

struct flow_change flow_advance(struct flow *flow, const struct packet *packet,
                                enum direction direction, uint32_t now_ms)
{
    if (packet->kind == PACKET_UDP)
        return advance_udp(flow, direction, now_ms);
    if (direction == DIRECTION_IN)
        return advance_tcp_in(flow, packet->tcp_flags, now_ms);
    return advance_tcp_out(flow, packet->tcp_flags, now_ms);
}

void flow_restart(struct flow *flow, const struct packet *packet, uint32_t now_ms)
{
    flow->state = packet->kind == PACKET_UDP ? FLOW_ESTABLISHED : FLOW_OPENING;
    flow->flags = 0;
    flow->heard_ms = now_ms;
}

void flow_start_established(struct flow *flow, uint32_t now_ms)
{
    flow->state = FLOW_ESTABLISHED;
    flow->flags = 0;
    flow->heard_ms = now_ms;
}

/* -- ageing -- */

static uint32_t silence_allowed_ms(const struct flow *flow, const struct flow_timeouts *timeouts)
{
    switch ((enum flow_state)flow->state) {
    case FLOW_OPENING:
    case FLOW_ANSWERED:
        return timeouts->embryonic_ms;
    case FLOW_CLOSING:
        return flow->flags & FLOW_HAS_FIN_INSIDE ? timeouts->fin_ms : timeouts->tcp_idle_ms;
    case FLOW_LINGERING:
        return timeouts->linger_ms;
    case FLOW_CLOSED:
        return timeouts->fin_ms;
    case FLOW_ESTABLISHED:
    case FLOW_FREE:
        break;
    }
    return flow->key.tags >> 24 == PROTOCOL_UDP ? timeouts->udp_idle_ms : timeouts->tcp_idle_ms;
}

bool flow_expired(const struct flow *flow, const struct flow_timeouts *timeouts, uint32_t now_ms,
                  enum outcome *outcome)
{
    if (now_ms - flow->heard_ms < silence_allowed_ms(flow, timeouts))
        return false;
    *outcome = flow->state == FLOW_LINGERING ? OUTCOME_ABORTED : OUTCOME_AGED;
    return true;
}
