/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the scan: the cursor, and what is read at it. False: the structure is lost, see
 * `error`. */
#ifndef SLUICE_CONFIG_SCANNER_H
#define SLUICE_CONFIG_SCANNER_H

#include "control/config/scan.h"

struct scanner {
    struct scan *scan;
    struct report *report;
    const char *text;
    size_t length, at;
    uint32_t line;
    uint32_t value_line; /* where the last value ended */
    int depth;
    int error; /* -errno once the structure is lost */
};

/* The byte `ahead` of the cursor; '\0' past the end, for the text holds none. */
char scanner_peek(const struct scanner *s, size_t ahead);

/* The path of a node by its index. */
const char *scanner_path(const struct scanner *s, uint32_t node, char path[SCAN_PATH_MAX]);

/* Ends the scan; always false. */
bool scanner_give_up(struct scanner *s, int error);
/* At a bracket that closes nothing, behind the setting `node`. */
bool scanner_unopened(struct scanner *s, uint32_t node);
/* If `node` is a group, list or array, the line in which it was opened is told, too. */
bool scanner_unexpected(struct scanner *s, uint32_t node, const char *expected);
bool scanner_refuse_include(struct scanner *s);

/* Nothing of the text from `start` to here reaches libconfig, but its line breaks. */
void scanner_blank(struct scanner *s, size_t start);

/* Blanks and comments. */
bool scanner_skip_blanks(struct scanner *s);

/* The value of nodes[node] at the cursor: one or more strings in a row, or an unquoted literal. */
bool scanner_string(struct scanner *s, uint32_t node);
bool scanner_literal(struct scanner *s, uint32_t node);

#endif
