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

/* known.c: the slot of a flow is one bit, so it is freed once whatever comes twice. */
void slot_hold(struct worker *w, struct flow *flow, const struct slot *slot);
void slot_free(struct worker *w, struct flow *flow, enum outcome outcome);

#endif
