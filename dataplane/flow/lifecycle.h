/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet does to the flow it belongs to, and when a flow has been silent too long.
 *
 * TCP (RFC 9293): a flow begins with the client's SYN and ends when both sides sent FIN or the
 * service sent RST. A client's RST alone ends nothing yet, for the work may still run: the flow
 * lingers until the service confirms or `linger` passes. A repeated SYN of a flow that is opening
 * or open is the same attempt, unless the service answers it on an open flow by a SYN-ACK: then
 * both have forgotten the old connection. A SYN on a closed flow is a new attempt. A flow that
 * lingers is open again when the client sends on and the service answers: the RST was forged, or
 * out of the window (RFC 9293 section 3.10.7.4). What a slot is held for is the
 * service's unit:
 *   connection  all of that;
 *   exchange    from the first byte of a request to the end of its reply: the next request after a
 *               byte of the reply, silence after one, or the service's FIN or RST. More data before
 *               the reply's first byte is the same request. A reply that goes on after such a
 *               silence takes its slot again. Seen by the direction of data alone, so
 *               it works under TLS; data that the service had acknowledged when it replied is a
 *               retransmission or a keep-alive probe and begins nothing;
 *   datagram    (UDP) from the first datagram to the first reply; repeats before it are the same
 *               attempt. A later reply passes and ends nothing.
 *
 * Signs of life (`heard_ms`): any packet of an open TCP flow, but of the service alone while a
 * reply is owed or, of an exchange, under way. Not what a client sends without an answer:
 * datagrams, anything before the SYN-ACK, SYNs but for the first repetition.
 *
 * Pure functions of flow, packet and time; the owner thread calls them. The caller frees the slot
 * when told so (admission_complete), which keeps this free of admission.
 */
#ifndef SLUICE_FLOW_LIFECYCLE_H
#define SLUICE_FLOW_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/admission.h"
#include "dataplane/flow/flow.h"

/* Milliseconds of silence after which a flow ends. All 1 .. 86400000. */
struct flow_timeouts {
    uint32_t embryonic_ms; /* SYN without an answer, SYN-ACK without the client's ACK */
    uint32_t tcp_idle_ms;  /* open, or closed by the client alone */
    uint32_t udp_idle_ms;  /* from the first unanswered datagram, else from the last one */
    uint32_t fin_ms;       /* closed by the service alone; stragglers of a closed flow */
    uint32_t linger_ms;    /* after the client's RST */
    uint32_t owed_max_ms;  /* instead of a shorter tcp_idle, while a slot's reply is owed */
};

/* The present: on the table's age clock, and in flow_time(). */
struct flow_moment {
    uint32_t age_ms;
    uint32_t tick;
};

static inline struct flow_moment flow_moment(uint32_t age_ms, uint64_t now_ns)
{
    return (struct flow_moment){age_ms, flow_time(now_ns)};
}

enum flow_effect {
    FLOW_EFFECT_NONE,     /* goes on */
    FLOW_EFFECT_REPEAT,   /* the same attempt again: counts a packet, costs nothing */
    FLOW_EFFECT_ENDED,    /* the work has ended: free the slot, if any, with `outcome`. The flow
                             itself has ended as well if its state is FLOW_CLOSED */
    FLOW_EFFECT_REQUEST,  /* an exchange begins */
    FLOW_EFFECT_NEXT,     /* one ended (`outcome`), the next begins at once */
    FLOW_EFFECT_RESUMED,  /* its reply goes on, which had ended in silence: take its slot again, on
                             debt */
    FLOW_EFFECT_REOPENED, /* the service opened a new connection on the ports of this flow: free the
                             old slot with `outcome`, forget a waiter, and take the new slot, if
                             the unit has one, on debt */
};

#define FLOW_EVENT_ANSWERED     0x01 /* the service's first SYN-ACK */
#define FLOW_EVENT_FIRST_BYTE   0x02 /* of a reply: the first on a connection, of each exchange */
#define FLOW_EVENT_REPLY_FAILED 0x04 /* the service's RST: to a SYN, or before a byte it owed */

struct flow_change {
    uint8_t effect;            /* enum flow_effect */
    uint8_t outcome;           /* enum outcome */
    uint8_t events;            /* FLOW_EVENT_* */
} __attribute__((aligned(4))); /* travels in one register, and is compared at once */

/* Key of a TCP or UDP packet that travels in `direction`. */
static inline struct flow_key flow_key_of(const struct packet *packet, enum direction direction)
{
    bool in = direction == DIRECTION_IN;

    return (struct flow_key){
        .outside = in ? packet->source : packet->destination,
        .inside = in ? packet->destination : packet->source,
        .outside_port = in ? packet->source_port : packet->destination_port,
        .inside_port = in ? packet->destination_port : packet->source_port,
        .tags =
            (uint32_t)packet->protocol << 24 | (uint32_t)packet->vlan[1] << 12 | packet->vlan[0],
    };
}

/* Does this packet ask for new work: a SYN after the flow has closed, a datagram after the reply? A
 * flow that lingers still holds its slot, so the caller refuses; else it asks admission, and calls
 * flow_restart() if admitted. */
bool flow_is_attempt(const struct flow *flow, const struct packet *packet,
                     enum direction direction);

/* Does the packet that opens a flow begin work that takes a slot? A SYN of an exchange does only
 * with data (RFC 7413). */
static inline bool flow_opening_takes_slot(enum policy_unit unit, const struct packet *packet)
{
    return unit != UNIT_EXCHANGE || packet->payload_bytes > 0;
}

/* flow_request() of a client's data on a flow of exchanges that owes no reply. */
enum flow_effect flow_exchange_request(const struct flow *flow, const struct packet *packet);

/*
 * Does this packet, no attempt, begin an exchange? To be asked before flow_advance():
 *   NONE     no.
 *   REQUEST  yes: ask admission, and call flow_advance() only if the packet passes. Refused or
 *            held, the flow has not seen it.
 *   NEXT     the same, after flow_end_exchange().
 *   REPEAT   the flow has FLOW_WAITS: again, or more of, the request that is held. Drop it; its
 *            sender will repeat it.
 */
static inline enum flow_effect flow_request(const struct flow *flow, const struct packet *packet,
                                            enum direction direction)
{
    /* What most packets are: no exchange's, a reply, an acknowledgement, more of a request. */
    if (flow->unit != UNIT_EXCHANGE || direction == DIRECTION_OUT || packet->payload_bytes == 0 ||
        flow->flags & FLOW_OWES)
        return FLOW_EFFECT_NONE;
    return flow_exchange_request(flow, packet);
}

/* Advances the flow by a packet that passes and is no new attempt. A request passes with the effect
 * that flow_request() would give. */
struct flow_change flow_advance(struct flow *flow, const struct packet *packet,
                                enum direction direction, struct flow_moment now);

/* (Re)starts a flow's life with the packet that opens it: a SYN or a datagram. */
void flow_restart(struct flow *flow, const struct packet *packet, enum policy_unit unit,
                  struct flow_moment now);

/* Starts a TCP flow that was found mid-way, when the service sent this packet with data: of an
 * exchange, part of a reply. The caller takes the slot on debt. */
void flow_start_established(struct flow *flow, const struct packet *packet, enum policy_unit unit,
                            struct flow_moment now);

/* Has the service been silent for so long after bytes of a reply that the exchange is over? Then
 * the caller frees its slot (OUTCOME_FINISHED) and calls flow_end_exchange(). */
static inline bool flow_silent(const struct flow *flow, uint32_t silence_ms, uint32_t now_ms)
{
    return flow->flags & FLOW_REPLIES && now_ms - flow->heard_ms >= silence_ms;
}

/* The exchange whose reply was under way, if any, has ended. */
static inline void flow_end_exchange(struct flow *flow)
{
    flow->flags &= (uint8_t)~FLOW_REPLIES;
}

/* Has the client all that the service has sent, as far as this request tells? Else an answer of
 * ours to it would be taken for a part of what is under way, or for none. Silence means that
 * nothing is any more. Of exchanges; by so few bits one in 16384 of those that are early is taken
 * for one that is not. */
static inline bool flow_has_heard(const struct flow *flow, const struct packet *request,
                                  uint32_t silence_ms, uint32_t now_ms)
{
    return flow->flags & FLOW_UNHEARD || now_ms - flow->heard_ms >= silence_ms ||
           flow->sent == (request->tcp_ack & ((1u << FLOW_SENT_BITS) - 1));
}

/* Has it been silent too long? Then `outcome` says what becomes of its slot. */
bool flow_expired(const struct flow *flow, const struct flow_timeouts *timeouts, uint32_t now_ms,
                  enum outcome *outcome);

#endif
