/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on stderr that says how far a sweep is; nothing if stderr is no terminal. */
#ifndef SLUICE_SIM_PROGRESS_H
#define SLUICE_SIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint32_t n;
    int64_t began_s;
};

bool progress_wanted(void);
void progress_begin(struct progress *progress, uint32_t n);
void progress_show(const struct progress *progress, uint32_t done);
/* Takes the line away. */
void progress_end(void);

#endif
