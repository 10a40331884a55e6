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
#include <time.h>

#include "dataplane/worker/advice.h"
#include "dataplane/worker/eal.h"
#include "dataplane/worker/loop.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/pool.h"
#include "dataplane/worker/wiring.h"

#define STOP_POLL_NS 1000000

static int fail(int err, const char *what, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s: %s", what, strerror(-err));
    return err;
}

/* -- ports -- */

static int open_side(struct dataplane *dp, const char *gate, const char *side,
                     const struct port_settings *from, char *why, size_t why_bytes)
{
    const struct port_plan plan = {
        .pool = dp->pool,
        .owners = &dp->owners,
        .workers = dp->n_workers,
        .numa_node = (int)memory_node_of_cpu(dp->settings->eal.worker_cpus[0]),
    };

    for (uint32_t i = 0; i < from->n_devices; i++) {
        struct port *port = &dp->ports[dp->n_ports];
        int err;

        *port = (struct port){
            .device = from->devices[i], .gate = gate, .side = side, .care = dp->settings->care};
        err = port_open(port, &plan, why, why_bytes);
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

/* -- life -- */

static int choose_owners(struct dataplane *dp)
{
    uint16_t word;

    do
        if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
            return -EIO;
    while (!owners_word_is_good(word));
    owners_init(&dp->owners, word, dp->n_workers);
    return 0;
}

/* The ports come last: from when a device is taken until the workers run nobody forwards what
 * arrives. */
static int build(struct dataplane *dp, const struct policy *policy, char *why, size_t why_bytes)
{
    int err = choose_owners(dp);

    if (err)
        return fail(err, "cannot draw a key", why, why_bytes);
    dp->pool = pool_create(dp->settings, why, why_bytes);
    if (!dp->pool)
        return -ENOMEM;
    clock_start(&dp->clock);
    err = build_workers(dp);
    if (err)
        return fail(err, "cannot build the workers' tables", why, why_bytes);
    admission_shared_adopt(dp->shared, policy, dataplane_now_ns(dp));
    err = open_ports(dp, why, why_bytes);
    if (err)
        return err;
    err = wiring_connect(dp);
    if (err)
        return fail(err, "the devices have more receive queues than can be polled", why, why_bytes);
    advise(dp, &advice_this_host, stderr);
    return 0;
}

int dataplane_create(const struct dataplane_settings *settings, const struct admission_size *ids,
                     struct policy *policy, struct dataplane **out, char *why, size_t why_bytes)
{
    struct dataplane *dp = aligned_alloc(_Alignof(struct dataplane), sizeof(*dp));
    int err;

    if (!dp)
        return fail(-ENOMEM, "data plane", why, why_bytes);
    memset(dp, 0, sizeof(*dp));
    dp->settings = settings;
    dp->n_workers = settings->eal.n_workers;
    dp->ids = *ids;
    dp->ids.n_workers = dp->n_workers;
    dp->ids.n_waiters = settings->waiting_max;
    dp->ids.n_answered = settings->flows_max / dp->n_workers + 1;
    dp->ids.n_demand = settings->flows_max;
    err = eal_start(settings, &dp->huge, why, why_bytes);
    if (err) {
        free(dp);
        return err;
    }
    err = build(dp, policy, why, why_bytes);
    if (!err) {
        err = publication_init(&dp->publication, policy, dp->n_workers);
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
    uint32_t launched = 0;
    int err = 0;

    while (launched < dp->n_workers) {
        err = rte_eal_remote_launch(worker_loop, dp->workers[launched], EAL_WORKER_LCORE(launched));
        if (err)
            break;
        launched++;
    }
    dp->running = launched > 0;
    for (uint32_t stage = 0; stage < STOP_STAGES;
         stage++) /* nobody waits for those who never ran */
        __atomic_fetch_add(&dp->passed[stage], dp->n_workers - launched, __ATOMIC_RELEASE);
    return err;
}

static bool runs(uint32_t worker)
{
    return rte_eal_get_lcore_state(EAL_WORKER_LCORE(worker)) == RUNNING;
}

static bool any_runs(const struct dataplane *dp)
{
    for (uint32_t i = 0; i < dp->n_workers; i++)
        if (runs(i))
            return true;
    return false;
}

/* The first worker that runs, but gives no sign of life; those that wait for it do. n_workers:
 * none. */
static uint32_t find_stuck(const struct dataplane *dp)
{
    uint32_t i = 0;

    while (i < dp->n_workers && !(runs(i) && dataplane_silence_ns(dp, i) > DATAPLANE_STOP_NS))
        i++;
    return i;
}

int dataplane_stop(struct dataplane *dp, char *why, size_t why_bytes)
{
    uint64_t start_ns = dataplane_now_ns(dp);

    if (!dp->running)
        return 0;
    __atomic_store_n(&dp->stop, true, __ATOMIC_RELEASE);
    while (any_runs(dp)) {
        uint32_t stuck = find_stuck(dp);

        /* Not before it had the time to notice: it may have been launched just now. */
        if (stuck < dp->n_workers && dataplane_now_ns(dp) - start_ns > DATAPLANE_STOP_NS) {
            snprintf(why, why_bytes, "worker %u (CPU %u) does not stop: no sign of life for %llu s",
                     stuck, dp->workers[stuck]->cpu, DATAPLANE_STOP_NS / 1000000000);
            return -ETIMEDOUT;
        }
        nanosleep(&(struct timespec){.tv_nsec = STOP_POLL_NS}, NULL);
    }
    for (uint32_t i = 0; i < dp->n_workers; i++)
        rte_eal_wait_lcore(EAL_WORKER_LCORE(i));
    dp->running = false;
    return 0;
}

void dataplane_destroy(struct dataplane *dp)
{
    for (uint32_t i = 0; i < dp->n_ports; i++)
        port_close(&dp->ports[i]);
    if (dp->has_policy)
        publication_destroy(&dp->publication);
    free_workers(dp);
    rte_mempool_free(dp->pool);
    eal_stop();
    free(dp);
}
