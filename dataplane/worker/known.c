/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known flows: meter the packet, advance the lifecycle, free the slot when the work has ended.
 */
#include "dataplane/worker/journey.h"
#include "dataplane/worker/silences.h"
#include "dataplane/worker/steps.h"

/* A flow the inside started on a service's own port: no tenant, no slot, no limit. */
static void pass_inside(struct burst *b, unsigned i)
{
    flow_advance(b->queries[i].flow, &b->packets[i], burst_direction(b, i), b->moment);
    step_decide(b, i, ACTION_FORWARD, PASS_INSIDE);
}

void step_pass_known(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    const struct packet *packet = &b->packets[i];
    enum direction direction = burst_direction(b, i);
    struct flow_change change;
    enum flow_effect effect;

    if (flow->service == FLOW_NO_SERVICE) {
        pass_inside(b, i);
        return;
    }
    if (unlikely(flow->flags & FLOW_WAITS || flow->state == FLOW_SHUT) && step_while_held(b, i))
        return;
    effect = flow_request(flow, packet, direction);
    if (effect != FLOW_EFFECT_NONE) {
        if (unlikely(burst_is_stale(b, i)))
            step_decide(b, i, ACTION_DROP, REASON_STALE);
        else
            step_ask_turn(b, i, effect);
        return;
    }
    if (direction == DIRECTION_IN) {
        struct decision d =
            admission_charge(w->admission, flow->tenant, packet->ip_bytes, b->now_ns);

        if (d.verdict == VERDICT_REFUSE) { /* the flow has not seen it: its sender will repeat it */
            step_decide(b, i, ACTION_DROP, (uint8_t)d.reason);
            return;
        }
    } else {
        admission_count_out(w->admission, flow->tenant, packet->ip_bytes);
    }
    change = flow_advance(flow, packet, direction, b->moment);
    if (change.effect | change.events | (flow->held & SLOT_OPENING))
        work_follow(b, i, change);
    if ((flow->flags & FLOW_REPLIES) && !(flow->marks & FLOW_IS_TIMED))
        silences_watch(w, flow);
    step_decide(b, i, ACTION_FORWARD, PASS_FLOW);
}

void journey_expire(struct flow_table *table, struct flow *flow, void *context)
{
    struct worker *w = context;
    enum outcome outcome;

    if (flow->flags & FLOW_WAITS) /* its age has a bound of its own */
        return;
    work_look_after(w, flow);
    if (flow->flags & FLOW_REPLIES && !(flow->marks & FLOW_IS_TIMED)) /* there was no room for it */
        silences_watch(w, flow);
    if (!flow_expired(flow, w->timeouts, flow_table_now_ms(table), &outcome))
        return;
    if (flow->flags & FLOW_HAS_SLOT && outcome == OUTCOME_AGED)
        worker_count(&w->counters.aged_slots, 1);
    work_leave(w, flow, outcome);
    flow_remove(table, flow);
}
