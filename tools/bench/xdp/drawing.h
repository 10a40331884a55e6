/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames of the XDP benchmarks, SYNs to 10.9.0.10:80 of 60 bytes, and the programs that draw
 * their sources (draw.bpf.c).
 * One thread, pinned to one CPU. Functions return 0 or -errno.
 */
#ifndef SLUICE_BENCH_DRAWING_H
#define SLUICE_BENCH_DRAWING_H

#include <stdint.h>

#include "tools/bench/xdp/draw.h"

struct draw_bpf;

struct drawing {
    struct draw_bpf *programs;
};

int drawing_open(struct drawing *drawing);
void drawing_close(struct drawing *drawing);

/* What is drawn from now on. */
void drawing_set(struct drawing *drawing, struct draw_plan plan);

/*
 * Runs the program of descriptor `program` on `packets` frames and discards what it makes of them.
 * cpu_ns: what this thread used meanwhile. verdict: of the last one.
 */
int drawing_run(int program, uint32_t packets, uint64_t *cpu_ns, uint32_t *verdict);

/* As above, but the frames are real and go where the program sends them. */
int drawing_run_live(int program, uint32_t packets);

/* What draw_and_call hands its frames to. */
int drawing_set_target(struct drawing *drawing, int program);

/* Moves the thread to `cpu`. */
int drawing_pin(unsigned int cpu);

#endif
