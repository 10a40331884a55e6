/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aligned columns on a terminal. Cells are filled row by row, the heading first; a heading that
 * starts with '<' is left-aligned, all others right. Out of memory ends the program.
 */
#ifndef SLUICE_CLI_TABLE_H
#define SLUICE_CLI_TABLE_H

#include <stdio.h>

struct table {
    unsigned n_columns;
    size_t n_cells, room;
    char **cells;
};

void table_start(struct table *table, unsigned n_columns);
void table_cell(struct table *table, const char *text);
void table_cellf(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints what was filled and frees it. */
void table_finish(struct table *table, FILE *out);

#endif
