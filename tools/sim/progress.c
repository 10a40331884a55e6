/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR_COLUMNS 40u

bool progress_wanted(void)
{
    return isatty(STDERR_FILENO);
}

static int64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

void progress_begin(struct progress *progress, uint32_t n)
{
    *progress = (struct progress){.n = n, .began_s = now_s()};
    progress_show(progress, 0);
}

void progress_show(const struct progress *progress, uint32_t done)
{
    char bar[BAR_COLUMNS + 1];
    int64_t s = now_s() - progress->began_s;

    if (!progress_wanted())
        return;
    for (uint32_t i = 0; i < BAR_COLUMNS; i++)
        bar[i] = i < (uint64_t)done * BAR_COLUMNS / progress->n ? '#' : '.';
    bar[BAR_COLUMNS] = '\0';
    fprintf(stderr, "\r[%s] %3" PRIu64 " %%  %u of %u runs  %" PRId64 ":%02" PRId64, bar,
            (uint64_t)done * 100 / progress->n, done, progress->n, s / 60, s % 60);
}

void progress_end(void)
{
    if (progress_wanted())
        fputs("\r\033[K", stderr);
}
