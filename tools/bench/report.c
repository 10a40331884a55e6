/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/frames.h"

#define PORTS 2

/* "model name : AMD EPYC" of /proc/cpuinfo. */
static void read_cpu_model(char *model, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(model, bytes, "unknown CPU");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');

        if (value && strncmp(line, "model name", strlen("model name")) == 0) {
            snprintf(model, bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    fclose(file);
}

void report_head(const struct options *options, bool huge, const struct clock *clock)
{
    char model[128];

    if (options->json)
        return;
    read_cpu_model(model, sizeof(model));
    printf("# %s, CPU %" PRIu32 ", TSC %.3f MHz (measured), packet buffers on %s\n", model,
           options->cpu, (double)clock->measured_hz / 1e6, huge ? "huge pages" : "small pages");
    printf("# built with " BUILT_WITH "\n");
    printf("# frames of %d bytes in bursts of %d; median of %" PRIu32 " runs of %" PRIu64
           " packets by turns with the base; seed %" PRIu64 "\n",
           FRAME_BYTES, BURST_MAX, options->runs, options->packets, options->seed);
    printf("%-22s %9s %8s %-6s %9s %9s %9s %9s %7s %9s %9s %11s\n", "row", "flows", "tenants",
           "order", "cycles", "ns", "base", "delta", "ratio", "min", "max", "per_second");
}

void report_row(const struct options *options, const struct scene *scene, const struct row *row,
                const struct result *result, const struct clock *clock)
{
    double ns = result->cycles * 1e9 / (double)clock->measured_hz;
    double delta = result->cycles - result->base_cycles;
    double ratio = result->cycles / result->base_cycles;
    double per_second = (double)clock->measured_hz / result->cycles;
    const char *forwards = row->decision ? "false" : "true";
    const char *order = order_name(scene->plan.order);

    if (options->json) {
        printf("{\"row\":\"%s\",\"ports\":%d,\"flows\":%" PRIu32 ",\"tenants\":%" PRIu32
               ",\"order\":\"%s\",\"forwards\":%s,\"cycles\":%.2f,\"ns\":%.2f,\"base_cycles\":%.2f,"
               "\"delta\":%.2f,\"ratio\":%.3f,\"min\":%.2f,\"max\":%.2f,\"base_min\":%.2f,"
               "\"base_max\":%.2f,\"runs\":%" PRIu32 ",\"packets\":%" PRIu64
               ",\"per_second\":%.0f,\"compiler\":\"" BUILT_WITH "\"",
               row->name, PORTS, scene->plan.flows, scene->plan.tenants, order, forwards,
               result->cycles, ns, result->base_cycles, delta, ratio, result->min, result->max,
               result->base_min, result->base_max, result->runs, result->packets, per_second);
        if (row->add_fields)
            row->add_fields(scene, stdout);
        puts("}");
    } else {
        printf("%-22s %9" PRIu32 " %8" PRIu32
               " %-6s %9.1f %9.1f %9.1f %9.1f %7.2f %9.1f %9.1f %11.0f\n",
               row->name, scene->plan.flows, scene->plan.tenants, order, result->cycles, ns,
               result->base_cycles, delta, ratio, result->min, result->max, per_second);
    }
    fflush(stdout);
}
