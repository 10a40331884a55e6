/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps in the order in which a burst meets them; journey() at the end is the list. What a
 * step does with a single packet stands in arrival.c, unasked.c, known.c, newcomer.c, turns.c
 * and held.c.
 */
#include "dataplane/worker/journey.h"

#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "dataplane/worker/outlet.h"
#include "dataplane/worker/replay.h"
#include "dataplane/worker/steps.h"
#include "dataplane/worker/stopwatch.h"

/* -- receive: from a queue, or from workers that found packets of our flows -- */

static void receive(struct burst *b, struct lane *lane)
{
    b->n = rte_eth_rx_burst(lane->port_id, lane->queue, b->mbufs, BURST_MAX);
    b->stale = b->worker->was_paused ? UINT32_MAX : 0;
    __atomic_store_n(&lane->last_burst, b->n, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < b->n; i++)
        b->lanes[i] = lane;
    worker_count(&b->worker->counters.received, b->n);
}

static void receive_handed(struct burst *b)
{
    struct worker *w = b->worker;

    b->n = (uint16_t)rte_ring_sc_dequeue_burst(w->inbox.judge, (void **)b->mbufs, BURST_MAX, NULL);
    b->stale = 0;
    for (unsigned i = 0; i < b->n; i++) {
        const struct hand_mark *mark = hand_mark_of(b->mbufs[i], w->mark_offset);

        b->lanes[i] = &w->all_lanes[mark->place];
        b->stale |= (uint32_t)mark->stale << i;
    }
    worker_count(&w->counters.handed_in, b->n);
}

/* -- parse: malformed frames end here -- */

static void parse(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(b->mbufs[i], void *));
    for (unsigned i = 0; i < b->n; i++)
        step_parse(b, i);
}

/* -- deny: before anything else is made of who sent it -- */

static void deny(struct burst *b)
{
    if (likely(!policy_has_denied(b->policy)))
        return;
    for (unsigned i = 0; i < b->n; i++)
        step_deny(b, i);
}

/* -- hand over: to the worker that owns the flow -- */

static void hand_over(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->actions[i] == ACTION_UNDECIDED)
            step_hand_over(b, i);
    handbox_flush_all(b->worker);
}

/* -- find flows: all lookups of the burst side by side -- */

static void find_flows(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        if (b->actions[i] == ACTION_UNDECIDED && burst_is_flow(b, i))
            b->queries[i].key = flow_key_of(&b->packets[i], burst_direction(b, i));
        else
            b->queries[i].key.tags = 0;
    }
    flow_find_burst(b->worker->flows, b->queries, b->n);
    b->inserted = 0;
}

/* -- classify: who asks whom where no flow says it; what they will be judged by is fetched -- */

static void classify(struct burst *b)
{
    const struct admission *adm = b->worker->admission;

    for (unsigned i = 0; i < b->n; i++)
        if (b->queries[i].key.tags && !b->queries[i].flow)
            step_classify(b, i);
    for (unsigned i = 0; i < b->n; i++) {
        if (!b->queries[i].key.tags)
            continue;
        if (b->queries[i].flow)
            admission_prefetch_packet(adm, b->queries[i].flow->tenant);
        else if (b->attempts[i].service != ADMISSION_NO_SERVICE)
            admission_prefetch_attempt(adm, &b->attempts[i]);
    }
}

/* -- judge: known flows advance, new work is offered to admission, strangers pass -- */

static void judge_flow(struct burst *b, unsigned i)
{
    struct flow_query *query = &b->queries[i];
    struct flow *flow = query->flow;
    bool asks;

    /* A flow may have begun earlier in this very burst. */
    if (!flow && b->inserted & burst_hash_bit(query->hash))
        flow = query->flow = flow_find(b->worker->flows, &query->key, query->hash);
    asks =
        flow ? flow_is_attempt(flow, &b->packets[i], burst_direction(b, i)) : step_opens_flow(b, i);
    if (flow && !asks)
        step_pass_known(b, i);
    else if (unlikely(burst_is_stale(b, i)))
        step_decide(b, i, ACTION_DROP, REASON_STALE);
    else if (asks)
        step_ask(b, i);
    else
        step_pass_stranger(b, i);
}

static void judge(struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        if (b->actions[i] != ACTION_UNDECIDED)
            continue;
        if (burst_is_flow(b, i))
            judge_flow(b, i);
        else
            step_settle_unasked(b, i);
    }
}

/* -- act and transmit: forward, answer or drop -- */

static void act(struct burst *b)
{
    struct worker *w = b->worker;
    struct rte_mbuf *drop[BURST_MAX];
    unsigned drops = 0;

    for (unsigned i = 0; i < b->n; i++) {
        if (b->actions[i] == ACTION_FORWARD) {
            outlet_put(w, b->lanes[i]->peer_port, b->mbufs[i], b->causes[i]);
        } else if (b->actions[i] == ACTION_ANSWER) {
            step_write_answer(b, i);
            outlet_put(w, b->lanes[i]->own_port, b->mbufs[i], CAUSE_ANSWER);
        } else if (b->actions[i] == ACTION_DROP) {
            worker_count(&w->counters.dropped[b->causes[i]], 1);
            drop[drops++] = b->mbufs[i];
        }
    }
    outlet_flush_all(w);
    if (drops)
        rte_pktmbuf_free_bulk(drop, drops);
}

/* -- release waiters: whose slot has come, or whose time is over -- */

unsigned journey_release(struct burst *b, bool all)
{
    struct worker *w = b->worker;
    struct released released[BURST_MAX];

    b->n = (uint16_t)(all ? admission_dismiss(w->admission, b->now_ns, released, BURST_MAX)
                          : admission_poll(w->admission, b->now_ns, released, BURST_MAX));
    if (b->n == 0)
        return 0;
    for (unsigned i = 0; i < b->n; i++) {
        b->mbufs[i] = (struct rte_mbuf *)(uintptr_t)released[i].cookie;
        b->lanes[i] = &w->all_lanes[hand_mark_of(b->mbufs[i], w->mark_offset)->place];
    }
    parse(b);
    find_flows(b);
    for (unsigned i = 0; i < b->n; i++)
        step_release(b, i, &released[i]);
    act(b);
    return b->n;
}

/* -- the journey -- */

/* What was handed over was not denied, and is not handed on. */
static void journey(struct burst *b, bool handed)
{
    stopwatch_received(b);
    parse(b);
    if (!handed)
        deny(b);
    stopwatch_lap(b, STEP_PARSE);
    if (!handed && b->worker->n_workers > 1) {
        hand_over(b);
        stopwatch_lap(b, STEP_HAND_OVER);
    }
    find_flows(b);
    stopwatch_lap(b, STEP_FIND_FLOWS);
    classify(b);
    stopwatch_lap(b, STEP_CLASSIFY);
    judge(b);
    stopwatch_lap(b, STEP_JUDGE);
    act(b);
    stopwatch_lap(b, STEP_ACT);
}

unsigned journey_run(struct burst *b, struct lane *lane)
{
    stopwatch_start(b);
    receive(b, lane);
    if (b->n)
        journey(b, false);
    return b->n;
}

unsigned journey_run_handed(struct burst *b)
{
    stopwatch_start(b);
    receive_handed(b);
    if (b->n) {
        journey(b, true);
        if (b->worker->replay)
            replay_done(b->worker->replay, b->n);
    }
    return b->n;
}

void journey_run_one(struct burst *b, struct lane *lane, struct rte_mbuf *mbuf)
{
    stopwatch_start(b);
    b->stale = 0;
    b->mbufs[0] = mbuf;
    b->lanes[0] = lane;
    b->n = 1;
    worker_count(&b->worker->counters.received, 1);
    journey(b, false);
}
