/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice-bench: what a packet costs in the gateway, beside the least that a forwarder can do.
 */
#include <errno.h>
#include <stdio.h>

#include "dataplane/worker/clock.h"
#include "dataplane/worker/eal.h"
#include "tools/bench/cases.h"
#include "tools/bench/measure.h"
#include "tools/bench/options.h"
#include "tools/bench/report.h"

#define MEMORY_MIB 64

enum { EXIT_OK, EXIT_RUN_TIME, EXIT_USAGE, EXIT_EAL = 4 };

struct bench {
    struct options options;
    struct cases cases;
    struct rings rings;
    struct clock clock;
};

/* What the rows take of DPDK's memory, one after the other. */
static uint32_t memory_mib(const struct options *options)
{
    uint32_t most_mib = 0, most_flows = 0;

    for (uint32_t f = 0; f < options->n_flows; f++)
        most_flows = RTE_MAX(most_flows, options->flows[f]);
    for (uint32_t r = 0; r < options->n_rows; r++) {
        const struct row *row = options->rows[r];
        uint64_t flow_mib = (uint64_t)most_flows * row->eal_flow_bytes >> 20;

        most_mib = RTE_MAX(most_mib, row->eal_mib + (uint32_t)flow_mib);
    }
    return MEMORY_MIB + most_mib;
}

static int measure_in_scene(struct bench *bench, struct scene *scene, const struct row *row)
{
    const struct options *options = &bench->options;
    struct result result;
    char why[128] = "it cannot be set up";
    int err;

    scene->shape = row->shape;
    err = row->set_up && !row->set_up(scene) ? -EIO : 0;
    if (!err && !scene_arrange(scene)) {
        snprintf(why, sizeof(why), "no memory for the order of visits");
        err = -ENOMEM;
    }
    if (!err)
        err = measure_row(scene, row, options->runs, options->packets, &result, why, sizeof(why));
    if (err)
        fprintf(stderr, "sluice-bench: row %s with %u flows: %s\n", row->name, scene->plan.flows,
                why);
    else
        report_row(options, scene, row, &result, &bench->clock);
    if (row->tear_down)
        row->tear_down(scene);
    return err;
}

static int bench_case(struct bench *bench, const struct bench_case *wanted)
{
    const struct scene_plan plan = {.flows = wanted->flows,
                                    .tenants = wanted->tenants,
                                    .cpu = bench->options.cpu,
                                    .seed = bench->options.seed,
                                    .order = wanted->order,
                                    .service = wanted->row->service,
                                    .spent = wanted->row->spent};
    struct scene *scene = scene_open(&plan, &bench->rings);
    int err;

    if (!scene) {
        fprintf(stderr, "sluice-bench: no memory for %u flows\n", plan.flows);
        return -ENOMEM;
    }
    err = measure_in_scene(bench, scene, wanted->row);
    scene_close(scene);
    return err;
}

static int bench_cases(struct bench *bench)
{
    int err = 0;

    for (uint32_t i = 0; i < bench->cases.n && !err; i++)
        err = bench_case(bench, &bench->cases.at[i]);
    return err;
}

static int run(struct bench *bench, bool huge)
{
    char why[256];
    int err = rings_open(&bench->rings, why, sizeof(why));

    if (err) {
        fprintf(stderr, "sluice-bench: %s\n", why);
        return EXIT_EAL;
    }
    clock_start(&bench->clock);
    report_head(&bench->options, huge, &bench->clock);
    err = bench_cases(bench);
    rings_close(&bench->rings);
    return err ? EXIT_RUN_TIME : EXIT_OK;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct dataplane_settings settings = {.eal = {.extra = ""}};
    bool huge;
    char why[256];
    int status = options_parse(&bench.options, argc, argv);

    if (status)
        return status > 0 ? EXIT_OK : EXIT_USAGE;
    cases_plan(&bench.options, &bench.cases);
    if (bench.cases.n == 0)
        return EXIT_USAGE;
    settings.eal.memory_mib = memory_mib(&bench.options);
    settings.eal.memory = bench.options.memory;
    settings.eal.main_cpu = bench.options.cpu;
    if (eal_start(&settings, &huge, why, sizeof(why)) != 0) {
        fprintf(stderr, "sluice-bench: %s\n", why);
        return EXIT_EAL;
    }
    status = run(&bench, huge);
    eal_stop();
    return status;
}
