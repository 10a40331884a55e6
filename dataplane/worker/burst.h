/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker owns and what it carries through the journey. Internal to dataplane/worker.
 */
#ifndef SLUICE_WORKER_BURST_H
#define SLUICE_WORKER_BURST_H

#include <rte_mbuf.h>

#include "dataplane/admission/admission.h"
#include "dataplane/admission/client.h"
#include "dataplane/admission/lease.h"
#include "dataplane/flow/flow.h"
#include "dataplane/flow/lifecycle.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker/clock.h"
#include "dataplane/worker/handover.h"
#include "dataplane/worker/owners.h"
#include "dataplane/worker/publication.h"
#include "dataplane/worker/worker.h"

#define BURST_MAX    32
#define PORTS_MAX    (2 * DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX)
#define LANES_MAX    1024
#define CAUSE_ANSWER 0xff /* of a packet on its way out: no pass, but the answer to a refusal */

/* Traffic that passes unbilled, each kind within a bucket of its own. */
enum control_kind { CONTROL_LINK, CONTROL_IP, CONTROL_ERRORS, CONTROL_KINDS };

/* No loop takes so long: a worker that last looked at the clock before that was stopped. Whoever
 * has waited so long has sent again: first repetition of a SYN, RFC 6298, 2.1. */
#define LANE_PAUSE_NS 1000000000ull

/* One receive queue, polled by one worker, and where its packets go. */
struct lane {
    uint16_t port_id, queue;
    uint16_t index;      /* among all lanes */
    uint16_t poller;     /* worker */
    uint16_t own_port;   /* index of its port, for answers */
    uint16_t peer_port;  /* index of the port it forwards to */
    uint8_t direction;   /* enum direction */
    uint32_t last_burst; /* packets the last poll brought; published */
    /* What has waited while its worker was paused for longer: somebody stood in; else UINT64_MAX */
    uint64_t stale_after_ns;
    /* Control traffic has buckets of its own, one for each kind: forged errors from afar must not
     * starve ARP. All lanes of a gate's direction share them, token by token. */
    struct pool *control_pools;
    struct lease control[CONTROL_KINDS];
} __rte_cache_aligned;

/* A worker's way to one port: through a transmit queue of its own, or through the worker whose
 * queue it is. */
struct outlet {
    uint16_t port_id, queue;
    uint16_t owner; /* worker */
    uint16_t n;
    uint8_t causes[BURST_MAX]; /* enum pass or CAUSE_ANSWER */
    struct rte_mbuf *mbufs[BURST_MAX];
} __rte_cache_aligned;

struct replay;

/* What is done with a packet; UNDECIDED ones go on to the next step. */
enum action {
    ACTION_UNDECIDED,
    ACTION_HANDED,
    ACTION_HELD, /* it waits for a slot */
    ACTION_FORWARD,
    ACTION_ANSWER,
    ACTION_DROP,
};

/* Up to BURST_MAX packets on their way through the steps of journey.c. */
struct burst {
    struct worker *worker;
    const struct policy *policy;
    uint64_t now_ns;
    struct flow_moment moment; /* now, for flows */
    uint16_t n;
    uint32_t stale;    /* bits of packets whose worker was paused while they waited for it */
    uint64_t inserted; /* bits of the hashes of flows added: what was not found may be there now */
    /* stopwatch.h */
    bool sampling, timed; /* some bursts are timed; this one is */
    uint32_t untimed;     /* since the last one that was */
    uint64_t lap_cycles;  /* when the step under way began */
    struct rte_mbuf *mbufs[BURST_MAX];
    struct lane *lanes[BURST_MAX]; /* where each came from */
    uint8_t actions[BURST_MAX];    /* enum action */
    uint8_t causes[BURST_MAX];     /* FORWARD: enum pass; else: enum reason */
    uint8_t answers[BURST_MAX];    /* ANSWER: enum answer */
    struct flow_query queries[BURST_MAX];
    struct attempt attempts[BURST_MAX]; /* without a flow: who asks whom, if ADMISSION_NO_SERVICE
                                           is not all it says */
    struct packet packets[BURST_MAX];
};

/* What ACTION_ANSWER writes over the packet. */
enum answer { ANSWER_RST, ANSWER_HTTP };

/* What packets of known flows need to know of their service; by id. */
struct service_facts {
    uint8_t unit; /* enum policy_unit */
    uint8_t turn; /* enum policy_turn */
    bool has_probes, has_shares;
    uint32_t silence_ms;  /* an exchange has ended */
    uint32_t response_ms; /* the first byte of a reply is overdue */
};

/* Packets that wait to be handed to one other worker. */
struct handbox {
    uint32_t n;
    struct rte_mbuf *mbufs[BURST_MAX];
};

/* On their way out workers wait for each other, so that nothing is left between them. */
enum stop_stage {
    STOP_RECEIVED, /* takes nothing more from its queues: nobody gets more to judge from it */
    STOP_JUDGED,   /* has judged what it was handed: nobody gets more to send from it */
    STOP_STAGES,
};

/* Everything of one worker. Control reads what is marked published. */
struct worker {
    /* the owner's */
    struct admission *admission;
    struct flow_table *flows;
    struct silence *silence;       /* of exchanges */
    struct lane *lanes[LANES_MAX]; /* the ones it polls */
    struct lane *all_lanes;
    struct outlet *outlets;    /* one for each port */
    struct handbox *handboxes; /* one for each worker */
    struct inbox inbox;
    const struct inbox *inboxes; /* everybody's, by worker */
    struct service_facts *facts; /* of the policy in force */
    const struct client_seed *client_seed;
    const struct owners *owners;
    uint32_t n_lanes, n_all_lanes, n_ports, n_workers;
    bool was_paused;     /* what its queues hold is stale */
    uint32_t idle_loops; /* since the last packet */
    uint32_t index;      /* among the workers, and as reader of the publication */
    uint32_t cpu;
    int mark_offset;
    uint64_t adopted_epoch;
    struct replay *replay; /* NULL unless time comes from the packets */
    const struct clock *clock;
    struct heartbeat *heartbeat; /* for others; NULL: nobody else looks at it */
    const struct flow_timeouts *timeouts;
    struct publication *publication;
    const bool *stop; /* atomic, set by control */
    uint32_t *passed; /* how many workers are beyond each stop_stage; atomic, everybody's */
    const uint64_t *sample_until_cycles; /* atomic, set by control */
    enum idle_mode idle;
    /* published: one writer, relaxed stores */
    struct worker_counters counters __rte_cache_aligned;
    uint64_t slots;
    uint64_t held; /* packets that wait */
    uint64_t epoch;
    uint64_t now_ns; /* of the last loop: the heartbeat */
    struct worker_steps steps __rte_cache_aligned;
    struct burst burst __rte_cache_aligned;
} __rte_cache_aligned;

_Static_assert(offsetof(struct worker, counters) % RTE_CACHE_LINE_SIZE == 0,
               "what others read shares no line with what only the owner touches");

static inline enum direction burst_direction(const struct burst *b, unsigned i)
{
    return (enum direction)b->lanes[i]->direction;
}

/* Does the packet belong to a flow, known or not? */
static inline bool burst_is_flow(const struct burst *b, unsigned i)
{
    return b->packets[i].kind == PACKET_TCP || b->packets[i].kind == PACKET_UDP;
}

static inline bool burst_is_stale(const struct burst *b, unsigned i)
{
    return b->stale >> i & 1;
}

static inline uint64_t burst_hash_bit(uint64_t hash)
{
    return 1ull << (hash & 63);
}

static inline void worker_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
