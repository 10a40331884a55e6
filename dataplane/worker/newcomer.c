/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets without a flow that could speak for them: attempts, which are classified and offered to
 * admission, and strangers, which pass, and from which running work is recognised.
 */
#include "dataplane/packet/refusal.h"
#include "dataplane/worker/silences.h"
#include "dataplane/worker/steps.h"

/* The fields that name tenant and service are all that matters of one that asks for nothing. */
void step_classify(struct burst *b, unsigned i)
{
    const struct worker *w = b->worker;
    const struct packet *packet = &b->packets[i];
    const struct flow_key *key = &b->queries[i].key;
    uint32_t service =
        policy_find_service(b->policy, &key->inside, packet->protocol, key->inside_port);
    struct attempt *attempt = &b->attempts[i];
    const struct service_facts *facts;
    uint32_t tenant;

    attempt->service = ADMISSION_NO_SERVICE;
    if (service == POLICY_NONE)
        return;
    tenant = policy_find_tenant(b->policy, &key->outside, service);
    *attempt = (struct attempt){
        .tenant = policy_tenant_id(b->policy, tenant),
        .service = policy_service_id(b->policy, service),
        .ip_bytes = packet->ip_bytes,
        .client = client_hash(w->client_seed, &key->outside),
        .flow = b->queries[i].hash,
        .cookie = (uintptr_t)b->mbufs[i],
    };
    facts = &w->facts[attempt->service];
    if (facts->has_shares)
        attempt->share = (uint8_t)policy_share_of(b->policy, service, tenant);
    if (packet->kind == PACKET_TCP) {
        attempt->flags = ATTEMPT_SYN;
        attempt->isn = packet->tcp_seq;
    }
    if (facts->has_probes && policy_is_probe(b->policy, service, &key->outside))
        attempt->flags |= ATTEMPT_HEALTH;
    if (!flow_opening_takes_slot((enum policy_unit)facts->unit, packet))
        attempt->kind = ATTEMPT_CONNECT;
}

void step_refuse(struct burst *b, unsigned i, uint32_t service, enum reason reason)
{
    /* The answer is written over the packet, which must be one piece for that. */
    bool answer = admission_may_answer(b->worker->admission, service, b->now_ns) &&
                  b->packets[i].kind == PACKET_TCP && b->mbufs[i]->nb_segs == 1;

    b->answers[i] = ANSWER_RST;
    step_decide(b, i, answer ? ACTION_ANSWER : ACTION_DROP, (uint8_t)reason);
}

static uint32_t write_http(struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->mbufs[i];
    enum reason reason = (enum reason)b->causes[i];
    enum refusal_status status =
        reason_kind(reason) == REASON_KIND_QUOTA ? REFUSAL_429 : REFUSAL_503;

    return refusal_write_http(
        rte_pktmbuf_mtod(m, uint8_t *), (uint32_t)m->data_len + rte_pktmbuf_tailroom(m),
        &b->packets[i], status,
        admission_retry_after_s(b->worker->admission, &b->attempts[i], reason, b->now_ns));
}

/* The refused packet itself becomes its answer: nothing to allocate, nothing that can run out. */
void step_write_answer(struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->mbufs[i];
    uint32_t bytes = b->answers[i] == ANSWER_HTTP ? write_http(b, i) : 0;

    if (!bytes)
        bytes = refusal_write_rst(rte_pktmbuf_mtod(m, uint8_t *), &b->packets[i]);
    m->data_len = (uint16_t)bytes;
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

/* What forbids an attempt before admission is asked: no room for its flow, a flow that lingers on
 * the same ports and still has its slot, because its work may run on; or no room for the connection
 * of a request that came with its SYN. */
static enum reason standing_in_the_way(const struct burst *b, unsigned i)
{
    const struct worker *w = b->worker;
    const struct flow *flow = b->queries[i].flow;
    const struct attempt *attempt = &b->attempts[i];

    if (!flow && !flow_has_room(w->flows, b->queries[i].hash))
        return REASON_TABLE;
    if (flow && flow->flags & FLOW_HAS_SLOT)
        return REASON_SHARE;
    if (w->facts[attempt->service].unit == UNIT_EXCHANGE && attempt->kind == ATTEMPT_WORK &&
        !admission_may_connect(w->admission, attempt->service))
        return REASON_CONNECTIONS;
    return REASON_NONE;
}

/* The flow of an attempt that was let in or waits; an old one starts anew. */
static struct flow *start_flow(struct burst *b, unsigned i)
{
    const struct attempt *attempt = &b->attempts[i];
    struct flow *flow = b->queries[i].flow;

    if (flow)
        work_leave(b->worker, flow, OUTCOME_AGED);
    else
        flow = b->queries[i].flow = insert(b, i);
    flow_restart(flow, &b->packets[i], (enum policy_unit)b->worker->facts[attempt->service].unit,
                 b->moment);
    work_assign(flow, attempt);
    return flow;
}

static void let_in(struct burst *b, unsigned i, uint8_t held)
{
    struct worker *w = b->worker;
    const struct attempt *attempt = &b->attempts[i];
    struct flow *flow = start_flow(b, i);

    if (attempt->kind == ATTEMPT_CONNECT) {
        work_hold_connection(flow, held);
    } else {
        if (flow->unit == UNIT_EXCHANGE) /* its SYN has brought the first request along */
            work_adopt_connection(w, flow);
        work_hold_slot(w, flow, held);
    }
    step_decide(b, i, ACTION_FORWARD, PASS_ATTEMPT);
}

void step_ask(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    const struct attempt *attempt = &b->attempts[i];
    struct decision decision;
    enum reason reason;

    if (b->queries[i].flow) /* of an attempt that has ended: the policy may have changed since */
        step_classify(b, i);
    if (attempt->service == ADMISSION_NO_SERVICE) {
        step_decide(b, i, ACTION_FORWARD, PASS_UNNAMED);
        return;
    }
    reason = standing_in_the_way(b, i);
    if (reason != REASON_NONE) {
        admission_refuse(w->admission, attempt, reason, b->now_ns);
        step_refuse(b, i, attempt->service, reason);
        return;
    }
    decision = admission_offer(w->admission, attempt, b->now_ns);
    if (decision.verdict == VERDICT_REFUSE)
        step_refuse(b, i, attempt->service, decision.reason);
    else if (decision.verdict == VERDICT_WAIT)
        step_hold(b, i, start_flow(b, i), decision.waiter);
    else
        let_in(b, i, decision.held);
}

/*
 * Towards a service, flow unknown: perhaps older than we are. It passes at its tenant's expense; if
 * it is real, the service answers, and the answer makes it known.
 *
 * Until its first byte the service works on it without a slot. That goes for one request of each
 * connection that was forgotten and lives: it was silent for `tcp_idle`, or its client finished the
 * handshake after `embryonic`. A slot taken here could be taken by anybody who writes packets, for
 * a client alone proves nothing; and to remember handshakes for as long as a service repeats its
 * SYN-ACK, a minute, would let spoofed SYNs fill the table.
 */
static void pass_midflow(struct burst *b, unsigned i)
{
    uint32_t tenant = b->attempts[i].tenant;
    struct decision decision;

    if (b->attempts[i].service == ADMISSION_NO_SERVICE) {
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

/* The work that a service shows to be running. */
static void adopt(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    const struct attempt *attempt = &b->attempts[i];
    enum policy_unit unit = (enum policy_unit)w->facts[attempt->service].unit;
    struct flow *flow = insert(b, i);

    flow_start_established(flow, &b->packets[i], unit, b->moment);
    work_assign(flow, attempt);
    if (unit == UNIT_EXCHANGE)
        work_adopt_connection(w, flow);
    work_adopt(w, flow);
    if (flow->flags & FLOW_REPLIES)
        silences_watch(w, flow);
    admission_count_out(w->admission, flow->tenant, attempt->ip_bytes);
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

    if (b->attempts[i].service == ADMISSION_NO_SERVICE ||
        !flow_has_room(w->flows, b->queries[i].hash))
        return;
    if (packet->kind == PACKET_UDP) {
        struct flow *flow = insert(b, i);

        flow_restart(flow, packet, UNIT_DATAGRAM, b->moment);
        flow->flags = FLOW_ASKED_OUTSIDE;
        return;
    }
    if ((packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)
        flow_restart(insert(b, i), packet, UNIT_CONNECTION, b->moment);
    else if (packet->payload_bytes > 0 && !(packet->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST)))
        adopt(b, i);
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
