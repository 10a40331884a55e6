/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control plane asks of a running data plane (worker.h); tenants and services are in
 * listings.c.
 */
#include <errno.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "dataplane/admission/admission_control.h"
#include "dataplane/worker/dataplane.h"
#include "dataplane/worker/depth.h"
#include "dataplane/worker/eal.h"
#include "dataplane/worker/memory.h"

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* A struct of nothing but 64-bit counters, read one by one while their writer goes on. */
static void load_all(void *to, const void *from, size_t bytes)
{
    const uint64_t *source = from;
    uint64_t *target = to;

    for (size_t i = 0; i < bytes / sizeof(*source); i++)
        target[i] = load(&source[i]);
}

const char *pass_name(enum pass pass)
{
    static const char *const names[PASS_MAX] = {
#define PASS_TEXT(symbol, name) [PASS_##symbol] = name,
        DATAPLANE_PASSES(PASS_TEXT)
#undef PASS_TEXT
    };

    return names[pass];
}

const char *step_name(enum step step)
{
    static const char *const names[STEP_MAX] = {
#define STEP_TEXT(symbol, name) [STEP_##symbol] = name,
        DATAPLANE_STEPS(STEP_TEXT)
#undef STEP_TEXT
    };

    return names[step];
}

int dataplane_publish(struct dataplane *dp, struct policy *policy)
{
    if (!publication_has_room(&dp->publication))
        return -EBUSY;
    admission_shared_adopt(dp->shared, policy, dataplane_now_ns(dp));
    return publication_publish(&dp->publication, policy);
}

uint64_t dataplane_silence_ns(const struct dataplane *dp, uint32_t worker)
{
    uint64_t seen_ns = load(&dp->workers[worker]->now_ns), now_ns = dataplane_now_ns(dp);

    return dp->settings->eal.clock == CLOCK_TSC && now_ns > seen_ns ? now_ns - seen_ns : 0;
}

/* A worker that is only paused comes back to void leases: admission.h. */
static void look_after(struct dataplane *dp, uint32_t worker)
{
    bool silent = dataplane_silence_ns(dp, worker) > DATAPLANE_DEAD_NS;

    if (silent && !dp->dead[worker])
        admission_reclaim(dp->workers[worker]->admission);
    dp->dead[worker] = silent;
}

/* In a replay time is that of the packets, which a period of the control thread would be a chance
 * amount of: there nothing is shed. */
static void steer(struct dataplane *dp)
{
    struct gateway_sample sample;

    if (dp->settings->eal.clock == CLOCK_PACKETS)
        return;
    sample = depth_sample(dp);
    admission_control_step(dp->control, dataplane_policy(dp), &sample, dataplane_now_ns(dp));
}

void dataplane_tend(struct dataplane *dp)
{
    publication_reclaim(&dp->publication);
    for (uint32_t i = 0; i < dp->n_workers; i++)
        look_after(dp, i);
    steer(dp);
    if (dp->settings->eal.clock == CLOCK_TSC) /* at the end: nobody is silent for its jump */
        clock_follow(&dp->clock);
}

const struct policy *dataplane_policy(const struct dataplane *dp)
{
    return publication_read(&dp->publication);
}

uint64_t dataplane_now_ns(const struct dataplane *dp)
{
    return dp->settings->eal.clock == CLOCK_PACKETS ? replay_now_ns(&dp->replay)
                                                    : clock_ns(&dp->clock, rte_rdtsc());
}

const char *dataplane_memory(const struct dataplane *dp)
{
    return dp->huge ? "huge" : "none";
}

uint64_t dataplane_tsc_hz_reported(const struct dataplane *dp)
{
    (void)dp;
    return rte_get_tsc_hz();
}

uint64_t dataplane_tsc_hz_measured(const struct dataplane *dp)
{
    return dp->clock.measured_hz;
}

int64_t dataplane_clock_error_ns(const struct dataplane *dp)
{
    return clock_error_ns(&dp->clock);
}

uint32_t dataplane_worker_count(const struct dataplane *dp)
{
    return dp->n_workers;
}

void dataplane_worker_view(const struct dataplane *dp, uint32_t worker, struct worker_view *view)
{
    const struct worker *w = dp->workers[worker];

    *view = (struct worker_view){
        .slots = load(&w->slots),
        .held = load(&w->held),
        .held_max = (uint64_t)dp->ids.n_waiters + ADMISSION_DISPLACED_MAX,
        .policy_epoch = load(&w->epoch),
        .lcore = EAL_WORKER_LCORE(worker),
        .cpu = w->cpu,
        .numa_node = memory_node_of_cpu(w->cpu),
        .flows = flow_table_used(w->flows),
        .flows_max = flow_table_max(w->flows),
    };
    load_all(&view->counters, &w->counters, sizeof(view->counters));
    if (dp->n_workers == 1)
        return;
    view->judge = depth_of_ring(dp->inboxes[worker].judge);
    view->send = depth_of_ring(dp->inboxes[worker].send);
    view->handover_max = rte_ring_get_capacity(dp->inboxes[worker].judge);
}

void dataplane_sample_steps(struct dataplane *dp, uint64_t duration_ns)
{
    uint64_t now_cycles = rte_rdtsc();
    uint64_t until = now_cycles + duration_ns * (dp->clock.measured_hz / 1000) / 1000000;

    if (now_cycles >= dp->sample_until_cycles) /* the one before has ended */
        for (uint32_t i = 0; i < dp->n_workers; i++)
            load_all(&dp->steps_before[i], &dp->workers[i]->steps, sizeof(dp->steps_before[i]));
    if (until > dp->sample_until_cycles)
        __atomic_store_n(&dp->sample_until_cycles, until, __ATOMIC_RELAXED);
}

bool dataplane_worker_steps(const struct dataplane *dp, uint32_t worker, struct worker_steps *steps)
{
    const struct worker_steps *before = &dp->steps_before[worker];

    load_all(steps, &dp->workers[worker]->steps, sizeof(*steps));
    steps->bursts -= before->bursts;
    steps->packets -= before->packets;
    for (unsigned s = 0; s < STEP_MAX; s++)
        steps->cycles[s] -= before->cycles[s];
    return dp->sample_until_cycles > 0;
}

uint32_t dataplane_port_count(const struct dataplane *dp)
{
    return dp->n_ports;
}

int dataplane_port_view(const struct dataplane *dp, uint32_t port, struct port_view *view)
{
    int err = port_view(&dp->ports[port], view);

    /* A driver that cannot count its queue still shows how full its last burst was. */
    for (uint32_t i = 0; i < dp->n_lanes; i++) {
        const struct lane *lane = &dp->lanes[i];
        struct queue_view *queue = &view->queues[lane->queue];

        if (lane->own_port != port || queue->depth_source)
            continue;
        queue->depth_source = "burst";
        queue->depth = __atomic_load_n(&lane->last_burst, __ATOMIC_RELAXED);
    }
    return err;
}

uint32_t dataplane_receive_count(const struct dataplane *dp)
{
    return dp->n_lanes;
}

void dataplane_receive_view(const struct dataplane *dp, uint32_t index, struct receive_view *view)
{
    const struct lane *lane = &dp->lanes[index];
    const struct port *port = &dp->ports[lane->own_port];
    int depth = rte_eth_rx_queue_count(port->id, lane->queue);

    *view =
        (struct receive_view){.device = port->device, .queue = lane->queue, .worker = lane->poller};
    if (depth >= 0) {
        view->depth = (uint64_t)depth;
        view->bound = port->rx_numbers;
        view->depth_source = "driver";
    } else {
        view->depth = __atomic_load_n(&lane->last_burst, __ATOMIC_RELAXED);
        view->depth_source = "burst";
    }
}

uint32_t dataplane_retired_count(const struct dataplane *dp)
{
    return dp->publication.n_retired;
}

void dataplane_gateway_shed(const struct dataplane *dp, double shed[CLASS_MAX])
{
    admission_control_gateway(dp->control, shed);
}
