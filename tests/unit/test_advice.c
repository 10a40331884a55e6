/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of NUMA nodes and queues: on a machine of two nodes, CPUs 0-7 and 8-15. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/worker/advice.h"

static struct dataplane_settings settings;
static struct dataplane dp;

static uint32_t node_of_cpu(uint32_t cpu)
{
    return cpu / 8;
}

#define REMEDY ", at some cost; give it more queues, or name fewer CPUs in eal.workers"

static void cpus_of_node(int node, char *cpus, size_t bytes)
{
    snprintf(cpus, bytes, "%s", node == 1 ? "8-15" : "");
}

static const struct advice_host two_nodes = {node_of_cpu, cpus_of_node};

static void workers_on(uint32_t n, const uint32_t *cpus)
{
    settings = (struct dataplane_settings){.eal = {.n_workers = n}};
    for (uint32_t i = 0; i < n; i++)
        settings.eal.worker_cpus[i] = cpus[i];
    dp = (struct dataplane){.settings = &settings, .n_workers = n};
}

/* Queue q is polled by worker q % workers, as with a card that has several. */
static void add_port(const char *device, int node, uint16_t rx, uint16_t tx, bool spreads)
{
    for (uint16_t q = 0; q < rx; q++)
        dp.lanes[dp.n_lanes++] = (struct lane){
            .own_port = (uint16_t)dp.n_ports, .queue = q, .poller = (uint16_t)(q % dp.n_workers)};
    dp.ports[dp.n_ports++] = (struct port){
        .device = device, .numa_node = node, .rx_queues = rx, .tx_queues = tx, .spreads = spreads};
}

static void advised(const char *expected)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    advise(&dp, &two_nodes, stream);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void a_card_on_another_node_is_told_with_its_cpus(void **state)
{
    (void)state;
    workers_on(1, (const uint32_t[]){3});
    add_port("here", 0, 1, 1, false);
    add_port("there", 1, 1, 1, false);
    add_port("nowhere", -1, 1, 1, false);
    advised("sluiced: warning: there is on NUMA node 1, but CPU 3 on node 0 polls it, and each "
            "packet crosses over: choose eal.workers from the CPUs of node 1 (8-15)\n");
    /* Two workers are on its node, the third is not; how the node is made up is not known. */
    workers_on(3, (const uint32_t[]){1, 2, 9});
    add_port("card", 0, 3, 3, true);
    advised("sluiced: warning: card is on NUMA node 0, but CPU 9 on node 1 polls it, and each "
            "packet crosses over: choose eal.workers from the CPUs of node 0\n");
    /* Whoever does not poll it does not matter. */
    workers_on(2, (const uint32_t[]){1, 9});
    add_port("card", 0, 1, 2, false);
    advised("sluiced: note: card has 1 receive and 2 transmit queues for 2 workers: those without "
            "one take and send their packets through the others" REMEDY "\n");
    /* Each polls the one on its own node. */
    add_port("other", 1, 1, 2, false);
    dp.lanes[1].poller = 1;
    advised("sluiced: note: card has 1 receive and 2 transmit queues for 2 workers: those without "
            "one take and send their packets through the others" REMEDY "\n"
            "sluiced: note: other has 1 receive and 2 transmit queues for 2 workers: those without "
            "one take and send their packets through the others" REMEDY "\n");
}

static void queues_that_are_missing_are_counted(void **state)
{
    (void)state;
    workers_on(4, (const uint32_t[]){0, 1, 2, 3});
    add_port("enough", 0, 4, 4, true);
    advised("");
    add_port("few", 0, 2, 4, true);
    add_port("odd", 0, 4, 1, false);
    advised(
        "sluiced: note: few has 2 receive and 4 transmit queues for 4 workers: those without "
        "one take and send their packets through the others" REMEDY "\n"
        "sluiced: note: odd does not spread flows symmetrically over its 4 queues: packets are "
        "handed to the worker that owns their flow, at some cost; a device with symmetric RSS, or "
        "one worker, avoids it\n"
        "sluiced: note: odd has 4 receive and 1 transmit queues for 4 workers: those without "
        "one take and send their packets through the others" REMEDY "\n");
    /* One worker owns every flow. */
    workers_on(1, (const uint32_t[]){0});
    add_port("many", 0, 16, 16, false);
    advised("");
}

/* CPU 0 is on some node, and that node's list names it; where there are no nodes, nothing does. */
static void this_host_knows_its_nodes(void **state)
{
    uint32_t node = advice_this_host.node_of_cpu(0);
    char cpus[128] = "unchanged";

    (void)state;
    advice_this_host.cpus_of_node((int)node, cpus, sizeof(cpus));
    assert_true(cpus[0] == '\0' || cpus[0] == '0');
    advice_this_host.cpus_of_node(100000, cpus, sizeof(cpus));
    assert_string_equal(cpus, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_on_another_node_is_told_with_its_cpus),
        cmocka_unit_test(queues_that_are_missing_are_counted),
        cmocka_unit_test(this_host_knows_its_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
