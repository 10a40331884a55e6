/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a row is measured in: a worker with its tables, built as the daemon builds them, but for a
 * known number of flows, a fixed hash seed and a clock that only the bench moves. Two scenes of the
 * same figures go through exactly the same instructions.
 */
#ifndef SLUICE_BENCH_SCENE_H
#define SLUICE_BENCH_SCENE_H

#include "dataplane/worker/burst.h"
#include "tools/bench/order.h"
#include "tools/bench/rings.h"

/* What the one service is, and its tenants. */
enum scene_service {
    SCENE_PLAIN,    /* tenants have quotas; nothing else has limits */
    SCENE_EXCHANGE, /* the same, and a slot is held for a request, not for a connection */
    SCENE_GUARDED,  /* everything there is to ask before a slot, none of it near its limit */
};

/* Of SCENE_GUARDED. */
#define SCENE_SLOTS      1000u
#define SCENE_PLACES     1000u
#define SCENE_SHARES     3u
#define SCENE_GUARANTEED 10u /* slots, to each share */

struct scene_plan {
    uint32_t flows;
    uint32_t tenants;
    uint32_t cpu;
    uint64_t seed;
    enum order order;
    enum scene_service service;
    bool spent; /* no tenant has an attempt left, or gets one while we measure */
};

struct scene {
    struct scene_plan plan;
    struct rings *rings;
    struct worker *worker;
    struct lane lanes[DIRECTION_MAX];
    struct outlet outlets[DIRECTION_MAX]; /* one for each side's port */
    struct flow_timeouts timeouts;
    struct service_facts facts;
    struct client_seed client_seed;
    struct policy *policy;
    uint32_t *order; /* of visits: numbers of flows */
    uint32_t visits; /* in it */
    uint32_t at;     /* the next one */
    uint32_t batch_flows[RINGS_BATCH];
    struct attempt batch_attempts[RINGS_BATCH];
    uint64_t newcomers; /* where the clients of scene_make_new() are drawn from */
    uint64_t admitted;  /* decisions made without a packet, by verdict */
    uint64_t refused;
    uint64_t swapped;  /* packets that went through the base forwarder */
    const void *shape; /* the row's parameters, */
    void *own;         /* and what it keeps */
    void *shared_memory, *admission_memory, *flow_memory;
    size_t shared_bytes, admission_bytes, flow_bytes;
};

/* NULL when memory is short. Flows are visited in the order of their numbers at first. */
struct scene *scene_open(const struct scene_plan *plan, struct rings *rings);
void scene_close(struct scene *scene);

/* Flows are visited in (another) random order from now on, each once before any comes again. */
void scene_shuffle(struct scene *scene);

/* Flows are visited in the order of the plan from now on. False: no memory; only good to be closed
 * then. Of Zipf there is no way back. */
bool scene_arrange(struct scene *scene);

/* Fills batch_flows with the next `n` visits, batch_attempts with an attempt of each. */
void scene_visit(struct scene *scene, unsigned n, uint32_t ip_bytes);

/* Makes the batch's attempts those of clients that never asked before: whoever was refused is
 * remembered, by his flow and by himself. */
void scene_make_new(struct scene *scene, unsigned n);

/* Lets a microsecond pass: 32 packets in it make 32 Mpps, more than any quota of a scene notices.
 */
static inline void scene_tick(struct scene *scene)
{
    scene->worker->burst.now_ns += 1000;
}

/* The batch's attempts from the `i`th on, as a burst of a worker: it fetches what judges them
 * ahead, as the journey does after it has classified them. */
static inline void scene_attempts_arrive(struct scene *scene, unsigned i, unsigned n)
{
    scene_tick(scene);
    for (unsigned end = RTE_MIN(i + BURST_MAX, n); i < end; i++)
        admission_prefetch_attempt(scene->worker->admission, &scene->batch_attempts[i]);
}

/* Takes every flow out of the table, slots included, in the order of their numbers: which is
 * random against the order of visits, so entries are reused in random order. */
void scene_forget_flows(struct scene *scene);

#endif
