/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/outlet.h"

#include <rte_ethdev.h>

#include "dataplane/worker/replay.h"

/* What nobody takes is freed: waiting would stop the receive side, and with it everybody. */
static void give_up(struct rte_mbuf **mbufs, unsigned n, uint64_t *counter)
{
    if (n == 0)
        return;
    rte_pktmbuf_free_bulk(mbufs, n);
    worker_count(counter, n);
}

/* -- to another worker -- */

static void hand(struct worker *w, struct rte_ring *ring, struct rte_mbuf **mbufs, unsigned n)
{
    unsigned taken;

    if (w->replay)
        replay_hand(w->replay, n);
    taken = rte_ring_mp_enqueue_burst(ring, (void **)mbufs, n, NULL);
    if (w->replay)
        replay_done(w->replay, n - taken);
    worker_count(&w->counters.handed_out, taken);
    give_up(&mbufs[taken], n - taken, &w->counters.handoff_failed);
}

static void handbox_flush(struct worker *w, uint32_t owner)
{
    struct handbox *box = &w->handboxes[owner];

    hand(w, w->inboxes[owner].judge, box->mbufs, box->n);
    box->n = 0;
}

void handbox_put(struct worker *w, uint32_t owner, struct rte_mbuf *mbuf, const struct lane *lane)
{
    struct handbox *box = &w->handboxes[owner];

    *hand_mark_of(mbuf, w->mark_offset) =
        (struct hand_mark){.place = lane->index, .stale = w->was_paused};
    box->mbufs[box->n++] = mbuf;
    if (box->n == BURST_MAX)
        handbox_flush(w, owner);
}

void handbox_flush_all(struct worker *w)
{
    for (uint32_t owner = 0; owner < w->n_workers; owner++)
        if (w->handboxes[owner].n)
            handbox_flush(w, owner);
}

/* -- to a port -- */

static void transmit(struct worker *w, struct outlet *outlet)
{
    struct worker_counters *counters = &w->counters;
    uint16_t sent = rte_eth_tx_burst(outlet->port_id, outlet->queue, outlet->mbufs, outlet->n);

    for (unsigned i = 0; i < sent; i++)
        worker_count(outlet->causes[i] == CAUSE_ANSWER ? &counters->answered
                                                       : &counters->forwarded[outlet->causes[i]],
                     1);
    give_up(&outlet->mbufs[sent], (unsigned)(outlet->n - sent), &counters->tx_failed);
}

static void flush(struct worker *w, uint16_t port)
{
    struct outlet *outlet = &w->outlets[port];

    if (outlet->owner == w->index) {
        transmit(w, outlet);
    } else {
        for (unsigned i = 0; i < outlet->n; i++)
            *hand_mark_of(outlet->mbufs[i], w->mark_offset) =
                (struct hand_mark){.place = port, .cause = outlet->causes[i]};
        hand(w, w->inboxes[outlet->owner].send, outlet->mbufs, outlet->n);
    }
    outlet->n = 0;
}

void outlet_put(struct worker *w, uint16_t port, struct rte_mbuf *mbuf, uint8_t cause)
{
    struct outlet *outlet = &w->outlets[port];

    outlet->causes[outlet->n] = cause;
    outlet->mbufs[outlet->n++] = mbuf;
    if (outlet->n == BURST_MAX)
        flush(w, port);
}

void outlet_flush_all(struct worker *w)
{
    for (uint16_t port = 0; port < w->n_ports; port++)
        if (w->outlets[port].n)
            flush(w, port);
}

unsigned outlet_send_handed(struct worker *w)
{
    struct rte_mbuf *mbufs[BURST_MAX];
    unsigned n = rte_ring_sc_dequeue_burst(w->inbox.send, (void **)mbufs, BURST_MAX, NULL);

    if (n == 0)
        return 0;
    worker_count(&w->counters.handed_in, n);
    for (unsigned i = 0; i < n; i++) {
        const struct hand_mark *mark = hand_mark_of(mbufs[i], w->mark_offset);

        outlet_put(w, mark->place, mbufs[i], mark->cause);
    }
    outlet_flush_all(w);
    if (w->replay)
        replay_done(w->replay, n);
    return n;
}
