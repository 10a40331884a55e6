/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice-xdp-source: sends SYNs of many sources into a veth, as frames without skb, and says how
 * many went and what CPU time that took, with all that the receiver did of it in softirqs.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/xdp/drawing.h"
#include "tools/bench/xdp/options.h"
#include "tools/bench/xdp/softirq.h"

#include <draw.skel.h>

enum { CHUNK_PACKETS = 1 << 16 }; /* a few ms: how late the end is noticed */

struct options {
    struct draw_plan plan; /* into 0: frames are dropped where they are made */
    double seconds;
    unsigned int cpu;
};

struct sent {
    uint64_t packets, wall_ns, cpu_ns;
};

static int usage(int status)
{
    fputs("usage: sluice-xdp-source [--into INTERFACE] [--seconds S] [--sources N] [--first N]\n"
          "                         [--step N] [--cpu N]\n"
          "SYNs to 10.9.0.10:80 into a veth whose peer has an XDP program or GRO; a JSON object.\n"
          "  --into INTERFACE  none: drops them at once, what the source costs by itself\n"
          "  --seconds S       for how long (1)\n"
          "  --sources N       so many addresses, drawn at random, up to 2^32 (4096)\n"
          "  --first N         the first of them, as a number (167772160, which is 10.0.0.0)\n"
          "  --step N          from one of them to the next (1)\n"
          "  --cpu N           CPU to run on (the last one allowed)\n",
          status ? stderr : stdout);
    return status;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"into", required_argument, NULL, 'i'},    {"seconds", required_argument, NULL, 's'},
        {"sources", required_argument, NULL, 'n'}, {"first", required_argument, NULL, 'f'},
        {"step", required_argument, NULL, 't'},    {"cpu", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    double value = 0;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        bool right = option != '?';

        if (option == 'i')
            right = (options->plan.into = if_nametoindex(optarg)) > 0;
        else if (option == 's')
            right = options_number(optarg, 0.001, 3600, &options->seconds);
        else if (option == 'n' && (right = options_number(optarg, 1, 0x1p32, &value)))
            options->plan.sources = (uint64_t)value;
        else if (option == 'f' && (right = options_number(optarg, 0, 0x1p32 - 1, &value)))
            options->plan.first = (uint32_t)value;
        else if (option == 't' && (right = options_number(optarg, 1, 0x1p32 - 1, &value)))
            options->plan.step = (uint32_t)value;
        else if (option == 'c' && (right = options_number(optarg, 0, OPTIONS_CPU_MAX, &value)))
            options->cpu = (unsigned int)value;
        else if (option == 'h')
            exit(usage(0));
        if (!right)
            return false;
    }
    return optind == argc;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int send_frames(struct drawing *drawing, const struct options *options, struct sent *sent)
{
    struct bpf_program *program = options->plan.into ? drawing->programs->progs.draw_and_send
                                                     : drawing->programs->progs.draw_only;
    clockid_t softirqs;
    uint64_t begun_ns, begun_cpu_ns;
    int error = softirq_clock(options->cpu, &softirqs);

    if (error)
        return error;
    begun_cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + now_ns(softirqs);
    begun_ns = now_ns(CLOCK_MONOTONIC);
    do {
        error = drawing_run_live(bpf_program__fd(program), CHUNK_PACKETS);
        sent->packets += CHUNK_PACKETS;
        sent->wall_ns = now_ns(CLOCK_MONOTONIC) - begun_ns;
    } while (!error && (double)sent->wall_ns < options->seconds * 1e9);
    sent->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + now_ns(softirqs) - begun_cpu_ns;
    return error;
}

static int run(const struct options *options)
{
    struct drawing drawing;
    struct sent sent = {0};
    int error = drawing_pin(options->cpu);

    if (error || (error = drawing_open(&drawing)))
        return error;
    drawing_set(&drawing, options->plan);
    error = send_frames(&drawing, options, &sent);
    if (!error)
        printf("{\"sent\":%llu,\"seconds\":%.6f,\"cpu_s\":%.6f}\n",
               (unsigned long long)sent.packets, (double)sent.wall_ns / 1e9,
               (double)sent.cpu_ns / 1e9);
    drawing_close(&drawing);
    return error;
}

int main(int argc, char **argv)
{
    struct options options = {.plan = {.first = 10u << 24, .step = 1, .sources = 4096},
                              .seconds = 1,
                              .cpu = options_last_cpu()};
    int error;

    if (!read_options(argc, argv, &options))
        return usage(2);
    error = run(&options);
    if (error)
        fprintf(stderr, "sluice-xdp-source: %s\n", strerror(-error));
    return error ? 1 : 0;
}
