/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet does to the flow it belongs to, and when a flow has been silent too long.
 *
 * TCP (RFC 9293): a slot is held from the SYN until both sides sent FIN or the service sent RST. A
 * client's RST alone frees nothing yet, for the work may still run: the slot lingers until the
 * service confirms or `linger` passes. A repeated SYN of a flow that is opening or open is the same
 * attempt; a SYN on a closed flow is a new one. UDP: a slot is held from the first datagram to the
 * first reply; repeats before the reply are the same attempt, and do not extend its life.
 *
 * Pure functions of flow, packet and the table's age clock; the owner thread calls them. The caller
 * frees the slot when told so (admission_complete), which keeps this free of admission.
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
    uint32_t tcp_idle_ms;  /* open, or closed by the client alone: a reply may still be owed */
    uint32_t udp_idle_ms;  /* from the first unanswered datagram, else from the last one */
    uint32_t fin_ms;       /* closed by the service alone; stragglers of a closed flow */
    uint32_t linger_ms;    /* after the client's RST */
    uint32_t owed_max_ms;  /* as long as a reply is owed, whatever the other limits say */
};

enum flow_effect {
    FLOW_EFFECT_NONE,   /* goes on */
    FLOW_EFFECT_REPEAT, /* the same attempt again: counts a packet, costs nothing */
    FLOW_EFFECT_ENDED,  /* the work has ended: free the slot, if any, with `outcome` */
};

struct flow_change {
    enum flow_effect effect;
    enum outcome outcome;
};

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

/* Advances the flow by a packet that passes and is no new attempt. */
struct flow_change flow_advance(struct flow *flow, const struct packet *packet,
                                enum direction direction, uint32_t now_ms);

/* (Re)starts a flow's life with the packet that opens it: a SYN or a datagram. */
void flow_restart(struct flow *flow, const struct packet *packet, uint32_t now_ms);

/* Starts a flow that was found mid-way. */
void flow_start_established(struct flow *flow, uint32_t now_ms);

/* Has it been silent too long? Then `outcome` says what becomes of its slot. */
bool flow_expired(const struct flow *flow, const struct flow_timeouts *timeouts, uint32_t now_ms,
                  enum outcome *outcome);

#endif
