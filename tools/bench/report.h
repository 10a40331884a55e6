/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was measured, as an aligned table or as one JSON object a line.
 */
#ifndef SLUICE_BENCH_REPORT_H
#define SLUICE_BENCH_REPORT_H

#include "tools/bench/measure.h"
#include "tools/bench/options.h"

/* On what machine and with which settings; nothing with -j. */
void report_head(const struct options *options, bool huge, const struct clock *clock);

void report_row(const struct options *options, const struct scene *scene, const struct row *row,
                const struct result *result, const struct clock *clock);

#endif
