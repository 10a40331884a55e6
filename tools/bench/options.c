/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/policy.h"
#include "tools/bench/numbers.h"
#include "tools/bench/rows.h"

enum { OPTION_CPU = 256, OPTION_ORDER };

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},
    {"runs", required_argument, NULL, 'r'},
    {"packets", required_argument, NULL, 'p'},
    {"flows", required_argument, NULL, 'f'},
    {"rows", required_argument, NULL, 'o'},
    {"tenants", required_argument, NULL, 't'},
    {"order", required_argument, NULL, OPTION_ORDER},
    {"memory", required_argument, NULL, 'm'},
    {"seed", required_argument, NULL, 's'},
    {"cpu", required_argument, NULL, OPTION_CPU},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    puts("usage: sluice-bench [-j] [--runs N] [--packets N] [--flows LIST] [--rows LIST]\n"
         "                    [--tenants LIST] [--order LIST] [--memory auto|huge|none]\n"
         "                    [--cpu N] [--seed N]\n"
         "Cycles per packet of the gateway beside a MAC-swap forwarder over the same rings.\n"
         "  -j, --json     one JSON object a line instead of a table\n"
         "  --runs N       runs of base and row by turns, whose medians count (5)\n"
         "  --packets N    packets in a run (1M)\n"
         "  --flows LIST   numbers of flows (1,10k,1M)\n"
         "  --tenants LIST numbers of tenants of the journey rows (100)\n"
         "  --order LIST   in which flows are visited, of: random zipf (random)\n"
         "  --memory MODE  packet buffers on huge pages or not (auto)\n"
         "  --cpu N        CPU to run on (the last one allowed)\n"
         "  --seed N       of the flow hash and the order of visits (1)");
    printf("  --rows LIST    of:");
    for (const struct row *const *row = rows_all; *row; row++)
        printf(" %s", (*row)->name);
    puts("\nWithout --flows, --tenants and --order, the journeys are measured with 1, 1k and 10k\n"
         "tenants and in the order of Zipf, too.");
}

static const struct row *find_row(const char *name, size_t bytes)
{
    for (const struct row *const *row = rows_all; *row; row++)
        if (strlen((*row)->name) == bytes && strncmp((*row)->name, name, bytes) == 0)
            return *row;
    return NULL;
}

static bool parse_rows(struct options *options, const char *list)
{
    for (options->n_rows = 0; list; list = list_next(list)) {
        const struct row *row = find_row(list, strcspn(list, ","));

        if (!row || options->n_rows == OPTIONS_LIST_MAX)
            return false;
        options->rows[options->n_rows++] = row;
    }
    return true;
}

static bool parse_flows(struct options *options, const char *list)
{
    options->default_run = false;
    return number_parse_counts(list, OPTIONS_FLOWS_MAX, OPTIONS_LIST_MAX, options->flows,
                               &options->n_flows);
}

static bool parse_tenants(struct options *options, const char *list)
{
    options->default_run = false;
    return number_parse_counts(list, POLICY_TENANTS_MAX, OPTIONS_LIST_MAX, options->tenants,
                               &options->n_tenants);
}

/* ORDERS: none of this name. */
static enum order find_order(const char *name, size_t bytes)
{
    enum order order = 0;

    while (order < ORDERS &&
           (strlen(order_name(order)) != bytes || strncmp(order_name(order), name, bytes) != 0))
        order++;
    return order;
}

static bool parse_orders(struct options *options, const char *list)
{
    options->default_run = false;
    for (options->n_orders = 0; list; list = list_next(list)) {
        enum order order = find_order(list, strcspn(list, ","));

        if (order == ORDERS || options->n_orders == ORDERS)
            return false;
        options->orders[options->n_orders++] = order;
    }
    return true;
}

static bool parse_memory(struct options *options, const char *name)
{
    if (strcmp(name, "auto") == 0)
        options->memory = MEMORY_AUTO;
    else if (strcmp(name, "huge") == 0)
        options->memory = MEMORY_HUGE;
    else if (strcmp(name, "none") == 0)
        options->memory = MEMORY_NONE;
    else
        return false;
    return true;
}

/* The first CPU serves most interrupts, so the last one that we may use is the quieter choice. */
static uint32_t last_cpu(void)
{
    cpu_set_t allowed;
    uint32_t last = 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &allowed))
                last = cpu;
    return last;
}

static void set_defaults(struct options *options)
{
    *options = (struct options){.memory = MEMORY_AUTO,
                                .cpu = last_cpu(),
                                .runs = 5,
                                .packets = 1000000,
                                .seed = 1,
                                .default_run = true,
                                .n_flows = 3,
                                .flows = {1, 10000, 1000000},
                                .n_tenants = 1,
                                .tenants = {OPTIONS_DEFAULT_TENANTS},
                                .n_orders = 1,
                                .orders = {ORDER_RANDOM}};
    for (const struct row *const *row = rows_all; *row; row++)
        if (!(*row)->on_request)
            options->rows[options->n_rows++] = *row;
}

static bool parse_option(struct options *options, int option, const char *value)
{
    uint64_t number = 0;
    bool valid;

    switch (option) {
    case 'j':
        return options->json = true;
    case 'f':
        return parse_flows(options, value);
    case 'o':
        return parse_rows(options, value);
    case 'm':
        return parse_memory(options, value);
    case 'p':
        return number_parse_count(value, OPTIONS_PACKETS_MAX, &options->packets);
    case 's':
        return number_parse(value, UINT64_MAX, &options->seed);
    case 'r':
        valid = number_parse_count(value, OPTIONS_RUNS_MAX, &number);
        options->runs = (uint32_t)number;
        return valid;
    case 't':
        return parse_tenants(options, value);
    case OPTION_ORDER:
        return parse_orders(options, value);
    case OPTION_CPU:
        valid = number_parse(value, CPU_SETSIZE - 1, &number);
        options->cpu = (uint32_t)number;
        return valid;
    default:
        return false;
    }
}

int options_parse(struct options *options, int argc, char **argv)
{
    int option, index;

    set_defaults(options);
    while ((option = getopt_long(argc, argv, "jh", long_options, &index)) != -1) {
        if (option == 'h') {
            print_help();
            return 1;
        }
        if (!parse_option(options, option, optarg)) {
            if (option != '?')
                fprintf(stderr, "sluice-bench: %s is no value for this option; see --help\n",
                        optarg);
            return -EINVAL;
        }
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "sluice-bench: %s: no arguments are expected; see --help\n", argv[optind]);
    return -EINVAL;
}
