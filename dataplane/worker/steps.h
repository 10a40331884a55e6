/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the steps of journey.c do with a single packet: packet `i` of burst `b`, still undecided,
 * gets its action and cause. Owner thread only.
 */
#ifndef SLUICE_WORKER_STEPS_H
#define SLUICE_WORKER_STEPS_H

#include "dataplane/worker/burst.h"

static inline void step_decide(struct burst *b, unsigned i, enum action action, uint8_t cause)
{
    b->actions[i] = (uint8_t)action;
    b->causes[i] = cause;
}

/* arrival.c: reads the headers; malformed frames are dropped. */
void step_parse(struct burst *b, unsigned i);
/* arrival.c: whoever is denied gets nothing in, malformed or not. */
void step_deny(struct burst *b, unsigned i);
/* arrival.c: a packet of another worker's flow, or a fragment, goes to its owner. */
void step_hand_over(struct burst *b, unsigned i);

/* unasked.c: packets that belong to no flow (anything but TCP and UDP). */
void step_settle_unasked(struct burst *b, unsigned i);

/* known.c: a packet of the known flow b->queries[i].flow that asks for nothing new. */
void step_pass_known(struct burst *b, unsigned i);

/* newcomer.c: who asks whom, b->slots[i], of a packet that no flow speaks for. */
void step_classify(struct burst *b, unsigned i);
/* newcomer.c: would a packet of no known flow open one? */
bool step_opens_flow(const struct burst *b, unsigned i);
/* newcomer.c: a packet that asks for new work, on a new flow or on one that has ended. */
void step_ask(struct burst *b, unsigned i);
/* newcomer.c: a packet of no known flow that asks for nothing. */
void step_pass_stranger(struct burst *b, unsigned i);
/* newcomer.c: turns a packet with ACTION_ANSWER into its answer. */
void step_write_answer(struct burst *b, unsigned i);

/* newcomer.c: the refused packet is dropped, or becomes its answer. */
void step_refuse(struct burst *b, unsigned i, uint32_t service, enum reason reason);

/* turns.c: a request on an open connection, with the effect flow_request() gave it. */
void step_ask_turn(struct burst *b, unsigned i, enum flow_effect effect);
/* turns.c: one that has a slot, for which it has waited so long, passes. */
void step_pass_turn(struct burst *b, unsigned i, uint8_t held, uint64_t waited_ns);
/* turns.c: one that found no slot, by the service's `turn`. */
void step_refuse_turn(struct burst *b, unsigned i, enum reason reason);

/* held.c: the packet waits. */
void step_hold(struct burst *b, unsigned i, struct flow *flow, uint32_t waiter);
/* held.c: nobody waits for it any more; if it waits at all. */
void step_forget_held(struct burst *b, unsigned i);
/* held.c: a packet of a flow whose first one waits, or that was shut; false: it passes like any
 * other. */
bool step_while_held(struct burst *b, unsigned i);
/* held.c: packet `i` waited, and this is what came of it. */
void step_release(struct burst *b, unsigned i, const struct released *released);

/* work.c: who does what a flow carries. */
static inline struct slot work_slot(const struct flow *flow)
{
    return (struct slot){flow->tenant, flow->service, flow->share, flow->held};
}
/* Whose it is, before anything is held. */
void work_assign(struct flow *flow, const struct attempt *attempt);
/* The slot of a flow is one bit, so it is freed once whatever comes twice. */
void work_hold_slot(struct worker *w, struct flow *flow, uint8_t held);
void work_free_slot(struct worker *w, struct flow *flow, enum outcome outcome);
/* Of work that runs without one: on debt. */
void work_adopt(struct worker *w, struct flow *flow);
void work_hold_connection(struct flow *flow, uint8_t held);
/* A connection whose first request did not wait for it to be let in. */
void work_adopt_connection(struct worker *w, struct flow *flow);
/* The flow has ended: what it still holds goes back. */
void work_leave(struct worker *w, struct flow *flow, enum outcome outcome);
/* The same, and the flow is closed by our word. It stays where it is, for packets of it may be
 * further on in the burst. */
void work_close(struct worker *w, struct flow *flow);
/* What a packet has shown of the work: answers, first bytes, ends. */
void work_follow(struct burst *b, unsigned i, struct flow_change change);
/* Overdue answers, at a visit of the sweep. */
void work_look_after(struct worker *w, struct flow *flow);

#endif
