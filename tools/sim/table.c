/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A column of the table of many runs. */
struct table_column {
    const char *title, *unit;
    const char *metric;
    double scale;
    int decimals;
};
static const struct table_column table_columns[] = {
    {"offered", "", "offered", 1, 0},
    {"attempts", "/offered", "attempts_per_offered", 1, 2},
    {"useful", "%", "useful_share", 100, 1},
    {"goodput", "/s", "goodput_per_s", 1, 1},
    {"late", "", "late", 1, 0},
    {"unfinished", "", "unfinished", 1, 0},
    {"refusals", "%attempts", "refusal_share", 100, 1},
    {"eff_p50", "ms", "eff_p50_s", 1e3, 1},
    {"eff_p95", "ms", "eff_p95_s", 1e3, 1},
    {"eff_p99", "ms", "eff_p99_s", 1e3, 1},
    {"wait_max", "ms", "max_wait_s", 1e3, 1},
    {"queue_max", "", "max_queue", 1, 0},
    {"drain", "s", "drain_s", 1, 2},
};
#define N_COLUMNS (sizeof(table_columns) / sizeof(table_columns[0]))

static void print_number(int width, double value, int decimals)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, decimals, value);
}

static int longer(int width, const char *text)
{
    int n = text ? (int)strlen(text) : 0;

    return n > width ? n : width;
}

static void print_many(const struct sweep *sweep)
{
    const struct run_label *first = &sweep->results[0].label;
    int variant = longer(0, first->variant ? "variant" : NULL), key = longer(0, first->sweep_key);

    for (uint32_t i = 0; i < sweep->n_results; i++) {
        variant = longer(variant, sweep->results[i].label.variant);
        key = longer(key, sweep->results[i].label.value);
    }
    printf("%-*s %*s", variant, variant ? "variant" : "", key,
           first->sweep_key ? first->sweep_key : "");
    for (size_t i = 0; i < N_COLUMNS; i++)
        printf(" %10s", table_columns[i].title);
    printf("\n%*s", variant + 1 + key, "");
    for (size_t i = 0; i < N_COLUMNS; i++)
        printf(" %10s", table_columns[i].unit);
    putchar('\n');
    for (uint32_t run = 0; run < sweep->n_results; run++) {
        const struct result *result = &sweep->results[run];

        printf("%-*s %*s", variant, variant ? result->label.variant : "", key,
               key ? result->label.value : "");
        for (size_t i = 0; i < N_COLUMNS; i++) {
            putchar(' ');
            print_number(10, result_value(result, table_columns[i].metric) * table_columns[i].scale,
                         table_columns[i].decimals);
        }
        putchar('\n');
    }
}

/* A line of the summary of one run: so many, which part of the whole, how many a second. */
static void print_counts(const struct result *result, const char *name, const char *whole)
{
    double n = result_value(result, name);

    printf("  %-20s %12.0f", name, n);
    if (whole)
        printf(" %8.1f %%", 100 * n / result_value(result, whole));
    else
        printf(" %10s", "");
    printf(" %12.2f\n", n / result_value(result, "duration_s"));
}

static void print_pieces(const struct result *result)
{
    static const char *const ends[] = {"useful", "late", "unfinished", "refused", "open"};

    printf("  %-20s %12s %10s %12s\n", "work", "pieces", "of offered", "/s");
    print_counts(result, "offered", NULL);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        print_counts(result, ends[i], "offered");
}

static void print_tries(const struct result *result)
{
    printf("\n  %-20s %12s %10s %12s\n", "tries", "", "of all", "/s");
    print_counts(result, "attempts", NULL);
    print_counts(result, "admitted", "attempts");
    for (uint32_t i = 0; i < result->n_metrics; i++) {
        const char *name = result->metrics[i].name;

        if ((strncmp(name, "refused_", 8) == 0 || strcmp(name, "dropped_aged") == 0) &&
            result->metrics[i].value > 0)
            print_counts(result, name, "attempts");
    }
}

static void print_kinds(const struct result *result)
{
    bool any = false;

    for (uint32_t i = 0; i + END_MAX <= result->n_metrics; i++) {
        const struct result_metric *metric = &result->metrics[i];

        if (strncmp(metric->name, "useful.", 7) != 0)
            continue;
        if (!any)
            printf("\n  %-20s %12s %12s %12s %12s\n", "kind", "useful", "late", "unfinished",
                   "refused");
        any = true;
        printf("  %-20s", metric->name + 7);
        for (unsigned int end = 0; end < END_MAX; end++)
            printf(" %12.0f", metric[end].value);
        putchar('\n');
    }
}

static void print_latency(const struct result *result)
{
    static const char *const rows[][2] = {
        {"answered", ""}, {"effective", "eff_"}, {"from the first try", "first_"}};
    static const char *const columns[] = {"mean", "p50", "p95", "p99", "max"};

    printf("\n  %-20s", "latency, ms");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        printf(" %12s", columns[i]);
    putchar('\n');
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        printf("  %-20s", rows[row][0]);
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
            char name[RESULT_NAME_BYTES];

            snprintf(name, sizeof(name), "%s%s_s", rows[row][1], columns[i]);
            putchar(' ');
            print_number(12, result_value(result, name) * 1e3, 1);
        }
        putchar('\n');
    }
}

static void print_levels(const struct result *result)
{
    enum { ALWAYS = 6 }; /* the others only if there was any */
    static const struct table_column levels[] = {
        {"waiting in the gate", "at most", "max_waiting", 1, 0},
        {"in stages' queues", "at most", "max_queue", 1, 0},
        {"wait in a queue", "ms at most", "max_wait_s", 1e3, 1},
        {"shed", "% at most", "max_shed", 100, 1},
        {"queues empty", "s after the last burst", "drain_s", 1, 2},
        {"last work ended", "s", "end_s", 1, 2},
        {"restarts", "of instances", "restarts", 1, 0},
        {"calls served", "by the last stage", "executed", 1, 0},
        {"distinct work", "of those", "effects", 1, 0},
    };

    putchar('\n');
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        double value = result_value(result, levels[i].metric);

        if (i >= ALWAYS && value <= 0)
            continue;
        printf("  %-20s ", levels[i].title);
        print_number(12, value * levels[i].scale, levels[i].decimals);
        printf(" %s\n", levels[i].unit);
    }
}

void report_table(const struct sweep *sweep)
{
    if (sweep->n_results > 1) {
        print_many(sweep);
        return;
    }
    printf("%.*s\n\n", (int)strcspn(sweep->base->about, "\n"), sweep->base->about);
    print_pieces(sweep->results);
    print_tries(sweep->results);
    print_kinds(sweep->results);
    print_latency(sweep->results);
    print_levels(sweep->results);
}
