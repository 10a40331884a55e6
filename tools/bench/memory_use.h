/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a table took: bytes and time. Both are differences, of before and after it was built.
 */
#ifndef SLUICE_BENCH_MEMORY_USE_H
#define SLUICE_BENCH_MEMORY_USE_H

#include <malloc.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <stdint.h>

struct memory_use {
    uint64_t bytes, cycles;
};

/* Of libc's and of DPDK's heap. */
static inline struct memory_use memory_use_now(void)
{
    struct rte_malloc_socket_stats heap = {.heap_allocsz_bytes = 0};
    struct mallinfo2 libc = mallinfo2();

    rte_malloc_get_socket_stats((int)rte_socket_id(), &heap);
    return (struct memory_use){libc.uordblks + libc.hblkhd + heap.heap_allocsz_bytes, rte_rdtsc()};
}

static inline struct memory_use memory_use_since(struct memory_use before)
{
    struct memory_use now = memory_use_now();

    return (struct memory_use){now.bytes - before.bytes, now.cycles - before.cycles};
}

static inline double memory_use_ms(struct memory_use use)
{
    return (double)use.cycles * 1e3 / (double)rte_get_tsc_hz();
}

#endif
