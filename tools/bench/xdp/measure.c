/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice-xdp-cost: CPU time of a packet in an XDP program, run by run, each beside the program that
 * draws the same packets and drops them. One JSON line a run; tools/bench/xdp/cost makes a table.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/xdp/drawing.h"
#include "tools/bench/xdp/options.h"
#include "tools/bench/xdp/subject.h"

#include <draw.skel.h>

enum { SUBJECTS_MAX = 16 };

struct bench {
    struct drawing drawing;
    struct subject noop, subjects[SUBJECTS_MAX];
    size_t n_subjects; /* that are open */
    uint32_t packets;
};

struct options {
    unsigned int cpu, runs;
    uint32_t packets;
};

static int usage(int status)
{
    fputs("usage: sluice-xdp-cost [--runs N] [--packets N] [--cpu N]\n"
          "  --runs N     of each row (7)\n"
          "  --packets N  in a run (1000000)\n"
          "  --cpu N      CPU to run on (the last one allowed)\n",
          status ? stderr : stdout);
    return status;
}

/* Nanoseconds of CPU time for each packet; draws them, and hands them to `subject`. */
static int measure(struct bench *bench, const struct subject *subject, double *ns)
{
    uint64_t cpu_ns;
    uint32_t verdict;
    int error = drawing_set_target(&bench->drawing, subject->program);

    if (!error)
        error = drawing_run(bpf_program__fd(bench->drawing.programs->progs.draw_and_call),
                            bench->packets, &cpu_ns, &verdict);
    if (!error && verdict != subject->verdict) {
        fprintf(stderr, "sluice-xdp-cost: %s: the last verdict is %u, not %u\n", subject->name,
                verdict, subject->verdict);
        error = -EPROTO;
    }
    if (!error)
        *ns = (double)cpu_ns / bench->packets;
    return error;
}

/* The bare program, on packets that are all the same. */
static int measure_plain(const struct bench *bench, double *ns)
{
    uint64_t cpu_ns;
    uint32_t verdict;
    int error = drawing_run(bench->noop.program, bench->packets, &cpu_ns, &verdict);

    if (!error)
        *ns = (double)cpu_ns / bench->packets;
    return error;
}

static int run_subject(struct bench *bench, const struct subject *subject, unsigned int run)
{
    uint64_t before = 0, after = 0;
    double noop_ns, ns;
    int error;

    drawing_set(&bench->drawing, subject->plan);
    error = measure(bench, &bench->noop, &noop_ns);
    if (!error)
        error = subject->count(subject, &before);
    if (!error)
        error = measure(bench, subject, &ns);
    if (!error)
        error = subject->count(subject, &after);
    if (!error)
        printf("{\"row\":\"%s\",\"run\":%u,\"ns\":%.3f,\"noop_ns\":%.3f,\"packets\":%u,"
               "\"counted\":%llu}\n",
               subject->name, run, ns, noop_ns, bench->packets,
               (unsigned long long)(after - before));
    return error;
}

static int run_noop(struct bench *bench, unsigned int run)
{
    double plain_ns, noop_ns;
    int error;

    drawing_set(&bench->drawing, bench->noop.plan);
    error = measure_plain(bench, &plain_ns);
    if (!error)
        error = measure(bench, &bench->noop, &noop_ns);
    if (!error)
        printf("{\"row\":\"noop\",\"run\":%u,\"ns\":%.3f,\"plain_ns\":%.3f,\"packets\":%u}\n", run,
               noop_ns, plain_ns, bench->packets);
    return error;
}

static int run_all(struct bench *bench, unsigned int runs)
{
    int error = 0;

    for (unsigned int run = 0; run < runs && !error; run++) {
        error = run_noop(bench, run);
        for (size_t n = 0; n < bench->n_subjects && !error; n++)
            error = run_subject(bench, &bench->subjects[n], run);
    }
    return error;
}

/* A subject that does not load is left out, and the reason is its row. */
static void open_subject(struct bench *bench, const struct subject *subject)
{
    struct subject *opened = &bench->subjects[bench->n_subjects];
    int error;

    *opened = *subject;
    error = opened->open(opened);
    if (error)
        printf("{\"row\":\"%s\",\"unavailable\":\"%s\"}\n", subject->name, strerror(-error));
    else
        bench->n_subjects++;
}

static void open_subjects(struct bench *bench)
{
    open_subject(bench, &subject_miss);
    for (size_t n = 0; n < n_subjects_filter; n++)
        open_subject(bench, &subjects_filter[n]);
    for (size_t n = 0; n < n_subjects_gate; n++)
        open_subject(bench, &subjects_gate[n]);
}

static void close_subjects(struct bench *bench)
{
    for (size_t n = 0; n < bench->n_subjects; n++)
        bench->subjects[n].close(&bench->subjects[n]);
}

static int run(const struct options *options)
{
    struct bench bench = {.noop = subject_noop, .packets = options->packets};
    int error = drawing_pin(options->cpu);

    if (error || (error = drawing_open(&bench.drawing)))
        return error;
    error = bench.noop.open(&bench.noop);
    if (error)
        goto close_drawing;
    open_subjects(&bench);
    error = run_all(&bench, options->runs);
    close_subjects(&bench);
    bench.noop.close(&bench.noop);
close_drawing:
    drawing_close(&bench.drawing);
    return error;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"runs", required_argument, NULL, 'r'},
        {"packets", required_argument, NULL, 'p'},
        {"cpu", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    double value = 0;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        bool right = option != '?';

        if (option == 'h')
            exit(usage(0));
        else if (option == 'r' && (right = options_number(optarg, 1, 1000, &value)))
            options->runs = (unsigned int)value;
        else if (option == 'p' && (right = options_number(optarg, 1, 1e9, &value)))
            options->packets = (uint32_t)value;
        else if (option == 'c' && (right = options_number(optarg, 0, OPTIONS_CPU_MAX, &value)))
            options->cpu = (unsigned int)value;
        if (!right)
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct options options = {.cpu = options_last_cpu(), .runs = 7, .packets = 1000000};
    int error;

    if (!read_options(argc, argv, &options))
        return usage(2);
    error = run(&options);
    if (error)
        fprintf(stderr, "sluice-xdp-cost: %s\n", strerror(-error));
    return error ? 1 : 0;
}
