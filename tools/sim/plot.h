/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pictures (SVG) by gnuplot. A sweep is one picture: goodput, effective latency and refusals
 * against the swept value, a line for each variant. Without a sweep each run has a picture over
 * time, and with more than one the variant stands in the file's name: "out.svg" becomes
 * "out-A.svg".
 */
#ifndef SLUICE_SIM_PLOT_H
#define SLUICE_SIM_PLOT_H

#include <stdio.h>

#include "tools/sim/sweep.h"

/* 0, or -errno, which was said on stderr. The results have their rows. */
int plot(const struct sweep *sweep, const char *path);

/* The two kinds of pictures, as text for gnuplot, which prints the SVG on its stdout. */
void plot_time(FILE *script, const struct sweep *sweep, const struct result *result);
void plot_sweep(FILE *script, const struct sweep *sweep);

/* The first line of a user's text, between single quotes: what gnuplot could take for anything else
 * becomes "?". */
void plot_text(FILE *script, const char *text);
/* From 0 to whatever is there; `max` is the largest value (NAN: none), as an axis must not be
 * empty. */
void plot_range(FILE *script, const char *axis, double max);
/* The unit for times up to max_s, and how many of it a second is. */
double plot_per_s(double max_s, const char **unit);
/* What begins both: terminal, line styles 1 to PLOT_STYLES, three panels below the title
 * of the scenario, its name, and (NULL: nothing) of what it is a picture. */
#define PLOT_STYLES 10u
void plot_begin(FILE *script, const struct sweep *sweep, const char *of);

#endif
