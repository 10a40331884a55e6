/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/advice.h"

#include <string.h>

#include "dataplane/worker/memory.h"

static void cpus_of_node(int node, char *cpus, size_t bytes)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
    file = fopen(path, "re");
    if (!file || !fgets(cpus, (int)bytes, file))
        *cpus = '\0';
    cpus[strcspn(cpus, "\n")] = '\0';
    if (file)
        fclose(file);
}

const struct advice_host advice_this_host = {memory_node_of_cpu, cpus_of_node};

static void advise_queues(const struct dataplane *dp, const struct port *port, FILE *out)
{
    if (dp->n_workers == 1)
        return;
    if (port->rx_queues > 1 && !port->spreads)
        fprintf(out,
                "sluiced: note: %s does not spread flows symmetrically over its %u queues: packets "
                "are handed to the worker that owns their flow, at some cost; a device with "
                "symmetric RSS, or one worker, avoids it\n",
                port->device, port->rx_queues);
    if (port->rx_queues < dp->n_workers || port->tx_queues < dp->n_workers)
        fprintf(out,
                "sluiced: note: %s has %u receive and %u transmit queues for %u workers: those "
                "without one take and send their packets through the others, at some cost; give it "
                "more queues, or name fewer CPUs in eal.workers\n",
                port->device, port->rx_queues, port->tx_queues, dp->n_workers);
}

/* The first worker that polls the port from another node. */
static void advise_node(const struct dataplane *dp, uint32_t port, const struct advice_host *host,
                        FILE *out)
{
    int node = dp->ports[port].numa_node;
    char cpus[128];

    for (uint32_t i = 0; i < dp->n_lanes; i++) {
        const struct lane *lane = &dp->lanes[i];
        uint32_t cpu = dp->settings->eal.worker_cpus[lane->poller];

        if (lane->own_port != port || host->node_of_cpu(cpu) == (uint32_t)node)
            continue;
        host->cpus_of_node(node, cpus, sizeof(cpus));
        fprintf(out,
                "sluiced: warning: %s is on NUMA node %d, but CPU %u on node %u polls it, and each "
                "packet crosses over: choose eal.workers from the CPUs of node %d%s%s%s\n",
                dp->ports[port].device, node, cpu, host->node_of_cpu(cpu), node, *cpus ? " (" : "",
                cpus, *cpus ? ")" : "");
        return;
    }
}

void advise(const struct dataplane *dp, const struct advice_host *host, FILE *out)
{
    for (uint32_t i = 0; i < dp->n_ports; i++) {
        advise_queues(dp, &dp->ports[i], out);
        if (dp->ports[i].numa_node >= 0)
            advise_node(dp, i, host, out);
    }
}
