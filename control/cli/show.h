/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of the daemon as tables for people. Everything is rendered from the JSON: a member that
 * is not there shows as "-", one that is new shows up wherever all members are listed.
 */
#ifndef SLUICE_CLI_SHOW_H
#define SLUICE_CLI_SHOW_H

#include <jansson.h>
#include <stdio.h>

struct table;

void show_status(const json_t *answer, FILE *out);
void show_help(const json_t *answer, FILE *out);
void show_tenants(const json_t *answer, FILE *out);
void show_services(const json_t *answer, FILE *out);
void show_service(const json_t *answer, FILE *out);
void show_queues(const json_t *answer, FILE *out);
void show_workers(const json_t *answer, FILE *out);
void show_steps(const json_t *answer, FILE *out);
void show_ports(const json_t *answer, FILE *out);
void show_xdp(const json_t *answer, FILE *out);
void show_set(const json_t *answer, FILE *out);
void show_deny(const json_t *answer, FILE *out);

/* A column of a listing: its heading (table.h) and where its value is, "window.used". */
struct column {
    const char *heading, *path;
};

/* What stands at a dotted path, or NULL. */
const json_t *show_at(const json_t *object, const char *path);

/* A value in one cell: a list as its elements with commas, an object as the sum of its counts. */
void show_cell(struct table *table, const json_t *value);

/* A row for each element. `title` may be NULL. */
void show_rows(FILE *out, const char *title, const json_t *list, const struct column *columns,
               unsigned n_columns);

/* A row for each element, a column for each of its counts in the object called `member`. */
void show_members(FILE *out, const char *title, const json_t *list, const char *name,
                  const char *member);

/* The same turned round, for objects with many or long names. */
void show_members_down(FILE *out, const char *title, const json_t *list, const char *name,
                       const char *member);

/* A row for each member of the object, its key in the column with the path "". */
void show_keyed(FILE *out, const char *title, const json_t *object, const struct column *columns,
                unsigned n_columns);

#define SHOW_KEYED(out, title, object, columns)                                                    \
    show_keyed(out, title, object, columns, sizeof(columns) / sizeof((columns)[0]))

#define SHOW_ROWS(out, title, list, columns)                                                       \
    show_rows(out, title, list, columns, sizeof(columns) / sizeof((columns)[0]))

#endif
