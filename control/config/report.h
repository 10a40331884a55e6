/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wrong with a configuration: collected in any order, printed by line.
 * Beyond REPORT_MAX messages only their number is kept.
 */
#ifndef SLUICE_CONFIG_REPORT_H
#define SLUICE_CONFIG_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_MAX      10000u
#define REPORT_TEXT_MAX 1024u /* bytes of one message; longer ones are cut */

struct report_entry;

struct report {
    struct report_entry *entries;
    uint32_t n, capacity;
    uint64_t dropped; /* messages beyond REPORT_MAX */
    uint64_t errors;  /* the rest are warnings */
    bool out_of_memory;
};

/* `path` names the setting, "" for none. */
void report_error(struct report *report, uint32_t line, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void report_warning(struct report *report, uint32_t line, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One line each, `FILE:LINE: PATH: TEXT`, sorted by line. */
void report_print(struct report *report, const char *file, FILE *out);
void report_clear(struct report *report);

#endif
