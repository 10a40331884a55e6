/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/config.h"

#define LINE 64u

static void *lines(size_t bytes)
{
    size_t whole = (bytes + LINE - 1) & ~(size_t)(LINE - 1);
    void *memory = aligned_alloc(LINE, whole);

    return memory ? memset(memory, 0, whole) : NULL;
}

/* As the daemon makes its tables for the same settings. */
static struct admission_size size_of(const struct settings *settings, uint32_t n_workers)
{
    return (struct admission_size){
        .n_tenants = settings->policy.n_tenants,
        .n_services = settings->policy.n_services,
        .n_workers = n_workers,
        .n_waiters = settings->dataplane.waiting_max,
        .n_answered = settings->dataplane.flows_max / n_workers + 1,
        .n_demand = settings->dataplane.flows_max,
    };
}

static int build(struct gate *gate, const struct admission_size *size)
{
    void *memory = lines(admission_shared_bytes(size));

    gate->workers = calloc(size->n_workers, sizeof(*gate->workers));
    gate->waiting = calloc(size->n_workers, sizeof(*gate->waiting));
    gate->offered = calloc(size->n_workers, sizeof(*gate->offered));
    gate->tidied = calloc(size->n_workers, sizeof(*gate->tidied));
    gate->tidying = calloc(size->n_workers, sizeof(*gate->tidying));
    if (memory)
        gate->shared = admission_shared_init(memory, size);
    if (!memory || !gate->workers || !gate->waiting || !gate->offered || !gate->tidied ||
        !gate->tidying)
        return -ENOMEM;
    for (uint32_t i = 0; i < size->n_workers; i++) {
        memory = lines(admission_bytes(size));
        if (!memory)
            return -ENOMEM;
        gate->workers[i] = admission_init(memory, gate->shared, i);
    }
    memory = lines(admission_control_bytes(size));
    if (!memory)
        return -ENOMEM;
    gate->control = admission_control_init(memory, gate->shared, gate->workers);
    return 0;
}

int gate_open(struct gate *gate, const struct scenario *scenario)
{
    const struct settings *settings = scenario->gate;
    struct admission_size size;
    int err;

    *gate = (struct gate){.settings = settings, .period_s = GATE_PERIOD_S};
    gate->n_workers = scenario->workers ? scenario->workers : 1;
    if (settings->control.period_ns)
        gate->period_s = (double)settings->control.period_ns / 1e9;
    err = policy_create(&settings->policy, &gate->policy);
    if (err)
        return err;
    size = size_of(settings, gate->n_workers);
    err = build(gate, &size);
    if (err)
        return err;
    admission_shared_adopt(gate->shared, gate->policy, gate_ns(0));
    for (uint32_t i = 0; i < gate->n_workers; i++)
        admission_adopt(gate->workers[i], gate->policy, gate_ns(0));
    return 0;
}

void gate_close(struct gate *gate)
{
    for (uint32_t i = 0; gate->workers && i < gate->n_workers; i++)
        free(gate->workers[i]);
    free(gate->workers);
    free(gate->waiting);
    free(gate->offered);
    free(gate->tidied);
    free(gate->tidying);
    free(gate->control);
    free(gate->shared);
    policy_free(gate->policy);
}

uint32_t gate_find_tenant(const struct gate *gate, const char *name)
{
    for (uint32_t i = 0; i < policy_tenant_count(gate->policy); i++)
        if (strcmp(policy_tenant(gate->policy, i)->name, name) == 0)
            return i;
    return POLICY_NONE;
}

uint32_t gate_find_service(const struct gate *gate, const char *name)
{
    uint32_t n = policy_service_count(gate->policy);

    if (!*name)
        return n ? 0 : POLICY_NONE;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(policy_service(gate->policy, i)->name, name) == 0)
            return i;
    return POLICY_NONE;
}

bool gate_looks_at_ages(const struct gate *gate)
{
    for (uint32_t i = 0; i < policy_service_count(gate->policy); i++)
        if (policy_service(gate->policy, i)->deadline_ns ||
            policy_service(gate->policy, i)->breaker.failures)
            return true;
    return false;
}

/* The gateway itself keeps up, always: its own cost is measured, not simulated. */
void gate_step(struct gate *gate, double t_s)
{
    const struct gateway_sample calm = {0};

    admission_control_step(gate->control, gate->policy, &calm, gate_ns(t_s));
}
