/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs here read from their command lines. */
#ifndef SLUICE_BENCH_XDP_OPTIONS_H
#define SLUICE_BENCH_XDP_OPTIONS_H

#include <sched.h>
#include <stdbool.h>

#define OPTIONS_CPU_MAX (CPU_SETSIZE - 1)

/* Returns false if `text` is no number from low to high. */
bool options_number(const char *text, double low, double high, double *value);

/* The last CPU that this process may run on. */
unsigned int options_last_cpu(void);

#endif
