/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a sweep, or of a single run, as text on stdout. */
#ifndef SLUICE_SIM_REPORT_H
#define SLUICE_SIM_REPORT_H

#include "tools/sim/sweep.h"

/* A row of a time series; the summary of a run has all but the first. */
#define REPORT_COLUMNS_MAX 40u

struct report_cell {
    const char *name;
    double value; /* NAN: none */
    bool counts;
};

/* Returns how many cells were filled in. */
unsigned int report_cells(const struct record_row *row, bool with_time,
                          struct report_cell cells[REPORT_COLUMNS_MAX]);

void report_csv(const struct sweep *sweep, bool series);
/* 0 or -ENOMEM. */
int report_json(const struct sweep *sweep, const char *scenario_name);
void report_table(const struct sweep *sweep);

#endif
