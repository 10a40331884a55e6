/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct report_entry {
    char *text;
    uint32_t line;
    uint32_t order; /* keeps messages of one line in the order they were found */
};

static bool make_room(struct report *report)
{
    uint32_t capacity = report->capacity ? report->capacity * 2 : 16;
    struct report_entry *grown;

    if (report->n < report->capacity)
        return true;
    grown = realloc(report->entries, capacity * sizeof(*grown));
    if (!grown)
        return false;
    report->entries = grown;
    report->capacity = capacity;
    return true;
}

static void add(struct report *report, uint32_t line, const char *lead, const char *path,
                const char *format, va_list arguments)
{
    char text[REPORT_TEXT_MAX];
    size_t used;
    char *copy;

    if (report->n == REPORT_MAX) {
        report->dropped++;
        return;
    }
    used = (size_t)snprintf(text, sizeof(text), "%s%s%s", lead, path, *path ? ": " : "");
    if (used < sizeof(text))
        vsnprintf(text + used, sizeof(text) - used, format, arguments);
    copy = make_room(report) ? strdup(text) : NULL;
    if (!copy) {
        report->out_of_memory = true;
        return;
    }
    report->entries[report->n] = (struct report_entry){copy, line, report->n};
    report->n++;
}

void report_error(struct report *report, uint32_t line, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(report, line, "", path, format, arguments);
    va_end(arguments);
    report->errors++;
}

void report_warning(struct report *report, uint32_t line, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(report, line, "warning: ", path, format, arguments);
    va_end(arguments);
}

static int by_line(const void *a, const void *b)
{
    const struct report_entry *left = a, *right = b;

    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

void report_print(struct report *report, const char *file, FILE *out)
{
    if (report->n)
        qsort(report->entries, report->n, sizeof(*report->entries), by_line);
    for (uint32_t i = 0; i < report->n; i++)
        fprintf(out, "%s:%" PRIu32 ": %s\n", file, report->entries[i].line,
                report->entries[i].text);
    if (report->dropped)
        fprintf(out, "%s: %" PRIu64 " further messages are not shown\n", file, report->dropped);
}

void report_clear(struct report *report)
{
    for (uint32_t i = 0; i < report->n; i++)
        free(report->entries[i].text);
    free(report->entries);
    *report = (struct report){0};
}
