/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests on open connections, of services whose unit is the exchange: each one asks for a slot.
 */
#include "dataplane/packet/refusal.h"
#include "dataplane/worker/outlet.h"
#include "dataplane/worker/steps.h"

/* The first request was charged with its SYN; a further one is an attempt of its own. */
static struct attempt attempt_of(const struct burst *b, unsigned i)
{
    const struct flow *flow = b->queries[i].flow;

    return (struct attempt){
        .tenant = flow->tenant,
        .service = flow->service,
        .ip_bytes = b->packets[i].ip_bytes,
        .kind = flow->marks & FLOW_FIRST ? ATTEMPT_FIRST : ATTEMPT_WORK,
        .flags = flow->marks & FLOW_HEALTH ? ATTEMPT_HEALTH : 0,
        .share = flow->share,
        .held = flow->held,
        .client = client_hash(b->worker->client_seed, &flow->key.outside),
        .flow = b->queries[i].hash,
        .cookie = (uintptr_t)b->mbufs[i],
    };
}

/* -- what becomes of one that found none -- */

/* The service shall not keep a connection whose client has been told that it is over. Without a
 * buffer for that it keeps it until it asks, and then gets no answer. */
static void reset_inside(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    struct rte_mbuf *m = rte_pktmbuf_alloc(b->mbufs[i]->pool);

    if (!m)
        return;
    m->data_len = (uint16_t)refusal_write_reset_inside(
        rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_mtod(b->mbufs[i], const uint8_t *),
        &b->packets[i]);
    m->pkt_len = m->data_len;
    worker_count(&w->counters.made, 1);
    outlet_put(w, b->lanes[i]->peer_port, m, CAUSE_ANSWER);
}

/* Answers are written over one piece, and are as many as those to SYNs. One that came before the
 * end of the reply before it would cut that off. */
static bool may_answer(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    const struct flow *flow = b->queries[i].flow;

    return b->mbufs[i]->nb_segs == 1 &&
           flow_has_heard(flow, &b->packets[i], w->facts[flow->service].silence_ms,
                          b->moment.age_ms) &&
           admission_may_answer(w->admission, flow->service, b->now_ns);
}

/* Both sides are told, so that nothing of the connection is left. Where nothing may be said the
 * connection goes on without the request: its client will repeat that, and ask again by it. */
static void end_connection(struct burst *b, unsigned i, enum reason reason, bool http)
{
    struct flow *flow = b->queries[i].flow;

    if (!may_answer(b, i)) {
        step_decide(b, i, ACTION_DROP, (uint8_t)reason);
        return;
    }
    reset_inside(b, i);
    b->attempts[i] = (struct attempt){
        .tenant = flow->tenant, .service = flow->service, .ip_bytes = b->packets[i].ip_bytes};
    work_close(b->worker, flow);
    b->answers[i] = http ? ANSWER_HTTP : ANSWER_RST;
    step_decide(b, i, ACTION_ANSWER, (uint8_t)reason);
}

static bool is_http(const struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];

    return b->mbufs[i]->nb_segs == 1 &&
           refusal_fits_http(
               rte_pktmbuf_mtod_offset(b->mbufs[i], const uint8_t *, packet->payload_offset),
               packet->payload_bytes);
}

void step_pass_turn(struct burst *b, unsigned i, uint8_t held, uint64_t waited_ns)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    struct flow_change change = flow_advance(flow, &b->packets[i], DIRECTION_IN, b->moment);

    flow->began = flow_time(b->now_ns - waited_ns);
    work_hold_slot(w, flow, held);
    /* While it waited the service has replied to the same bytes, which had reached it before the
     * connection was open. Nothing begins, so nothing would end, and the next request's slot would
     * take the place of this one's. */
    if (unlikely(!(flow->flags & FLOW_OWES)))
        work_free_slot(w, flow, OUTCOME_FINISHED);
    work_follow(b, i, change);
    step_decide(b, i, ACTION_FORWARD, PASS_FLOW);
}

/* It has got back what it had paid, and is metered as any other packet. */
static void pass_on_debt(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    struct slot slot = work_slot(b->queries[i].flow);
    struct decision decision =
        admission_charge(w->admission, slot.tenant, b->packets[i].ip_bytes, b->now_ns);

    if (decision.verdict == VERDICT_REFUSE) {
        step_decide(b, i, ACTION_DROP, (uint8_t)decision.reason);
        return;
    }
    admission_adopt_flow(w->admission, &slot);
    step_pass_turn(b, i, slot.held, 0);
}

void step_refuse_turn(struct burst *b, unsigned i, enum reason reason)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;

    switch ((enum policy_turn)w->facts[flow->service].turn) {
    case TURN_PASS:
        if (reason != REASON_CAPACITY) /* only a slot may be owed */
            break;
        pass_on_debt(b, i);
        return;
    case TURN_HTTP:
        end_connection(b, i, reason, is_http(b, i));
        return;
    case TURN_RST:
        break;
    }
    end_connection(b, i, reason, false);
}

void step_ask_turn(struct burst *b, unsigned i, enum flow_effect effect)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    struct attempt attempt;
    struct decision decision;

    if (effect == FLOW_EFFECT_NEXT) {
        work_free_slot(w, flow, OUTCOME_FINISHED);
        flow_end_exchange(flow);
    }
    attempt = attempt_of(b, i);
    /* The packet itself is metered as any other; a further attempt pays for it as a whole. */
    if (attempt.kind == ATTEMPT_FIRST && !(attempt.held & SLOT_HEALTH)) {
        decision = admission_meter(w->admission, flow->tenant, attempt.ip_bytes, b->now_ns);
        if (decision.verdict == VERDICT_REFUSE) {
            step_decide(b, i, ACTION_DROP, (uint8_t)decision.reason);
            return;
        }
    }
    decision = admission_offer(w->admission, &attempt, b->now_ns);
    flow->marks &= (uint8_t)~FLOW_FIRST;
    if (decision.verdict == VERDICT_WAIT)
        step_hold(b, i, flow, decision.waiter);
    else if (decision.verdict == VERDICT_REFUSE)
        step_refuse_turn(b, i, decision.reason);
    else
        step_pass_turn(b, i, decision.held, 0);
}
