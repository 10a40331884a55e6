/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory)
{
    if (!memory) {
        fputs("sluicectl: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void table_start(struct table *table, unsigned n_columns)
{
    memset(table, 0, sizeof(*table));
    table->n_columns = n_columns;
}

static void add(struct table *table, char *text)
{
    if (table->n_cells == table->room) {
        table->room = table->room ? table->room * 2 : 64;
        table->cells = need(realloc(table->cells, table->room * sizeof(*table->cells)));
    }
    table->cells[table->n_cells++] = need(text);
}

void table_cell(struct table *table, const char *text)
{
    add(table, strdup(text));
}

void table_cellf(struct table *table, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    add(table, text);
}

/* Columns a UTF-8 text takes: one for each byte that starts a character. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const char *text, int width, bool left, bool last, FILE *out)
{
    int pad = width - width_of(text);

    if (left)
        fprintf(out, "%s%*s", text, last ? 0 : pad, "");
    else
        fprintf(out, "%*s%s", pad, "", text);
    fputs(last ? "\n" : "  ", out);
}

void table_finish(struct table *table, FILE *out)
{
    unsigned n = table->n_columns;
    int *widths = need(calloc(n, sizeof(*widths)));
    bool *left = need(calloc(n, sizeof(*left)));

    for (unsigned c = 0; c < n && c < table->n_cells; c++) {
        left[c] = table->cells[c][0] == '<';
        if (left[c])
            memmove(table->cells[c], table->cells[c] + 1, strlen(table->cells[c]));
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        int width = width_of(table->cells[i]);

        if (width > widths[i % n])
            widths[i % n] = width;
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        print_cell(table->cells[i], widths[i % n], left[i % n], i % n == n - 1, out);
        free(table->cells[i]);
    }
    free(table->cells);
    free(widths);
    free(left);
}
