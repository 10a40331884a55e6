/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

/* No value is null. */
static json_t *number(double value, bool counts)
{
    if (isnan(value))
        return json_null();
    return counts ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *summary_of(const struct result *result)
{
    json_t *summary = json_object();

    for (uint32_t i = 0; i < result->n_metrics; i++) {
        const struct result_metric *metric = &result->metrics[i];

        if (json_object_set_new(summary, metric->name, number(metric->value, metric->counts)))
            goto failed;
    }
    return summary;
failed:
    json_decref(summary);
    return NULL;
}

static json_t *row_of(const struct record_row *row)
{
    struct report_cell cells[REPORT_COLUMNS_MAX];
    unsigned int n = report_cells(row, true, cells);
    json_t *object = json_object();

    for (unsigned int i = 0; i < n; i++) {
        if (json_object_set_new(object, cells[i].name, number(cells[i].value, cells[i].counts)))
            goto failed;
    }
    return object;
failed:
    json_decref(object);
    return NULL;
}

static json_t *series_of(const struct result *result)
{
    json_t *series = json_array();

    for (uint32_t i = 0; i < result->n_rows; i++) {
        if (json_array_append_new(series, row_of(&result->rows[i])))
            goto failed;
    }
    return series;
failed:
    json_decref(series);
    return NULL;
}

static json_t *run_of(const struct result *result, bool series)
{
    json_t *run = json_object();

    if (json_object_set_new(run, "variant", text_or_null(result->label.variant)) ||
        json_object_set_new(run, "sweep", text_or_null(result->label.value)) ||
        json_object_set_new(run, "summary", summary_of(result)) ||
        (series && json_object_set_new(run, "series", series_of(result)))) {
        json_decref(run);
        return NULL;
    }
    return run;
}

int report_json(const struct sweep *sweep, const char *scenario_name)
{
    const struct sim_options *options = sweep->options;
    uint64_t seed = options->seed_given ? options->seed : sweep->base->seed;
    json_t *runs = json_array(), *root;

    for (uint32_t i = 0; i < sweep->n_results; i++) {
        if (json_array_append_new(runs, run_of(&sweep->results[i], options->series))) {
            json_decref(runs);
            return -ENOMEM;
        }
    }
    root =
        json_pack("{s:i, s:s, s:I, s:s?, s:o}", "version", 1, "scenario", scenario_name, "seed",
                  (json_int_t)seed, "sweep_key", sweep->results[0].label.sweep_key, "runs", runs);
    if (!root)
        return -ENOMEM;
    json_dumpf(root, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(root);
    return 0;
}
