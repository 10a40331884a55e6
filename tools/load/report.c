/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S  1e9
#define NS_PER_MS 1e6

#define OUTCOME_AS_NAME(NAME, text) text,
static const char *const outcome_names[] = {OUTCOME_LIST(OUTCOME_AS_NAME)};

/* One value of the summary. Negative decimals: there is no such value. */
struct column {
    char name[80];
    double value;
    int decimals;
};

/* Outcomes of the whole, four of each kind, and others. */
#define COLUMNS_MAX (OUTCOME_COUNT + 4 * LOAD_KINDS_MAX + 17)

static struct column column_of(const char *name, double value, int decimals)
{
    struct column column = {.value = value, .decimals = decimals};

    snprintf(column.name, sizeof(column.name), "%s", name);
    return column;
}

static struct column count_of(const char *name, uint64_t value)
{
    return column_of(name, (double)value, 0);
}

static struct column rate_of(const char *name, double per_s)
{
    return column_of(name, per_s, 1);
}

static struct column latency_of(const char *name, uint64_t ns)
{
    return column_of(name, (double)ns / NS_PER_MS, ns == LATENCY_NONE ? -1 : 3);
}

static struct column percentile_of(const char *name, const struct latencies *latencies,
                                   unsigned int percent)
{
    uint64_t ns;

    return latency_of(name, results_percentile(latencies, percent, &ns) ? ns : LATENCY_NONE);
}

/* As the simulator names them. */
static unsigned int fill_kind(const char *title, const uint64_t outcomes[OUTCOME_COUNT],
                              struct column *columns)
{
    const struct {
        const char *name;
        uint64_t value;
    } ends[] = {{"useful", outcomes[OUTCOME_USEFUL]},
                {"late", outcomes[OUTCOME_LATE]},
                {"unfinished", outcomes[OUTCOME_UNFINISHED]},
                {"refused", results_refused(outcomes)}};
    unsigned int n;

    for (n = 0; n < sizeof(ends) / sizeof(ends[0]); n++) {
        columns[n] = count_of("", ends[n].value);
        snprintf(columns[n].name, sizeof(columns[n].name), "%s.%s", ends[n].name, title);
    }
    return n;
}

static unsigned int fill_columns(const struct load_options *options, const struct results *results,
                                 struct column *columns)
{
    unsigned int n = 0;

    columns[n++] = count_of("offered", results->offered);
    columns[n++] = count_of("attempts", results->attempts);
    columns[n++] = count_of("admitted", results->admitted);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        columns[n++] = count_of(outcome_names[i], results->outcomes[i]);
        if (i == OUTCOME_USEFUL)
            columns[n++] = rate_of("useful_per_s", (double)results->outcomes[i] * NS_PER_S /
                                                       (double)results->duration_ns);
        if (i == OUTCOME_UNFINISHED)
            columns[n++] = count_of("refused", results_refused(results->outcomes));
    }
    columns[n++] = percentile_of("p50_ms", &results->answered, 50);
    columns[n++] = percentile_of("p95_ms", &results->answered, 95);
    columns[n++] = percentile_of("p99_ms", &results->answered, 99);
    columns[n++] = percentile_of("eff_p50_ms", &results->effective, 50);
    columns[n++] = percentile_of("eff_p95_ms", &results->effective, 95);
    columns[n++] = percentile_of("eff_p99_ms", &results->effective, 99);
    columns[n++] = percentile_of("refusal_p50_ms", &results->refusal, 50);
    columns[n++] = percentile_of("refusal_p99_ms", &results->refusal, 99);
    columns[n++] = rate_of("sent_per_s", results_sent_per_s(results));
    columns[n++] = count_of("behind", results->behind);
    columns[n] = rate_of("lag_max_ms", (double)results->lag_max_ns / NS_PER_MS);
    columns[n++].decimals = 3;
    columns[n++] = count_of("closed", options->closed);
    for (uint32_t i = 0; i < options->n_kinds; i++)
        if (options->kinds[i].title && *options->kinds[i].title)
            n += fill_kind(options->kinds[i].title, results->by_kind[i], columns + n);
    return n;
}

static void print_value(const struct column *column, const char *none)
{
    if (column->decimals < 0)
        fputs(none, stdout);
    else
        printf("%.*f", column->decimals, column->value);
}

/* What became of one second's work. */
static unsigned int fill_second(uint32_t t_s, const struct second *second, struct column *columns)
{
    unsigned int n = 0;

    columns[n++] = count_of("t_s", t_s);
    columns[n++] = count_of("offered", second->offered);
    columns[n++] = count_of("attempts", second->attempts);
    columns[n++] = count_of("admitted", second->admitted);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        columns[n++] = count_of(outcome_names[i], second->outcomes[i]);
    columns[n++] = latency_of("p50_ms", second->p50_ns);
    columns[n++] = latency_of("p99_ms", second->p99_ns);
    columns[n++] = latency_of("eff_p95_ms", second->eff_p95_ns);
    columns[n++] = latency_of("eff_p99_ms", second->eff_p99_ns);
    return n;
}

static void print_members(const struct column *columns, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        printf("%s\"%s\":", i ? "," : "{", columns[i].name);
        print_value(&columns[i], "null");
    }
}

static void print_json(const struct column *columns, unsigned int n, const struct results *results,
                       bool series)
{
    struct column row[COLUMNS_MAX];

    print_members(columns, n);
    for (uint32_t s = 0; series && s < results->n_seconds; s++) {
        fputs(s ? "," : ",\"series\":[", stdout);
        print_members(row, fill_second(s, &results->seconds[s], row));
        printf("}%s", s + 1 == results->n_seconds ? "]" : "");
    }
    puts("}");
}

static void print_names(const struct column *columns, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++)
        printf("%s%s", i ? "," : "", columns[i].name);
    putchar('\n');
}

static void print_values(const struct column *columns, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        if (i)
            putchar(',');
        print_value(&columns[i], "");
    }
    putchar('\n');
}

static void print_csv(const struct column *columns, unsigned int n)
{
    print_names(columns, n);
    print_values(columns, n);
}

static void print_series_csv(const struct results *results)
{
    struct column row[COLUMNS_MAX];

    for (uint32_t s = 0; s < results->n_seconds; s++) {
        unsigned int n = fill_second(s, &results->seconds[s], row);

        if (s == 0)
            print_names(row, n);
        print_values(row, n);
    }
}

static void print_table(const struct column *columns, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        printf("%-20s ", columns[i].name);
        if (columns[i].decimals < 0)
            printf("%12s\n", "-");
        else
            printf("%12.*f\n", columns[i].decimals, columns[i].value);
    }
}

static void print_series_table(const struct results *results)
{
    printf("\n%4s %8s %8s %8s %10s %8s %8s\n", "t_s", "offered", "useful", "late", "unfinished",
           "refused", "not_sent");
    for (uint32_t s = 0; s < results->n_seconds; s++) {
        const struct second *second = &results->seconds[s];

        printf("%4" PRIu32 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10" PRIu64 " %8" PRIu64
               " %8" PRIu64 "\n",
               s, second->offered, second->outcomes[OUTCOME_USEFUL], second->outcomes[OUTCOME_LATE],
               second->outcomes[OUTCOME_UNFINISHED], results_refused(second->outcomes),
               second->outcomes[OUTCOME_NOT_SENT]);
    }
}

void report_show(const struct load_options *options, const struct results *results)
{
    struct column columns[COLUMNS_MAX];
    unsigned int n = fill_columns(options, results, columns);

    switch (options->format) {
    case LOAD_JSON:
        print_json(columns, n, results, options->series);
        break;
    case LOAD_CSV:
        if (options->series)
            print_series_csv(results);
        else
            print_csv(columns, n);
        break;
    case LOAD_TABLE:
        print_table(columns, n);
        if (options->closed)
            puts("closed loop: latency counts from the actual sending, and waiting that kept a "
                 "client\n"
                 "from asking is in no figure above");
        if (options->series)
            print_series_table(results);
        break;
    }
}

void report_warn(const struct results *results, int not_sent_errno)
{
    uint64_t not_sent = results->outcomes[OUTCOME_NOT_SENT];

    if (not_sent)
        fprintf(stderr,
                "sluice-load: fell behind its schedule: %" PRIu64 " of %" PRIu64
                " requests not sent (last reason: %s)\n",
                not_sent, results->offered, strerror(not_sent_errno));
    if (results->behind)
        fprintf(stderr,
                "sluice-load: fell behind its schedule: %" PRIu64 " of %" PRIu64
                " attempts went out late, by more than a tenth of the deadline; the worst by "
                "%.1f ms\n",
                results->behind, results->attempts, (double)results->lag_max_ns / NS_PER_MS);
}
