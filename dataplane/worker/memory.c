/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/memory.h"

#include <numa.h>
#include <sys/mman.h>

uint32_t memory_node_of_cpu(uint32_t cpu)
{
    int node = numa_available() < 0 ? 0 : numa_node_of_cpu((int)cpu);

    return node < 0 ? 0 : (uint32_t)node;
}

static void *map_anywhere(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void *memory_on_cpu(size_t bytes, uint32_t cpu)
{
    void *memory = numa_available() < 0 ? map_anywhere(bytes)
                                        : numa_alloc_onnode(bytes, (int)memory_node_of_cpu(cpu));

    if (memory) /* a hint: large tables cost fewer TLB misses on huge pages */
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes); /* what numa_free() does */
}
