/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/xdp/drawing.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <draw.skel.h>

enum { LIVE_BATCH = 64 }; /* what a NIC's poll brings at most, and a veth's ring of 256 takes */

/* 54 bytes of headers, padded by Ethernet. */
static const uint8_t frame[60] = {
    /* to 02:00:00:00:00:02 */
    0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00,
    /* IPv4, 40 bytes, TCP, checksum 0x30be: right with sources drawn by draw.bpf.c, see there */
    0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0x30, 0xbe, 0, 0, 0, 0, 10, 9, 0, 10,
    /* 1024 -> 80, SYN */
    0x04, 0x00, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0};

/* That an object has sections which are not libbpf's business is no news. */
static int say_warnings(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

int drawing_open(struct drawing *drawing)
{
    libbpf_set_print(say_warnings);
    drawing->programs = draw_bpf__open_and_load();
    return drawing->programs ? 0 : -errno;
}

void drawing_close(struct drawing *drawing)
{
    draw_bpf__destroy(drawing->programs);
    drawing->programs = NULL;
}

void drawing_set(struct drawing *drawing, struct draw_plan plan)
{
    drawing->programs->data->draw_plan = plan;
}

int drawing_set_target(struct drawing *drawing, int program)
{
    const uint32_t only = 0;

    return bpf_map__update_elem(drawing->programs->maps.draw_target, &only, sizeof(only), &program,
                                sizeof(program), BPF_ANY);
}

int drawing_run(int program, uint32_t packets, uint64_t *cpu_ns, uint32_t *verdict)
{
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame),
                .repeat = (int)packets);
    struct timespec before, after;
    int error;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    error = bpf_prog_test_run_opts(program, &options);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    *cpu_ns = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)after.tv_nsec -
              (uint64_t)before.tv_nsec;
    *verdict = options.retval;
    return error;
}

int drawing_run_live(int program, uint32_t packets)
{
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame),
                .repeat = (int)packets, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
                .batch_size = LIVE_BATCH);

    return bpf_prog_test_run_opts(program, &options);
}

int drawing_pin(unsigned int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}
