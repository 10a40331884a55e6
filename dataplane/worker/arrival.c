/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that have just come: what they are, and whether they are ours to judge.
 */
#include "dataplane/worker/outlet.h"
#include "dataplane/worker/steps.h"

void step_parse(struct burst *b, unsigned i)
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
    b->actions[i] = ACTION_UNDECIDED;
    if (parse_frame(frame, length, m->pkt_len, packet) == PACKET_MALFORMED)
        step_decide(b, i, ACTION_DROP, packet->reason);
}

void step_deny(struct burst *b, unsigned i)
{
    const struct packet *packet = &b->packets[i];

    if (burst_direction(b, i) == DIRECTION_IN && packet_has_source(packet) &&
        policy_is_denied(b->policy, &packet->source))
        step_decide(b, i, ACTION_DROP, REASON_DENIED);
}

void step_hand_over(struct burst *b, unsigned i)
{
    struct worker *w = b->worker;
    uint32_t owner;

    if (!burst_is_flow(b, i) && b->packets[i].kind != PACKET_FRAGMENT)
        return;
    owner = owners_find(w->owners, &b->packets[i]);
    if (owner == w->index)
        return;
    handbox_put(w, owner, b->mbufs[i], b->lanes[i]);
    b->actions[i] = ACTION_HANDED;
}
