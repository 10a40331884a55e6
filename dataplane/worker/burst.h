/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker owns and what it carries through the journey. Internal to dataplane/worker.
 */
#ifndef SLUICE_WORKER_BURST_H
#define SLUICE_WORKER_BURST_H

#include <rte_mbuf.h>

#include "dataplane/admission/admission.h"
#include "dataplane/flow/flow.h"
#include "dataplane/flow/lifecycle.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker/clock.h"
#include "dataplane/worker/publication.h"
#include "dataplane/worker/replay.h"
#include "dataplane/worker/worker.h"

#define BURST_MAX 32
#define LANES_MAX (2 * DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX)

/* Traffic that passes unbilled, each kind within a bucket of its own. */
enum control_kind { CONTROL_LINK, CONTROL_IP, CONTROL_ERRORS, CONTROL_KINDS };

/* One receive queue a worker polls, and where its packets go. */
struct lane {
    uint16_t port, queue;
    uint16_t peer_port, peer_queue; /* where it forwards to */
    uint8_t direction;              /* enum direction */
    uint32_t last_burst;            /* packets the last poll brought; published */
    /* Control traffic has buckets of its own, one for each kind: forged errors from afar must not
     * starve ARP. */
    struct bucket control[CONTROL_KINDS];
    struct bucket_rate control_rate;
};

/* What is done with a packet; UNDECIDED ones go on to the next step. */
enum action { ACTION_UNDECIDED, ACTION_FORWARD, ACTION_ANSWER, ACTION_DROP };

/* Up to BURST_MAX packets of one lane on their way through the steps of journey.h. */
struct burst {
    struct worker *worker;
    struct lane *lane;
    const struct policy *policy;
    uint64_t now_ns;
    uint32_t now_ms; /* the flow table's age clock */
    uint16_t n;
    bool inserted; /* a flow was added: what was not found before may be there now */
    struct rte_mbuf *mbufs[BURST_MAX];
    uint8_t actions[BURST_MAX]; /* enum action */
    uint8_t causes[BURST_MAX];  /* FORWARD: enum pass; else: enum reason */
    uint64_t hashes[BURST_MAX];
    struct flow *flows[BURST_MAX];
    struct flow_key keys[BURST_MAX];
    struct packet packets[BURST_MAX];
};

/* Everything of one worker. Control reads what is marked published. */
struct worker {
    /* the owner's */
    struct admission *admission;
    struct flow_table *flows;
    struct lane *lanes;
    uint32_t n_lanes;
    uint32_t idle_loops; /* since the last packet */
    uint32_t index;      /* among the workers, and as reader of the publication */
    uint64_t adopted_epoch;
    struct replay *replay; /* NULL unless time comes from the packets */
    const struct clock *clock;
    const struct flow_timeouts *timeouts;
    struct publication *publication;
    const bool *stop; /* atomic, set by control */
    enum idle_mode idle;
    /* published: one writer, relaxed stores */
    struct worker_counters counters __rte_cache_aligned;
    uint64_t slots;
    uint64_t epoch;
    uint64_t now_ns;
    struct burst burst __rte_cache_aligned;
} __rte_cache_aligned;

_Static_assert(offsetof(struct worker, counters) % RTE_CACHE_LINE_SIZE == 0,
               "what others read shares no line with what only the owner touches");

static inline void worker_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
