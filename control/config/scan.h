/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The literals of a configuration, before libconfig sees it.
 *
 * libconfig versions differ where it matters: 1.5 wraps integers above 32 bits that lack an `L`,
 * later ones widen them; a leading zero is decimal to some and octal to others; a comma behind the
 * last element, binary numbers and some escapes exist in some only. And all of them accept what is
 * most likely a slip: no semicolon between settings, strings joined across a missing comma, a quote
 * that is closed lines later. So the text is scanned first. The scan
 *   - lists every value in document order with its line and its literal, integers as exact 64 bits,
 *   - reports slips, duplicate keys (both lines), `@include` (libconfig may end the process over
 *     one), and syntax errors,
 *   - makes the text for libconfig: every unquoted literal replaced by `0`, duplicates by blanks.
 * libconfig then settles the structure and the strings; numbers are taken from here.
 */
#ifndef SLUICE_CONFIG_SCAN_H
#define SLUICE_CONFIG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/config/report.h"

#define SCAN_DEPTH_MAX 16
#define SCAN_NODES_MAX 2097152u /* values in a file */
#define SCAN_KEYS_MAX  128u     /* settings of one group */
#define SCAN_PATH_MAX  256u
#define SCAN_NO_PARENT UINT32_MAX

enum scan_kind {
    SCAN_GROUP,
    SCAN_LIST,
    SCAN_ARRAY,
    SCAN_STRING,
    SCAN_INTEGER,
    SCAN_FLOAT,
    SCAN_BOOL,
    SCAN_BROKEN, /* an unquoted literal that is none of these */
};

struct scan_node {
    int64_t integer;     /* of SCAN_INTEGER without a flaw */
    const char *flaw;    /* why an integer or broken literal has no value; NULL: it has one */
    uint32_t name_at;    /* offsets into the text; no name: an element of a list or array */
    uint32_t literal_at; /* of the value, with its quotes or brackets */
    uint32_t name_length, literal_length;
    uint32_t line;
    uint32_t parent;  /* index of the node, SCAN_NO_PARENT for the root group */
    uint32_t index;   /* place among the parent's values */
    uint32_t sibling; /* the one before in the same parent, itself when it is the first */
    enum scan_kind kind;
};

/* nodes[0] is the root group; parents stand before their children. */
struct scan {
    const char *text;    /* as given */
    char *for_libconfig; /* NUL-terminated, ends in a newline, same lines */
    struct scan_node *nodes;
    uint32_t n_nodes, capacity;
};

/*
 * Scans `text`, which must outlive the scan. Mistakes go to `report`. 0; -EINVAL when the text has
 * no structure to go on with; -ENOMEM. Call scan_clear() after any of them.
 */
int scan_text(struct scan *scan, const char *text, size_t length, struct report *report);
void scan_clear(struct scan *scan);

/* "tenants[1].quota.attempts"; "" for the root. Returns `path`. */
const char *scan_path(const struct scan *scan, const struct scan_node *node,
                      char path[SCAN_PATH_MAX]);

#endif
