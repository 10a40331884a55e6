/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets without a flow that could speak for them: attempts, which are classified and offered to
 * admission, and strangers, which pass, and from which running work is recognised.
 */
#include "dataplane/packet/refusal.h"
#include "dataplane/worker/steps.h"

void step_classify(struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];
    const struct flow_key *key = &b->queries[i].key;
    uint32_t service =
        policy_find_service(b->policy, &key->inside, packet->protocol, key->inside_port);

    b->slots[i].service = ADMISSION_NO_SERVICE;
    if (service == POLICY_NONE)
        return;
    b->slots[i] = (struct slot){
        policy_tenant_id(b->policy, policy_find_tenant(b->policy, &key->outside, service)),
        policy_service_id(b->policy, service)};
}

static void refuse(struct burst *b, unsigned i, uint32_t service, enum reason reason)
{
    /* The answer is written over the packet, which must be one piece for that. */
    bool answer = admission_may_answer(b->worker->admission, service, b->now_ns) &&
                  b->packets[i].kind == PACKET_TCP && b->mbufs[i]->nb_segs == 1;

    step_decide(b, i, answer ? ACTION_ANSWER : ACTION_DROP, (uint8_t)reason);
}

/* The refused packet itself becomes its answer: nothing to allocate, nothing that can run out. */
void step_write_answer(struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->mbufs[i];
    uint16_t bytes = (uint16_t)refusal_write_rst(rte_pktmbuf_mtod(m, uint8_t *), &b->packets[i]);

    m->data_len = bytes;
    m->pkt_len = bytes;
    m->ol_flags = 0;
}

static struct flow *insert(struct burst *b, unsigned i)
{
    b->inserted |= burst_hash_bit(b->queries[i].hash);
    return flow_insert(b->worker->flows, &b->queries[i].key, b->queries[i].hash);
}

bool step_opens_flow(const struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];

    return burst_direction(b, i) == DIRECTION_IN &&
           (packet->kind == PACKET_UDP || (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN);
}

/* What forbids an attempt before admission is asked: no room for its flow, or a flow that lingers
 * on the same ports and still has its slot, because its work may run on. */
static enum reason standing_in_the_way(const struct burst *b, unsigned i)
{
    const struct flow *flow = b->queries[i].flow;

    if (!flow)
        return flow_has_room(b->worker->flows, b->queries[i].hash) ? REASON_NONE : REASON_TABLE;
    return flow->flags & FLOW_HAS_SLOT ? REASON_SHARE : REASON_NONE;
}

static enum policy_unit unit_of(const struct packet *packet)
{
    return packet->kind == PACKET_UDP ? UNIT_DATAGRAM : UNIT_CONNECTION;
}

void step_ask(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    struct flow *flow = b->queries[i].flow;
    struct decision decision;
    struct attempt attempt;
    enum reason reason;
    struct slot slot;

    if (flow) /* of an attempt that has ended: the policy may have changed since */
        step_classify(b, i);
    slot = b->slots[i];
    if (slot.service == ADMISSION_NO_SERVICE) {
        step_decide(b, i, ACTION_FORWARD, PASS_UNNAMED);
        return;
    }
    attempt = (struct attempt){slot.tenant, slot.service, b->packets[i].ip_bytes};
    reason = standing_in_the_way(b, i);
    if (reason != REASON_NONE) {
        admission_refuse(w->admission, &attempt, reason);
        refuse(b, i, slot.service, reason);
        return;
    }
    decision = admission_offer(w->admission, &attempt, b->now_ns);
    if (decision.verdict == VERDICT_REFUSE) {
        refuse(b, i, slot.service, decision.reason);
        return;
    }
    if (!flow)
        flow = insert(b, i);
    flow_restart(flow, &b->packets[i], unit_of(&b->packets[i]), b->moment);
    slot_hold(w, flow, &slot);
    step_decide(b, i, ACTION_FORWARD, PASS_ATTEMPT);
}

/* Towards a service, flow unknown: perhaps older than we are. It passes at its tenant's expense; if
 * it is real, the service answers, and the answer makes it known. */
static void pass_midflow(struct burst *b, unsigned i)
{
    uint32_t tenant = b->slots[i].tenant;
    struct decision decision;

    if (b->slots[i].service == ADMISSION_NO_SERVICE) {
        step_decide(b, i, ACTION_FORWARD, PASS_UNNAMED);
        return;
    }
    decision = admission_charge(b->worker->admission, tenant, b->packets[i].ip_bytes, b->now_ns);
    if (decision.verdict == VERDICT_REFUSE) {
        step_decide(b, i, ACTION_DROP, (uint8_t)decision.reason);
        return;
    }
    step_decide(b, i, ACTION_FORWARD, PASS_MIDFLOW);
}

/*
 * What a service sends on a flow we do not know. Data proves that work runs: the flow is adopted,
 * its slot taken on debt. Less proves nothing: a repeated SYN-ACK answers a spoofed client, an ACK
 * or FIN may be the echo of a flow that has ended. A SYN is a flow the inside starts. So is a
 * datagram; it may be a late reply as well, so it lets no more than one datagram back in.
 */
static void learn_from_service(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    const struct packet *packet = &b->packets[i];
    struct slot slot = b->slots[i];
    struct flow *flow;

    if (slot.service == ADMISSION_NO_SERVICE || !flow_has_room(w->flows, b->queries[i].hash))
        return;
    if (packet->kind == PACKET_UDP) {
        flow = insert(b, i);
        flow_restart(flow, packet, UNIT_DATAGRAM, b->moment);
        flow->flags = FLOW_ASKED_OUTSIDE;
        return;
    }
    if ((packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN) {
        flow_restart(insert(b, i), packet, UNIT_CONNECTION, b->moment);
    } else if (packet->payload_bytes > 0 && !(packet->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))) {
        flow = insert(b, i);
        flow_start_established(flow, packet, UNIT_CONNECTION, b->moment);
        slot_hold(w, flow, &slot);
        admission_adopt_flow(w->admission, &slot);
        admission_count_out(w->admission, slot.tenant, packet->ip_bytes);
    }
}

void step_pass_stranger(struct burst *b, unsigned i)
{
    if (burst_direction(b, i) == DIRECTION_IN) {
        pass_midflow(b, i);
        return;
    }
    learn_from_service(b, i);
    step_decide(b, i, ACTION_FORWARD, PASS_INSIDE);
}
