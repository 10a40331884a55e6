/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's sign of life, for whoever takes over when it is missing. Compiles for BPF.
 */
#ifndef SLUICE_ADMISSION_HEARTBEAT_H
#define SLUICE_ADMISSION_HEARTBEAT_H

#include <stdint.h>

/* One writer, the worker, once per loop; a cache line of its own. */
struct heartbeat {
    uint64_t
        now_ns; /* CLOCK_MONOTONIC, as the worker has it; 0: it takes nothing, not yet or no more */
    uint64_t unused[7];
};

#endif
