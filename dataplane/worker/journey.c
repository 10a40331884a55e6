/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps in the order in which a burst meets them; journey_run() at the end is the list. What a
 * step does with a single packet stands in unasked.c, known.c and newcomer.c.
 */
#include "dataplane/worker/journey.h"

#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "dataplane/packet/refusal.h"
#include "dataplane/worker/steps.h"

/* -- receive -- */

static unsigned receive(struct burst *b, struct lane *lane)
{
    b->lane = lane;
    b->n = rte_eth_rx_burst(lane->port, lane->queue, b->mbufs, BURST_MAX);
    __atomic_store_n(&lane->last_burst, b->n, __ATOMIC_RELAXED);
    return b->n;
}

/* -- parse: malformed frames end here; what is no flow's passes unasked or pays by address -- */

static void parse_one(struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->mbufs[i];
    struct packet *packet = &b->packets[i];
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    uint32_t length = m->data_len;
    uint8_t scratch[PARSE_HEADERS_MAX_BYTES];

    if (unlikely(m->nb_segs > 1)) { /* headers may straddle segments */
        length = RTE_MIN(m->pkt_len, (uint32_t)sizeof(scratch));
        frame = rte_pktmbuf_read(m, 0, length, scratch);
    }
    parse_frame(frame, length, m->pkt_len, packet);
    b->actions[i] = ACTION_UNDECIDED;
    if (packet->kind == PACKET_MALFORMED)
        step_decide(b, i, ACTION_DROP, packet->reason);
    else if (packet->kind != PACKET_TCP && packet->kind != PACKET_UDP)
        step_settle_unasked(b, i);
}

static void parse(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(b->mbufs[i], void *));
    for (unsigned i = 0; i < b->n; i++)
        parse_one(b, i);
}

/* -- find flows: index lines, then entries, each prefetched for the whole burst -- */

static void find_flows(struct burst *b)
{
    struct flow_table *table = b->worker->flows;

    for (unsigned i = 0; i < b->n; i++)
        if (b->actions[i] == ACTION_UNDECIDED) {
            b->keys[i] = flow_key_of(&b->packets[i], b->lane->direction);
            b->hashes[i] = flow_hash(table, &b->keys[i]);
            flow_prefetch_index(table, b->hashes[i]);
        }
    for (unsigned i = 0; i < b->n; i++)
        if (b->actions[i] == ACTION_UNDECIDED)
            flow_prefetch_entry(table, b->hashes[i]);
    for (unsigned i = 0; i < b->n; i++)
        if (b->actions[i] == ACTION_UNDECIDED)
            b->flows[i] = flow_find(table, &b->keys[i], b->hashes[i]);
    b->inserted = false;
}

/* -- judge: known flows advance, new work is offered to admission, strangers pass -- */

static bool opens_flow(const struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];

    return b->lane->direction == DIRECTION_IN &&
           (packet->kind == PACKET_UDP || (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN);
}

static void judge_one(struct burst *b, unsigned i)
{
    struct flow *flow = b->flows[i];

    /* A flow may have begun earlier in this very burst. */
    if (!flow && b->inserted)
        flow = b->flows[i] = flow_find(b->worker->flows, &b->keys[i], b->hashes[i]);
    if (flow ? flow_is_attempt(flow, &b->packets[i], b->lane->direction) : opens_flow(b, i))
        step_ask(b, i);
    else if (flow)
        step_pass_known(b, i);
    else
        step_pass_stranger(b, i);
}

static void judge(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->actions[i] == ACTION_UNDECIDED)
            judge_one(b, i);
}

/* -- act and transmit: forward, answer or drop -- */

/* The refused packet itself becomes its answer: nothing to allocate, nothing that can run out. */
static void write_answer(struct rte_mbuf *m, const struct packet *packet)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    uint16_t bytes = (uint16_t)refusal_write_rst(frame, packet);

    m->data_len = bytes;
    m->pkt_len = bytes;
    m->ol_flags = 0;
}

/* What the port does not take is freed: waiting would stop the receive side, and with it everybody.
 */
static uint16_t transmit(struct burst *b, uint16_t port, uint16_t queue, struct rte_mbuf **mbufs,
                         uint16_t n)
{
    uint16_t sent = n ? rte_eth_tx_burst(port, queue, mbufs, n) : 0;

    if (unlikely(sent < n)) {
        rte_pktmbuf_free_bulk(&mbufs[sent], (unsigned)(n - sent));
        worker_count(&b->worker->counters.tx_failed, (uint64_t)(n - sent));
    }
    return sent;
}

static void act(struct burst *b)
{
    struct worker_counters *counters = &b->worker->counters;
    struct rte_mbuf *forward[BURST_MAX], *answer[BURST_MAX], *drop[BURST_MAX];
    uint8_t passes[BURST_MAX];
    uint16_t forwards = 0, answers = 0, drops = 0, sent;

    for (unsigned i = 0; i < b->n; i++) {
        if (b->actions[i] == ACTION_FORWARD) {
            passes[forwards] = b->causes[i];
            forward[forwards++] = b->mbufs[i];
        } else if (b->actions[i] == ACTION_ANSWER) {
            write_answer(b->mbufs[i], &b->packets[i]);
            answer[answers++] = b->mbufs[i];
        } else {
            worker_count(&counters->dropped[b->causes[i]], 1);
            drop[drops++] = b->mbufs[i];
        }
    }
    sent = transmit(b, b->lane->peer_port, b->lane->peer_queue, forward, forwards);
    for (unsigned i = 0; i < sent; i++)
        worker_count(&counters->forwarded[passes[i]], 1);
    sent = transmit(b, b->lane->port, b->lane->queue, answer, answers);
    worker_count(&counters->answered, sent);
    if (drops)
        rte_pktmbuf_free_bulk(drop, drops);
}

/* -- the journey -- */

static void journey(struct burst *b)
{
    worker_count(&b->worker->counters.received, b->n);
    parse(b);
    find_flows(b);
    judge(b);
    act(b);
}

unsigned journey_run(struct burst *b, struct lane *lane)
{
    if (receive(b, lane) == 0)
        return 0;
    journey(b);
    return b->n;
}

void journey_run_received(struct burst *b, struct lane *lane, uint16_t n)
{
    b->lane = lane;
    b->n = n;
    journey(b);
}
