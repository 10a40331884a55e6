/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/policy.h"
#include "tools/bench/rows.h"

enum { OPTION_CPU = 256 };

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},
    {"runs", required_argument, NULL, 'r'},
    {"packets", required_argument, NULL, 'p'},
    {"flows", required_argument, NULL, 'f'},
    {"rows", required_argument, NULL, 'o'},
    {"tenants", required_argument, NULL, 't'},
    {"memory", required_argument, NULL, 'm'},
    {"seed", required_argument, NULL, 's'},
    {"cpu", required_argument, NULL, OPTION_CPU},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    puts("usage: sluice-bench [-j] [--runs N] [--packets N] [--flows LIST] [--rows LIST]\n"
         "                    [--tenants N] [--memory auto|huge|none] [--cpu N] [--seed N]\n"
         "Cycles per packet of the gateway beside a MAC-swap forwarder over the same rings.\n"
         "  -j, --json     one JSON object a line instead of a table\n"
         "  --runs N       runs of base and row by turns, whose medians count (5)\n"
         "  --packets N    packets in a run (1M)\n"
         "  --flows LIST   numbers of flows (1,10k,1M)\n"
         "  --tenants N    tenants of the journey rows (100)\n"
         "  --memory MODE  packet buffers on huge pages or not (auto)\n"
         "  --cpu N        CPU to run on (the last one allowed)\n"
         "  --seed N       of the flow hash and the order of visits (1)");
    printf("  --rows LIST    of:");
    for (const struct row *const *row = rows_all; *row; row++)
        printf(" %s", (*row)->name);
    puts("");
}

/* Digits, and k or M for thousands or millions; ends at a comma or the end of the text. */
static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
    char *end;
    unsigned long long value;
    uint64_t factor = 1;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'M')
        factor = *end++ == 'k' ? 1000 : 1000000;
    *number = value * factor;
    return errno == 0 && (*end == '\0' || *end == ',') && value <= max / factor;
}

static bool parse_count(const char *text, uint64_t max, uint64_t *number)
{
    return !strchr(text, ',') && parse_number(text, max, number) && *number > 0;
}

static bool parse_flows(struct options *options, const char *list)
{
    options->n_flows = 0;
    while (list) {
        uint64_t flows;

        if (options->n_flows == OPTIONS_LIST_MAX ||
            !parse_number(list, OPTIONS_FLOWS_MAX, &flows) || flows == 0)
            return false;
        options->flows[options->n_flows++] = (uint32_t)flows;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return true;
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
    options->n_rows = 0;
    while (list) {
        const struct row *row = find_row(list, strcspn(list, ","));

        if (!row || options->n_rows == OPTIONS_LIST_MAX)
            return false;
        options->rows[options->n_rows++] = row;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
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
                                .tenants = 100};
    parse_flows(options, "1,10k,1M");
    while (rows_all[options->n_rows]) {
        options->rows[options->n_rows] = rows_all[options->n_rows];
        options->n_rows++;
    }
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
        return parse_count(value, OPTIONS_PACKETS_MAX, &options->packets);
    case 's':
        return parse_number(value, UINT64_MAX, &options->seed);
    case 'r':
        valid = parse_count(value, OPTIONS_RUNS_MAX, &number);
        options->runs = (uint32_t)number;
        return valid;
    case 't':
        valid = parse_count(value, POLICY_TENANTS_MAX, &number);
        options->tenants = (uint32_t)number;
        return valid;
    case OPTION_CPU:
        valid = parse_number(value, CPU_SETSIZE - 1, &number);
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
