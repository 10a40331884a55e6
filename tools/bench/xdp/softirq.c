/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/xdp/softirq.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const char *process, const char *name)
{
    char path[300], found[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/comm", process);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(found, sizeof(found), file))
        found[0] = '\0';
    fclose(file);
    found[strcspn(found, "\n")] = '\0';
    return strcmp(found, name) == 0;
}

int softirq_clock(unsigned int cpu, clockid_t *clock)
{
    char name[32];
    const struct dirent *entry;
    int error = -ESRCH;
    DIR *processes = opendir("/proc");

    if (!processes)
        return -errno;
    snprintf(name, sizeof(name), "ksoftirqd/%u", cpu);
    while (error && (entry = readdir(processes)))
        if (strtol(entry->d_name, NULL, 10) > 0 && is_named(entry->d_name, name))
            error = -clock_getcpuclockid((pid_t)strtol(entry->d_name, NULL, 10), clock);
    closedir(processes);
    return error;
}
