/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/report.h"

#include <stdio.h>
#include <string.h>

#include "tools/sim/number.h"

#define MS_PER_S 1e3

static struct report_cell count_of(const char *name, uint64_t value)
{
    return (struct report_cell){.name = name, .value = (double)value, .counts = true};
}

static struct report_cell value_of(const char *name, double value)
{
    return (struct report_cell){.name = name, .value = value};
}

unsigned int report_cells(const struct record_row *row, bool with_time,
                          struct report_cell cells[REPORT_COLUMNS_MAX])
{
#define REFUSED(symbol, name, kind, http)                                                          \
    count_of("refused_" name, row->counts.refused[REASON_##symbol]),
    const struct report_cell all[] = {
        value_of("t_s", row->t_s),
        count_of("offered", row->counts.offered),
        count_of("attempts", row->counts.attempts),
        count_of("admitted", row->counts.admitted),
        count_of("waiting", row->waiting),
        count_of("useful", row->counts.ends[END_USEFUL]),
        count_of("late", row->counts.ends[END_LATE]),
        count_of("unfinished", row->counts.ends[END_UNFINISHED]),
        SLUICE_ATTEMPT_REASONS(REFUSED) count_of("refused_full", row->counts.refused_full),
        value_of("shed", row->shed),
        count_of("queue", row->queue),
        value_of("age_ms", row->age_s * MS_PER_S),
        value_of("p50_ms", row->p50_s * MS_PER_S),
        value_of("p99_ms", row->p99_s * MS_PER_S),
        value_of("eff_p95_ms", row->eff_p95_s * MS_PER_S),
        value_of("eff_p99_ms", row->eff_p99_s * MS_PER_S),
    };
    const unsigned int n = sizeof(all) / sizeof(all[0]), skipped = with_time ? 0 : 1;

    _Static_assert(sizeof(all) / sizeof(all[0]) <= REPORT_COLUMNS_MAX, "too many columns");
    memcpy(cells, all + skipped, (n - skipped) * sizeof(*cells));
    return n - skipped;
}

/* RFC 4180. */
static void print_text(const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* Of the run, before its own columns. */
static void print_label_names(const struct run_label *label)
{
    if (label->variant)
        fputs("variant,", stdout);
    if (label->sweep_key) {
        print_text(label->sweep_key);
        putchar(',');
    }
}

static void print_label(const struct run_label *label)
{
    if (label->variant) {
        print_text(label->variant);
        putchar(',');
    }
    if (label->sweep_key) {
        print_text(label->value);
        putchar(',');
    }
}

static void print_names(const struct sweep *sweep, bool with_time)
{
    static const struct record_row none;
    struct report_cell cells[REPORT_COLUMNS_MAX];
    unsigned int n = report_cells(&none, with_time, cells);

    print_label_names(&sweep->results[0].label);
    for (unsigned int i = 0; i < n; i++)
        printf("%s%s", i ? "," : "", cells[i].name);
    putchar('\n');
}

static void print_row(const struct run_label *label, const struct record_row *row, bool with_time)
{
    struct report_cell cells[REPORT_COLUMNS_MAX];
    unsigned int n = report_cells(row, with_time, cells);
    char text[NUMBER_BYTES];

    print_label(label);
    for (unsigned int i = 0; i < n; i++)
        printf("%s%s", i ? "," : "", number_metric(cells[i].value, cells[i].counts, text));
    putchar('\n');
}

/* As the scenario wants it. */
static void print_own_columns(const struct sweep *sweep)
{
    const struct scenario *scenario = sweep->base;

    for (uint32_t i = 0; i < scenario->n_columns; i++) {
        fputs(i ? "," : "", stdout);
        print_text(scenario->columns[i].name);
    }
    putchar('\n');
    for (uint32_t run = 0; run < sweep->n_results; run++) {
        for (uint32_t i = 0; i < sweep->results[run].n_cells; i++) {
            fputs(i ? "," : "", stdout);
            print_text(sweep->results[run].cells[i]);
        }
        putchar('\n');
    }
}

void report_csv(const struct sweep *sweep, bool series)
{
    if (!series && sweep->base->n_columns) {
        print_own_columns(sweep);
        return;
    }
    print_names(sweep, series);
    for (uint32_t run = 0; run < sweep->n_results; run++) {
        const struct result *result = &sweep->results[run];

        if (!series)
            print_row(&result->label, &result->summary, false);
        for (uint32_t i = 0; series && i < result->n_rows; i++)
            print_row(&result->label, &result->rows[i], true);
    }
}
