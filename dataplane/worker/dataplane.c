/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the workers and their gates, starts and stops them.
 */
#include "dataplane/worker/dataplane.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "dataplane/worker/eal.h"
#include "dataplane/worker/loop.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/pool.h"

static int fail(int err, const char *what, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s: %s", what, strerror(-err));
    return err;
}

/* -- ports -- */

static int open_side(struct dataplane *dp, const char *gate, const char *side,
                     const struct port_settings *from, char *why, size_t why_bytes)
{
    int node = (int)memory_node_of_cpu(dp->settings->eal.worker_cpus[0]);

    for (uint32_t i = 0; i < from->n_devices; i++) {
        struct port *port = &dp->ports[dp->n_ports];
        int err;

        *port = (struct port){.device = from->devices[i], .gate = gate, .side = side};
        err = port_open(port, dp->pool, node, why, why_bytes);
        if (err)
            return err;
        dp->n_ports++;
    }
    return 0;
}

static int open_ports(struct dataplane *dp, char *why, size_t why_bytes)
{
    for (uint32_t g = 0; g < dp->settings->n_gates; g++) {
        const struct gate_settings *gate = &dp->settings->gates[g];
        int err = open_side(dp, gate->name, "outside", &gate->outside, why, why_bytes);

        if (!err)
            err = open_side(dp, gate->name, "inside", &gate->inside, why, why_bytes);
        if (err)
            return err;
    }
    return 0;
}

/* -- lanes: each device of one side forwards to a device of the other, by turns -- */

static void init_lane(struct lane *lane, const struct port *from, const struct port *to,
                      enum direction direction, const struct quota_rate *control)
{
    *lane = (struct lane){.port = from->id, .peer_port = to->id, .direction = (uint8_t)direction};
    if (control->unlimited)
        bucket_rate_unlimited(&lane->control_rate);
    else
        bucket_rate_events(&lane->control_rate, control->amount, control->period_s, control->burst);
    for (int kind = 0; kind < CONTROL_KINDS; kind++)
        bucket_init(&lane->control[kind], &lane->control_rate, 0);
}

static void init_lanes(struct dataplane *dp)
{
    const struct port *first = dp->ports;
    struct lane *lane = dp->lanes;

    for (uint32_t g = 0; g < dp->settings->n_gates; g++) {
        const struct gate_settings *gate = &dp->settings->gates[g];
        uint32_t n_out = gate->outside.n_devices, n_in = gate->inside.n_devices;
        const struct port *outside = first, *inside = first + n_out;

        for (uint32_t i = 0; i < n_out; i++)
            init_lane(lane++, &outside[i], &inside[i % n_in], DIRECTION_IN, &gate->control);
        for (uint32_t i = 0; i < n_in; i++)
            init_lane(lane++, &inside[i], &outside[i % n_out], DIRECTION_OUT, &gate->control);
        first += n_out + n_in;
    }
    dp->n_lanes = (uint32_t)(lane - dp->lanes);
}

/* -- the worker -- */

static int create_tables(struct dataplane *dp, struct worker *w, uint32_t cpu)
{
    uint32_t max = dp->settings->flows_max;
    uint64_t seed[4];

    dp->admission_bytes = admission_bytes(&dp->ids);
    dp->flow_bytes = flow_table_bytes(max);
    dp->shared_bytes = admission_shared_bytes(&dp->ids);
    dp->shared_memory = memory_on_cpu(dp->shared_bytes, cpu);
    dp->admission_memory = memory_on_cpu(dp->admission_bytes, cpu);
    dp->flow_memory = memory_on_cpu(dp->flow_bytes, cpu);
    if (!dp->shared_memory || !dp->admission_memory || !dp->flow_memory)
        return -ENOMEM;
    if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return -EIO;
    dp->shared = admission_shared_init(dp->shared_memory, &dp->ids);
    w->admission = admission_init(dp->admission_memory, &dp->ids, dp->shared);
    w->flows = flow_table_init(dp->flow_memory, max, seed);
    return 0;
}

static int create_worker(struct dataplane *dp)
{
    uint32_t cpu = dp->settings->eal.worker_cpus[0];
    struct worker *w = memory_on_cpu(sizeof(*w), cpu);
    int err;

    if (!w)
        return -ENOMEM;
    dp->worker = w;
    err = create_tables(dp, w, cpu);
    if (err)
        return err;
    w->burst.worker = w;
    w->lanes = dp->lanes;
    w->n_lanes = dp->n_lanes;
    w->clock = &dp->clock;
    w->timeouts = &dp->settings->timeouts;
    w->publication = &dp->publication;
    w->stop = &dp->stop;
    w->idle = dp->settings->eal.idle;
    w->adopted_epoch = UINT64_MAX; /* of no policy: the first one is adopted in the first loop */
    if (dp->settings->eal.clock == CLOCK_PACKETS) {
        w->replay = &dp->replay;
        return replay_init(&dp->replay);
    }
    return 0;
}

/* -- life -- */

static int build(struct dataplane *dp, char *why, size_t why_bytes)
{
    int err;

    dp->pool = pool_create(dp->settings, why, why_bytes);
    if (!dp->pool)
        return -ENOMEM;
    err = open_ports(dp, why, why_bytes);
    if (err)
        return err;
    init_lanes(dp);
    clock_start(&dp->clock);
    err = create_worker(dp);
    return err ? fail(err, "cannot build the worker's tables", why, why_bytes) : 0;
}

int dataplane_create(const struct dataplane_settings *settings, const struct admission_size *ids,
                     struct policy *policy, struct dataplane **out, char *why, size_t why_bytes)
{
    struct dataplane *dp = calloc(1, sizeof(*dp));
    int err;

    if (!dp)
        return fail(-ENOMEM, "data plane", why, why_bytes);
    dp->settings = settings;
    dp->ids = *ids;
    err = eal_start(settings, &dp->huge, why, why_bytes);
    if (err) {
        free(dp);
        return err;
    }
    err = build(dp, why, why_bytes);
    if (!err) {
        err = publication_init(&dp->publication, policy, 1);
        dp->has_policy = err == 0;
    }
    if (err) {
        dataplane_destroy(dp);
        return err;
    }
    *out = dp;
    return 0;
}

int dataplane_start(struct dataplane *dp)
{
    int err = rte_eal_remote_launch(worker_loop, dp->worker, EAL_WORKER_LCORE(0));

    dp->running = err == 0;
    return err;
}

void dataplane_stop(struct dataplane *dp)
{
    if (!dp->running)
        return;
    __atomic_store_n(&dp->stop, true, __ATOMIC_RELEASE);
    rte_eal_wait_lcore(EAL_WORKER_LCORE(0));
    dp->running = false;
}

void dataplane_destroy(struct dataplane *dp)
{
    dataplane_stop(dp);
    for (uint32_t i = 0; i < dp->n_ports; i++)
        port_close(&dp->ports[i]);
    if (dp->has_policy)
        publication_destroy(&dp->publication);
    memory_free(dp->worker, sizeof(*dp->worker));
    memory_free(dp->flow_memory, dp->flow_bytes);
    memory_free(dp->admission_memory, dp->admission_bytes);
    memory_free(dp->shared_memory, dp->shared_bytes);
    rte_mempool_free(dp->pool);
    eal_stop();
    free(dp);
}
