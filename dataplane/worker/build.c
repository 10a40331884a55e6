/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' memory: each one's tables on the node of its CPU.
 */
#include <errno.h>
#include <sys/random.h>

#include "dataplane/admission/admission_control.h"
#include "dataplane/flow/silence.h"
#include "dataplane/worker/dataplane.h"
#include "dataplane/worker/memory.h"

/* The table's share of flows, and an eighth more, since the hash does not deal them out evenly. */
static uint32_t flows_per_worker(const struct dataplane *dp)
{
    uint32_t share = (dp->settings->flows_max + dp->n_workers - 1) / dp->n_workers;

    return dp->n_workers == 1 ? share : share + share / 8;
}

static size_t facts_bytes(const struct dataplane *dp)
{
    return (dp->ids.n_services + 1) * sizeof(struct service_facts);
}

static size_t front_tenants_bytes(const struct dataplane *dp)
{
    return (dp->ids.n_tenants + 1) * sizeof(struct admission_tenant_counters);
}

static size_t front_services_bytes(const struct dataplane *dp)
{
    return (dp->ids.n_services + 1) * sizeof(struct admission_service_counters);
}

/* Of the settings: the ports are opened when all this is built. */
static uint32_t count_ports(const struct dataplane *dp)
{
    uint32_t n = 0;

    for (uint32_t g = 0; g < dp->settings->n_gates; g++)
        n += dp->settings->gates[g].outside.n_devices + dp->settings->gates[g].inside.n_devices;
    return n;
}

static int allocate(struct dataplane *dp, uint32_t index)
{
    uint32_t cpu = dp->settings->eal.worker_cpus[index];
    struct worker_memory *m = &dp->memory[index];

    m->worker = memory_on_cpu(sizeof(struct worker), cpu);
    m->admission = memory_on_cpu(admission_bytes(&dp->ids), cpu);
    m->flows = memory_on_cpu(flow_table_bytes(flows_per_worker(dp)), cpu);
    m->silence = memory_on_cpu(silence_bytes(flows_per_worker(dp)), cpu);
    m->facts = memory_on_cpu(facts_bytes(dp), cpu);
    m->outlets = memory_on_cpu(count_ports(dp) * sizeof(struct outlet), cpu);
    m->handboxes = memory_on_cpu(dp->n_workers * sizeof(struct handbox), cpu);
    return m->worker && m->admission && m->flows && m->silence && m->facts && m->outlets &&
                   m->handboxes
               ? 0
               : -ENOMEM;
}

static void connect_worker(struct dataplane *dp, struct worker *w)
{
    w->burst.worker = w;
    w->all_lanes = dp->lanes;
    w->n_ports = count_ports(dp);
    w->n_workers = dp->n_workers;
    w->inbox = dp->inboxes[w->index];
    w->inboxes = dp->inboxes;
    w->owners = &dp->owners;
    w->client_seed = &dp->client_seed;
    w->clock = &dp->clock;
    if (dp->settings->heartbeats)
        w->heartbeat = &dp->settings->heartbeats[w->index];
    w->timeouts = &dp->settings->timeouts;
    w->publication = &dp->publication;
    w->stop = &dp->stop;
    w->sample_until_cycles = &dp->sample_until_cycles;
    w->passed = dp->passed;
    w->idle = dp->settings->eal.idle;
    w->replay = dp->settings->eal.clock == CLOCK_PACKETS ? &dp->replay : NULL;
    w->adopted_epoch = UINT64_MAX; /* of no policy: the first one is adopted in the first loop */
}

static int build_worker(struct dataplane *dp, uint32_t index, int mark_offset)
{
    struct worker_memory *m = &dp->memory[index];
    struct worker *w;
    uint64_t seed[4];
    int err = allocate(dp, index);

    if (err)
        return err;
    if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return -EIO;
    w = dp->workers[index] = m->worker;
    w->index = index;
    w->cpu = dp->settings->eal.worker_cpus[index];
    w->mark_offset = mark_offset;
    w->admission = admission_init(m->admission, dp->shared, index);
    w->flows = flow_table_init(m->flows, flows_per_worker(dp), seed);
    w->silence = silence_init(m->silence, flows_per_worker(dp));
    w->facts = m->facts;
    w->outlets = m->outlets;
    dp->admissions[index] = w->admission;
    w->handboxes = m->handboxes;
    if (dp->n_workers > 1)
        err = inbox_create(&dp->inboxes[index], index, DATAPLANE_HANDOVER_RING,
                           (int)memory_node_of_cpu(w->cpu));
    connect_worker(dp, w);
    return err;
}

static int build_control(struct dataplane *dp)
{
    uint32_t cpu = dp->settings->eal.main_cpu;
    void *memory = memory_on_cpu(admission_control_bytes(&dp->ids), cpu);

    if (!memory)
        return -ENOMEM;
    dp->control = admission_control_init(memory, dp->shared, dp->admissions);
    dp->front_tenants = memory_on_cpu(front_tenants_bytes(dp), cpu);
    dp->front_services = memory_on_cpu(front_services_bytes(dp), cpu);
    if (!dp->front_tenants || !dp->front_services)
        return -ENOMEM;
    admission_control_front(dp->control, dp->front_services);
    return 0;
}

int build_workers(struct dataplane *dp)
{
    uint32_t cpu = dp->settings->eal.worker_cpus[0];
    void *memory = memory_on_cpu(admission_shared_bytes(&dp->ids), cpu);
    int mark_offset = hand_mark_register();
    int err;

    if (!memory)
        return -ENOMEM;
    dp->shared = admission_shared_init(memory, &dp->ids);
    if (getrandom(&dp->client_seed, sizeof(dp->client_seed), 0) != sizeof(dp->client_seed))
        return -EIO;
    err = build_control(dp);
    if (err)
        return err;
    if (mark_offset < 0)
        return mark_offset;
    for (uint32_t i = 0; !err && i < dp->n_workers; i++)
        err = build_worker(dp, i, mark_offset);
    if (!err && dp->settings->eal.clock == CLOCK_PACKETS)
        err = replay_init(&dp->replay, (const struct worker *const *)dp->workers);
    return err;
}

void free_workers(struct dataplane *dp)
{
    for (uint32_t i = 0; i < dp->n_workers; i++) {
        struct worker_memory *m = &dp->memory[i];

        if (dp->n_workers > 1)
            inbox_destroy(&dp->inboxes[i]);
        memory_free(m->handboxes, dp->n_workers * sizeof(struct handbox));
        memory_free(m->facts, facts_bytes(dp));
        memory_free(m->silence, silence_bytes(flows_per_worker(dp)));
        memory_free(m->outlets, count_ports(dp) * sizeof(struct outlet));
        memory_free(m->flows, flow_table_bytes(flows_per_worker(dp)));
        memory_free(m->admission, admission_bytes(&dp->ids));
        memory_free(m->worker, sizeof(struct worker));
    }
    memory_free(dp->front_services, front_services_bytes(dp));
    memory_free(dp->front_tenants, front_tenants_bytes(dp));
    memory_free(dp->control, admission_control_bytes(&dp->ids));
    memory_free(dp->shared, admission_shared_bytes(&dp->ids));
}
