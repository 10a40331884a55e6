/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/sim/number.h"

/* What comes first in the pipe; then metrics, cells and rows. */
struct head {
    bool has_gate;
    struct record_row summary;
    uint32_t n_metrics, n_cells, n_rows;
};

bool result_check_columns(const struct scenario *scenario, FILE *report)
{
    struct record none = {.scenario = scenario};
    char text[RESULT_CELL_BYTES];
    bool good = true;
    double value;

    for (uint32_t i = 0; i < scenario->n_columns; i++) {
        const char *source = scenario->columns[i].source;

        if (strcmp(source, "variant") == 0 || strcmp(source, "sweep") == 0 ||
            record_metric(&none, source, &value) ||
            scenario_value(scenario, source, text, sizeof(text)))
            continue;
        fprintf(report, "%s: columns[%u]: %s is neither a metric nor a key of this file\n",
                scenario->path, i, source);
        good = false;
    }
    return good;
}

static void fill_cell(char cell[RESULT_CELL_BYTES], const struct scenario *scenario,
                      struct record *record, const struct run_label *label, const char *source)
{
    char text[NUMBER_BYTES];
    double value;

    if (strcmp(source, "variant") == 0)
        snprintf(cell, RESULT_CELL_BYTES, "%s", label->variant ? label->variant : "");
    else if (strcmp(source, "sweep") == 0)
        snprintf(cell, RESULT_CELL_BYTES, "%s", label->value ? label->value : "");
    else if (record_metric(record, source, &value))
        snprintf(cell, RESULT_CELL_BYTES, "%s",
                 number_metric(value, record_metric_counts(source), text));
    else
        scenario_value(scenario, source, cell, RESULT_CELL_BYTES);
}

static void add_metric(struct result *result, struct record *record, const char *name)
{
    struct result_metric *metric = &result->metrics[result->n_metrics++];

    snprintf(metric->name, sizeof(metric->name), "%s", name);
    metric->counts = record_metric_counts(name);
    record_metric(record, name, &metric->value);
}

static void fill_metrics(struct result *result, const struct scenario *scenario,
                         struct record *record)
{
    static const char *const ends[END_MAX] = {"useful", "late", "unfinished", "refused"};

    for (const char *const *name = record_metrics; *name; name++)
        add_metric(result, record, *name);
    for (uint32_t i = 0; scenario->n_kinds > 1 && i < scenario->n_kinds; i++) {
        for (unsigned int end = 0; end < END_MAX; end++) {
            char name[RESULT_NAME_BYTES];

            snprintf(name, sizeof(name), "%s.%s", ends[end], scenario->kinds[i].name);
            add_metric(result, record, name);
        }
    }
}

static struct record_row summarize(struct record *record)
{
    struct record_row row = {.counts = record->sum,
                             .waiting = record->waiting_max,
                             .queue = record->queue_max,
                             .p50_s = record_percentile(&record->latency, .5),
                             .p99_s = record_percentile(&record->latency, .99),
                             .eff_p95_s = record_percentile(&record->effective, .95),
                             .eff_p99_s = record_percentile(&record->effective, .99)};

    for (uint32_t i = 0; i < record->n_rows; i++) {
        row.shed = fmax(row.shed, record->rows[i].shed);
        row.age_s = fmax(row.age_s, record->rows[i].age_s);
    }
    return row;
}

static int allocate(struct result *result, uint32_t n_metrics, uint32_t n_cells, uint32_t n_rows)
{
    result->metrics = calloc(n_metrics + 1, sizeof(*result->metrics));
    result->cells = calloc(n_cells + 1, sizeof(*result->cells));
    result->rows = calloc(n_rows + 1, sizeof(*result->rows));
    if (result->metrics && result->cells && result->rows)
        return 0;
    result_free(result);
    return -ENOMEM;
}

int result_make(struct result *result, const struct scenario *scenario, struct record *record,
                const struct run_label *label, bool rows)
{
    uint32_t n_names = scenario->n_kinds * END_MAX;

    while (record_metrics[n_names - scenario->n_kinds * END_MAX])
        n_names++;
    *result =
        (struct result){.label = *label, .has_gate = scenario->gate, .summary = summarize(record)};
    if (allocate(result, n_names, scenario->n_columns, record->n_rows))
        return -ENOMEM;
    fill_metrics(result, scenario, record);
    for (uint32_t i = 0; i < scenario->n_columns; i++)
        fill_cell(result->cells[result->n_cells++], scenario, record, label,
                  scenario->columns[i].source);
    if (rows) {
        result->n_rows = record->n_rows;
        memcpy(result->rows, record->rows, record->n_rows * sizeof(*result->rows));
    }
    return 0;
}

void result_free(struct result *result)
{
    free(result->metrics);
    free(result->cells);
    free(result->rows);
    result->metrics = NULL;
    result->cells = NULL;
    result->rows = NULL;
}

double result_value(const struct result *result, const char *name)
{
    for (uint32_t i = 0; i < result->n_metrics; i++) {
        if (strcmp(result->metrics[i].name, name) == 0)
            return result->metrics[i].value;
    }
    return NAN;
}

static int write_all(int fd, const void *bytes, size_t n_bytes)
{
    const char *at = bytes;

    while (n_bytes) {
        ssize_t n = write(fd, at, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

int result_write(const struct result *result, int fd)
{
    struct head head = {.summary = result->summary,
                        .has_gate = result->has_gate,
                        .n_metrics = result->n_metrics,
                        .n_cells = result->n_cells,
                        .n_rows = result->n_rows};
    int error = write_all(fd, &head, sizeof(head));

    if (!error)
        error = write_all(fd, result->metrics, head.n_metrics * sizeof(*result->metrics));
    if (!error)
        error = write_all(fd, result->cells, head.n_cells * sizeof(*result->cells));
    if (!error)
        error = write_all(fd, result->rows, head.n_rows * sizeof(*result->rows));
    return error;
}

int result_read(struct result *result, const void *bytes, size_t n_bytes)
{
    size_t metrics_bytes, cells_bytes, rows_bytes;
    const char *at = bytes;
    struct head head;

    if (n_bytes < sizeof(head))
        return -EBADMSG;
    memcpy(&head, at, sizeof(head));
    metrics_bytes = head.n_metrics * sizeof(*result->metrics);
    cells_bytes = head.n_cells * sizeof(*result->cells);
    rows_bytes = head.n_rows * sizeof(*result->rows);
    if (n_bytes != sizeof(head) + metrics_bytes + cells_bytes + rows_bytes)
        return -EBADMSG;
    if (allocate(result, head.n_metrics, head.n_cells, head.n_rows))
        return -ENOMEM;
    result->has_gate = head.has_gate;
    result->summary = head.summary;
    result->n_metrics = head.n_metrics;
    result->n_cells = head.n_cells;
    result->n_rows = head.n_rows;
    at += sizeof(head);
    memcpy(result->metrics, at, metrics_bytes);
    memcpy(result->cells, at + metrics_bytes, cells_bytes);
    memcpy(result->rows, at + metrics_bytes + cells_bytes, rows_bytes);
    return 0;
}
