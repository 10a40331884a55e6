/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known flows: meter the packet, advance the lifecycle, free the slot when the work has ended.
 */
#include "dataplane/worker/journey.h"
#include "dataplane/worker/steps.h"

static void set_slots(struct worker *w, uint64_t slots)
{
    __atomic_store_n(&w->slots, slots, __ATOMIC_RELAXED);
}

void slot_hold(struct worker *w, struct flow *flow, const struct slot *slot)
{
    flow->tenant = slot->tenant;
    flow->service = (uint16_t)slot->service;
    flow->flags |= FLOW_HAS_SLOT;
    set_slots(w, w->slots + 1);
}

void slot_free(struct worker *w, struct flow *flow, enum outcome outcome)
{
    const struct slot slot = {flow->tenant, flow->service};

    if (!(flow->flags & FLOW_HAS_SLOT))
        return;
    flow->flags &= (uint8_t)~FLOW_HAS_SLOT;
    admission_complete(w->admission, &slot, outcome);
    set_slots(w, w->slots - 1);
}

/* The same ports, a new connection: it runs already, so its slot is taken on debt. */
static void reopen(struct worker *w, struct flow *flow, const struct slot *slot,
                   enum outcome outcome)
{
    slot_free(w, flow, outcome);
    slot_hold(w, flow, slot);
    admission_adopt_flow(w->admission, slot);
}

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
    const struct slot slot = {flow->tenant, flow->service};
    struct flow_change change;

    if (flow->service == FLOW_NO_SERVICE) {
        pass_inside(b, i);
        return;
    }
    if (burst_direction(b, i) == DIRECTION_IN) {
        struct decision d =
            admission_charge(w->admission, slot.tenant, packet->ip_bytes, b->now_ns);

        if (d.verdict == VERDICT_REFUSE) { /* the flow has not seen it: its sender will repeat it */
            step_decide(b, i, ACTION_DROP, d.reason);
            return;
        }
    } else {
        admission_count_out(w->admission, slot.tenant, packet->ip_bytes);
    }
    change = flow_advance(flow, packet, burst_direction(b, i), b->moment);
    if (change.effect == FLOW_EFFECT_ENDED)
        slot_free(w, flow, change.outcome);
    else if (change.effect == FLOW_EFFECT_REOPENED)
        reopen(w, flow, &slot, change.outcome);
    else if (change.effect == FLOW_EFFECT_REPEAT)
        admission_repeat(w->admission, &slot);
    step_decide(b, i, ACTION_FORWARD, PASS_FLOW);
}

void journey_expire(struct flow_table *table, struct flow *flow, void *context)
{
    struct worker *w = context;
    enum outcome outcome;

    if (!flow_expired(flow, w->timeouts, flow_table_now_ms(table), &outcome))
        return;
    if (flow->flags & FLOW_HAS_SLOT && outcome == OUTCOME_AGED)
        worker_count(&w->counters.aged_slots, 1);
    slot_free(w, flow, outcome);
    flow_remove(table, flow);
}
