/* SPDX-License-Identifier: BSD-3-Clause */
/* What draw.bpf.c and its users share. */
#ifndef SLUICE_BENCH_DRAW_H
#define SLUICE_BENCH_DRAW_H

#include <stdint.h>

/* Sources are first, first + step ... first + (sources - 1) * step, each as likely as another. */
struct draw_plan {
    uint32_t first, step; /* addresses in host byte order */
    uint32_t into;        /* index of the interface that frames are sent to */
    uint32_t unused;      /* no hole */
    uint64_t sources;     /* 1 to 2^32 */
};

#endif
