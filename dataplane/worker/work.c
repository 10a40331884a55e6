/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that flows carry: slots and connections they hold, and what admission hears of it.
 */
#include "dataplane/packet/reply.h"
#include "dataplane/worker/steps.h"

#define NS_PER_MS 1000000ull
#define ANSWER_MS 1000u /* a SYN without an answer for so long has failed */

/* Published: slots of windows. The one reserved for health checks is none of them. */
static void count_slot(struct worker *w, uint8_t held, int64_t change)
{
    if (!(held & SLOT_RESERVED))
        __atomic_store_n(&w->slots, w->slots + (uint64_t)change, __ATOMIC_RELAXED);
}

_Static_assert(POLICY_SHARES_MAX < 1 << 5, "a flow has five bits for its share");

void work_assign(struct flow *flow, const struct attempt *attempt)
{
    flow->tenant = (uint16_t)attempt->tenant;
    flow->service = (uint16_t)attempt->service;
    flow->share = attempt->share;
    flow->held = 0;
    if (attempt->flags & ATTEMPT_HEALTH)
        flow->marks |= FLOW_HEALTH;
}

void work_hold_slot(struct worker *w, struct flow *flow, uint8_t held)
{
    flow->held = held;
    flow->slot_since = flow_time(w->burst.now_ns);
    flow->flags |= FLOW_HAS_SLOT;
    count_slot(w, held, 1);
}

/* Of an exchange the silence after its reply is no part of it. */
static uint64_t quiet_ns(const struct worker *w, const struct flow *flow)
{
    return flow->flags & FLOW_REPLIES ? (w->burst.moment.age_ms - flow->heard_ms) * NS_PER_MS : 0;
}

void work_free_slot(struct worker *w, struct flow *flow, enum outcome outcome)
{
    uint64_t now_ns = w->burst.now_ns, elapsed_ns = flow_elapsed_ns(flow, now_ns);
    const struct slot slot = work_slot(flow);
    struct ending ending;

    if (!(flow->flags & FLOW_HAS_SLOT))
        return;
    ending = (struct ending){
        .outcome = outcome,
        .failed = (flow->held & FLOW_FAILED) != 0,
        .client = client_hash(w->client_seed, &flow->key.outside),
        .held_ns = flow_since_ns(flow->slot_since, now_ns),
        .latency_ns = elapsed_ns - RTE_MIN(elapsed_ns, quiet_ns(w, flow)),
    };
    flow->flags &= (uint8_t)~FLOW_HAS_SLOT;
    flow->held = 0; /* the trial of a breaker is over with its first exchange */
    admission_complete(w->admission, &slot, &ending, now_ns);
    count_slot(w, slot.held, -1);
}

void work_adopt(struct worker *w, struct flow *flow)
{
    struct slot slot = work_slot(flow);

    admission_adopt_flow(w->admission, &slot);
    work_hold_slot(w, flow, slot.held);
}

void work_hold_connection(struct flow *flow, uint8_t held)
{
    flow->held = held;
    flow->marks |= FLOW_CONNECTED | FLOW_FIRST;
}

void work_adopt_connection(struct worker *w, struct flow *flow)
{
    const struct slot slot = work_slot(flow);

    admission_adopt_connection(w->admission, &slot);
    flow->marks |= FLOW_CONNECTED;
}

void work_leave(struct worker *w, struct flow *flow, enum outcome outcome)
{
    const struct slot slot = work_slot(flow);

    work_free_slot(w, flow, outcome);
    if (!(flow->marks & FLOW_CONNECTED))
        return;
    flow->marks &= (uint8_t)~FLOW_CONNECTED;
    admission_disconnect(w->admission, &slot);
}

void work_close(struct worker *w, struct flow *flow)
{
    work_leave(w, flow, OUTCOME_ABORTED);
    if (flow->unit == UNIT_DATAGRAM) /* replies to earlier ones may be under way */
        return;
    flow->flags &= (uint8_t) ~(FLOW_OWES | FLOW_REPLIES);
    flow->state = FLOW_SHUT;
    flow->heard_ms = w->burst.moment.age_ms;
}

/* -- what shows -- */

static void report_failure(struct worker *w, struct flow *flow)
{
    const struct slot slot = work_slot(flow);

    if (flow->held & FLOW_REPORTED)
        return;
    flow->held |= FLOW_REPORTED;
    admission_no_answer(w->admission, &slot, flow->began * 0x9e3779b1u, w->burst.now_ns);
}

/* A reply that can be read may say that the work failed; then it is no sign of a healthy service.
 */
static void note_first_byte(struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];
    struct flow *flow = b->queries[i].flow;
    const struct slot slot = work_slot(flow);
    uint32_t there = b->mbufs[i]->data_len;
    uint32_t bytes = there > packet->payload_offset ? there - packet->payload_offset : 0;
    const uint8_t *payload =
        rte_pktmbuf_mtod_offset(b->mbufs[i], const uint8_t *, packet->payload_offset);

    bytes = RTE_MIN(bytes, packet->payload_bytes);
    if (reply_read(payload, bytes, packet->protocol, packet->source_port) == REPLY_FAILED) {
        flow->held |= FLOW_FAILED;
        report_failure(b->worker, flow);
    } else if (!(flow->held & FLOW_REPORTED)) {
        flow->held |= FLOW_REPORTED;
        admission_first_byte(b->worker->admission, &slot, b->now_ns);
    }
}

/* The same ports, a new connection: it runs already, so what it needs is taken on debt, and its
 * SYN, which passed as a repeated one, is paid for now. One of an exchange has the old one's place,
 * and pays with its first request. */
static void reopen(struct burst *b, unsigned i, enum outcome outcome)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;

    step_forget_held(b, i);
    work_free_slot(w, flow, outcome);
    if (flow->unit == UNIT_EXCHANGE)
        return;
    work_adopt(w, flow);
    admission_bill(w->admission, flow->tenant, b->now_ns);
}

void work_follow(struct burst *b, unsigned i, struct flow_change change)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    struct slot slot = work_slot(flow);

    if (flow->held & SLOT_OPENING && flow->state > FLOW_ANSWERED) {
        admission_confirmed(w->admission, &slot);
        flow->held = slot.held;
    }
    if (change.events & FLOW_EVENT_ANSWERED)
        admission_connected(w->admission, &slot, flow_elapsed_ns(flow, b->now_ns));
    if (change.events & FLOW_EVENT_FIRST_BYTE)
        note_first_byte(b, i);
    if (change.events & FLOW_EVENT_REPLY_FAILED)
        report_failure(w, flow);
    if (change.effect == FLOW_EFFECT_REPEAT)
        admission_repeat(w->admission, &slot);
    else if (change.effect == FLOW_EFFECT_REOPENED)
        reopen(b, i, change.outcome);
    else if (change.effect == FLOW_EFFECT_RESUMED)
        work_adopt(w, flow);
    else if (change.effect == FLOW_EFFECT_ENDED && flow->state == FLOW_CLOSED)
        work_leave(w, flow, change.outcome);
    else if (change.effect == FLOW_EFFECT_ENDED)
        work_free_slot(w, flow, change.outcome);
}

/* For how long the service has owed its client something. What is heard while a reply is owed is
 * the request, then the service alone: acknowledging a request that has not come to its end is a
 * sign of life. */
static uint64_t unanswered_ns(const struct worker *w, const struct flow *flow)
{
    if (flow->state != FLOW_OPENING && flow->unit != UNIT_DATAGRAM)
        return (w->burst.moment.age_ms - flow->heard_ms) * NS_PER_MS;
    return flow_since_ns(flow->flags & FLOW_HAS_SLOT ? flow->slot_since : flow->began,
                         w->burst.now_ns);
}

/* Does the service owe an answer? Nothing is owed to a client that has not shown that it is there.
 */
static bool is_owed(const struct flow *flow)
{
    if (flow->state == FLOW_OPENING)
        return true;
    return flow->flags & FLOW_HAS_SLOT &&
           (flow->unit == UNIT_DATAGRAM ||
            (flow->flags & FLOW_OWES && flow->state > FLOW_ANSWERED));
}

void work_look_after(struct worker *w, struct flow *flow)
{
    const struct slot slot = work_slot(flow);

    if (flow->flags & FLOW_HAS_SLOT && !(flow->held & SLOT_RESERVED))
        admission_survey_slot(w->admission, &slot,
                              flow_since_ns(flow->slot_since, w->burst.now_ns));
    if (flow->held & FLOW_REPORTED || flow->service == FLOW_NO_SERVICE || !is_owed(flow))
        return;
    if (unanswered_ns(w, flow) >=
        (flow->state == FLOW_OPENING ? ANSWER_MS : w->facts[flow->service].response_ms) * NS_PER_MS)
        report_failure(w, flow);
}
