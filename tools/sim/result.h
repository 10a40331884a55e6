/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left of a run when its process has ended: numbers by name, the cells that the scenario
 * asks for, and the rows of its time series. Travels through a pipe to the process that prints.
 */
#ifndef SLUICE_SIM_RESULT_H
#define SLUICE_SIM_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/scenario/scenario.h"
#include "tools/sim/record.h"

#define RESULT_NAME_BYTES 64
#define RESULT_CELL_BYTES 128

struct result_metric {
    char name[RESULT_NAME_BYTES];
    double value; /* NAN: none */
    bool counts;
};

/* Which run it is. Borrowed. */
struct run_label {
    const char *variant;   /* NULL: there are none */
    const char *sweep_key; /* NULL: none */
    const char *value;
};

struct result {
    struct run_label label;
    bool has_gate;
    struct record_row summary; /* counts of all; of levels the highest */
    uint32_t n_metrics, n_cells, n_rows;
    struct result_metric *metrics;
    char (*cells)[RESULT_CELL_BYTES]; /* of the scenario's columns */
    struct record_row *rows;          /* n_rows is 0 unless they were asked for */
};

/* False, and said on `report`: a column of the scenario is nothing that can be printed. */
bool result_check_columns(const struct scenario *scenario, FILE *report);

/* 0 or -ENOMEM. */
int result_make(struct result *result, const struct scenario *scenario, struct record *record,
                const struct run_label *label, bool rows);
void result_free(struct result *result);

/* The number of that name, NAN: none. */
double result_value(const struct result *result, const char *name);

/* 0 or -errno. */
int result_write(const struct result *result, int fd);
/* From what was written; the label is kept. 0, -EBADMSG: cut short, or -ENOMEM. */
int result_read(struct result *result, const void *bytes, size_t n_bytes);

#endif
