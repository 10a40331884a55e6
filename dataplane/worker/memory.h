/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for the plain tables, on the NUMA node of the CPU that will use it (libnuma), zeroed and
 * page-aligned, on huge pages where the kernel gives them. Where NUMA is absent it is just memory.
 */
#ifndef SLUICE_WORKER_MEMORY_H
#define SLUICE_WORKER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* NULL when there is not enough. Free with memory_free() and the same size. */
void *memory_on_cpu(size_t bytes, uint32_t cpu);
void memory_free(void *memory, size_t bytes);

/* NUMA node of a CPU; 0 where NUMA is absent. */
uint32_t memory_node_of_cpu(uint32_t cpu);

#endif
