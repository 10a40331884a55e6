/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tools/bench/options.h"
#include "tools/bench/traffic.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT    (void)0
#define CALLGRIND_DUMP_STATS_AT(at) (void)(at)
#endif

/* What is done with a batch: the middle is measured. */
struct forwarder {
    const char *prefix; /* of its dumps */
    void (*prepare)(struct scene *scene, unsigned n);
    void (*run)(struct scene *scene, unsigned n);
    bool packets;  /* they are put into the ring before and taken out after */
    bool answered; /* ... of the port they came from */
    bool (*expected)(const uint8_t *frame);
    uint64_t (*claimed)(const struct scene *scene);
};

static void run_base(struct scene *scene, unsigned n)
{
    traffic_swap_macs(scene, n);
    scene->swapped += n;
}

static uint64_t claimed_base(const struct scene *scene)
{
    return scene->swapped;
}

static const struct forwarder base = {
    .prefix = "base:",
    .run = run_base,
    .packets = true,
    .expected = frame_is_swapped,
    .claimed = claimed_base,
};

static struct forwarder forwarder_of(const struct row *row)
{
    return (struct forwarder){
        .prefix = "",
        .prepare = row->prepare,
        .run = row->run,
        .packets = !row->decision,
        .answered = row->answered,
        .expected = row->answered ? frame_is_reset : frame_is_forwarded,
        .claimed = row->claimed,
    };
}

static bool run_batch(struct scene *scene, const struct row *row, const struct forwarder *by,
                      unsigned n, uint64_t *cycles)
{
    struct side *outside = &scene->rings->outside, *inside = &scene->rings->inside;
    uint64_t start;

    scene_visit(scene, n, frame_ip_bytes(row->tcp_flags));
    if (by->prepare)
        by->prepare(scene, n);
    if (by->packets && !traffic_send(scene, outside, n, (struct frame_kind){false, row->tcp_flags}))
        return false;
    CALLGRIND_TOGGLE_COLLECT;
    start = rte_rdtsc();
    by->run(scene, n);
    *cycles += rte_rdtsc() - start;
    CALLGRIND_TOGGLE_COLLECT;
    return !by->packets || traffic_collect(by->answered ? outside : inside, n, by->expected);
}

/* Newcomers come once each; when all are there they are forgotten and come anew. */
static unsigned next_batch(struct scene *scene, const struct row *row, uint64_t left)
{
    unsigned n = (unsigned)RTE_MIN(left, (uint64_t)RINGS_BATCH);

    if (!row->newcomers)
        return n;
    if (scene->at == 0)
        scene_forget_flows(scene);
    return RTE_MIN(n, scene->plan.flows - scene->at);
}

static void dump_instructions(const struct scene *scene, const struct row *row,
                              const struct forwarder *by, uint64_t packets)
{
    char name[96];

    snprintf(name, sizeof(name), "%s%s %" PRIu32 " %" PRIu32 " %s %" PRIu64, by->prefix, row->name,
             scene->plan.flows, scene->plan.tenants, order_name(scene->plan.order), packets);
    CALLGRIND_DUMP_STATS_AT(name);
}

/* Cycles of `packets`. */
struct span {
    uint64_t cycles, packets;
};

static void span_add(struct span *sum, const struct span *span)
{
    sum->cycles += span->cycles;
    sum->packets += span->packets;
}

/* How often so far the kernel gave our CPU to somebody else. */
static long preemptions(void)
{
    struct rusage usage = {.ru_nivcsw = 0};

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* At least RINGS_BATCH packets, unless fewer are left. */
static bool run_stretch(struct scene *scene, const struct row *row, const struct forwarder *by,
                        uint64_t left, struct span *span)
{
    *span = (struct span){0, 0};
    while (span->packets < RTE_MIN(left, (uint64_t)RINGS_BATCH)) {
        unsigned n = next_batch(scene, row, left - span->packets);

        if (!run_batch(scene, row, by, n, &span->cycles))
            return false;
        span->packets += n;
    }
    return true;
}

/* A stretch in which another process had the CPU says nothing about us: it counts only if every
 * stretch was like that. */
static bool run_all(struct scene *scene, const struct row *row, const struct forwarder *by,
                    uint64_t packets, double *cycles_per_packet)
{
    struct span all = {0, 0}, undisturbed = {0, 0}, span;
    uint64_t before = by->claimed(scene);

    if (row->newcomers)
        scene->at = 0;
    while (all.packets < packets) {
        long preempted = preemptions();

        if (!run_stretch(scene, row, by, packets - all.packets, &span))
            return false;
        span_add(&all, &span);
        if (preemptions() == preempted)
            span_add(&undisturbed, &span);
    }
    dump_instructions(scene, row, by, packets);
    if (undisturbed.packets == 0)
        undisturbed = all;
    *cycles_per_packet = (double)undisturbed.cycles / (double)undisturbed.packets;
    return by->claimed(scene) - before == packets;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int measure_row(struct scene *scene, const struct row *row, uint32_t runs, uint64_t packets,
                struct result *result, char *why, size_t why_bytes)
{
    const struct forwarder own = forwarder_of(row);
    double cycles[OPTIONS_RUNS_MAX], base_cycles[OPTIONS_RUNS_MAX];

    for (uint32_t i = 0; i < runs; i++) {
        if (!run_all(scene, row, &base, packets, &base_cycles[i])) {
            snprintf(why, why_bytes, "not every packet went through the base");
            return -EIO;
        }
        if (!run_all(scene, row, &own, packets, &cycles[i])) {
            snprintf(why, why_bytes, "not every packet met with what the row claims");
            return -EIO;
        }
    }
    *result = (struct result){.base_cycles = median(base_cycles, runs),
                              .cycles = median(cycles, runs),
                              .runs = runs,
                              .packets = packets};
    result->min = cycles[0]; /* sorted by now */
    result->max = cycles[runs - 1];
    result->base_min = base_cycles[0];
    result->base_max = base_cycles[runs - 1];
    return 0;
}
