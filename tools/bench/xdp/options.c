/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/xdp/options.h"

#include <stdlib.h>

bool options_number(const char *text, double low, double high, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= low && *value <= high;
}

unsigned int options_last_cpu(void)
{
    cpu_set_t set;
    unsigned int last = 0;

    sched_getaffinity(0, sizeof(set), &set);
    for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            last = cpu;
    return last;
}
