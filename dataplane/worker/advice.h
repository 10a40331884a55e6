/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is not wrong with a wired data plane, but costs: devices on another NUMA node than the
 * worker that polls them, and queues that are too few or filled without regard to flows. Control
 * thread, once, before the workers run.
 */
#ifndef SLUICE_WORKER_ADVICE_H
#define SLUICE_WORKER_ADVICE_H

#include <stdio.h>

#include "dataplane/worker/dataplane.h"

struct advice_host {
    uint32_t (*node_of_cpu)(uint32_t cpu);
    /* "8-15,24"; "" when that is not known */
    void (*cpus_of_node)(int node, char *cpus, size_t bytes);
};
extern const struct advice_host advice_this_host;

/* A line for each device and matter. */
void advise(const struct dataplane *dp, const struct advice_host *host, FILE *out);

#endif
