/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that wait for a slot. The packet is the waiter's cookie and remembers the lane it came
 * from; its flow remembers the waiter.
 */
#include "dataplane/worker/steps.h"

static void set_held(struct worker *w, uint64_t held)
{
    __atomic_store_n(&w->held, held, __ATOMIC_RELAXED);
}

void step_hold(struct burst *b, unsigned i, struct flow *flow, uint32_t waiter)
{
    struct worker *w = b->worker;

    flow->flags |= FLOW_WAITS;
    flow->waiter = waiter;
    *hand_mark_of(b->mbufs[i], w->mark_offset) = (struct hand_mark){.place = b->lanes[i]->index};
    set_held(w, w->held + 1);
    b->actions[i] = ACTION_HELD;
}

void step_forget_held(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    uint64_t cookie;

    if (!(flow->flags & FLOW_WAITS))
        return;
    flow->flags &= (uint8_t)~FLOW_WAITS;
    if (!admission_cancel(w->admission, flow->waiter, b->queries[i].hash, &cookie))
        return;
    rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)cookie);
    set_held(w, w->held - 1);
    worker_count(&w->counters.dropped[REASON_CANCELLED], 1);
}

/* The service speaks while a packet for it waits. Of a flow that would open it has not heard, so
 * what it says is about a connection before. On an open one it may say that it is over. */
static bool hear_service(struct burst *b, unsigned i, bool opens)
{
    const struct packet *packet = &b->packets[i];

    if (opens) {
        admission_count_out(b->worker->admission, b->queries[i].flow->tenant, packet->ip_bytes);
        step_decide(b, i, ACTION_FORWARD, PASS_FLOW);
        return true;
    }
    if (packet->tcp_flags & (TCP_RST | TCP_FIN))
        step_forget_held(b, i);
    return false;
}

bool step_while_held(struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];
    struct flow *flow = b->queries[i].flow;
    const struct slot slot = work_slot(flow);
    bool opens = !(flow->marks & FLOW_CONNECTED);

    if (flow->state == FLOW_SHUT) {
        step_decide(b, i, ACTION_DROP, REASON_CANCELLED);
        return true;
    }
    if (burst_direction(b, i) == DIRECTION_OUT)
        return hear_service(b, i, opens);
    if (packet->kind == PACKET_TCP && packet->tcp_flags & (TCP_RST | TCP_FIN)) {
        step_forget_held(b, i);
        if (!opens)
            return false;
        /* The service has never heard of it. */
        work_close(b->worker, flow);
        step_decide(b, i, ACTION_DROP, REASON_CANCELLED);
        return true;
    }
    if (!opens && flow_request(flow, packet, DIRECTION_IN) == FLOW_EFFECT_NONE)
        return false;
    admission_repeat(b->worker->admission, &slot);
    step_decide(b, i, ACTION_DROP, REASON_DUPLICATE);
    return true;
}

/* -- release -- */

static void begin(struct burst *b, unsigned i, const struct released *released)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;

    if (flow->marks & FLOW_CONNECTED) {
        step_pass_turn(b, i, released->decision.held, released->waited_ns);
        return;
    }
    /* Its life began when it came, and the service hears of it only now. */
    if (flow->unit == UNIT_EXCHANGE)
        work_adopt_connection(w, flow);
    flow->heard_ms = b->moment.age_ms;
    work_hold_slot(w, flow, released->decision.held);
    step_decide(b, i, ACTION_FORWARD, PASS_ATTEMPT);
}

void step_release(struct burst *b, unsigned i, const struct released *released)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;

    set_held(w, w->held - 1);
    flow->flags &= (uint8_t)~FLOW_WAITS;
    if (released->decision.verdict == VERDICT_ADMIT) {
        begin(b, i, released);
    } else if (flow->marks & FLOW_CONNECTED) {
        step_refuse_turn(b, i, released->decision.reason);
    } else {
        work_close(w, flow);
        step_refuse(b, i, released->slot.service, released->decision.reason);
    }
}
