/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/record.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Counters, by their place in struct record_counts. */
struct counter {
    const char *name;
    size_t offset;
};
#define COUNTER(name)                                                                              \
    {                                                                                              \
#name, offsetof(struct record_counts, name)                                                \
    }
#define REFUSED(symbol, name, kind, http)                                                          \
    {"refused_" name, offsetof(struct record_counts, refused[REASON_##symbol])},

static const struct counter counters[] = {
    COUNTER(offered),
    COUNTER(attempts),
    COUNTER(admitted),
    {"useful", offsetof(struct record_counts, ends[END_USEFUL])},
    {"late", offsetof(struct record_counts, ends[END_LATE])},
    {"unfinished", offsetof(struct record_counts, ends[END_UNFINISHED])},
    {"refused", offsetof(struct record_counts, ends[END_REFUSED])},
    SLUICE_ATTEMPT_REASONS(REFUSED) COUNTER(refused_full),
    COUNTER(dropped_aged),
    COUNTER(executed),
    COUNTER(effects),
    COUNTER(restarts),
};

#define REFUSED_NAME(symbol, name, kind, http) "refused_" name,
const char *const record_metrics[] = {"offered",
                                      "attempts",
                                      "admitted",
                                      "useful",
                                      "late",
                                      "unfinished",
                                      "refused",
                                      "open",
                                      "refusals",
                                      SLUICE_ATTEMPT_REASONS(REFUSED_NAME) "refused_full",
                                      "dropped_aged",
                                      "executed",
                                      "effects",
                                      "restarts",
                                      "goodput_per_s",
                                      "useful_share",
                                      "refusal_share",
                                      "attempts_per_offered",
                                      "mean_s",
                                      "p50_s",
                                      "p95_s",
                                      "p99_s",
                                      "max_s",
                                      "eff_mean_s",
                                      "eff_p50_s",
                                      "eff_p95_s",
                                      "eff_p99_s",
                                      "eff_max_s",
                                      "first_mean_s",
                                      "first_p50_s",
                                      "first_p95_s",
                                      "first_p99_s",
                                      "first_max_s",
                                      "max_open",
                                      "max_waiting",
                                      "max_queue",
                                      "max_wait_s",
                                      "max_shed",
                                      "max_instances",
                                      "drain_s",
                                      "duration_s",
                                      "end_s",
                                      NULL};

static const char *const end_names[END_MAX] = {"useful", "late", "unfinished", "refused"};

static uint64_t refusals(const struct record_counts *counts)
{
    uint64_t sum = counts->refused_full;

    for (unsigned int i = 0; i < REASON_ATTEMPT_MAX; i++)
        sum += counts->refused[i];
    return sum;
}

/* useful.KIND and its like. */
static bool kind_metric(const struct record *record, const char *name, double *value)
{
    const char *dot = strchr(name, '.');

    if (!dot)
        return false;
    for (unsigned int end = 0; end < END_MAX; end++) {
        if (strlen(end_names[end]) != (size_t)(dot - name) ||
            strncmp(end_names[end], name, (size_t)(dot - name)) != 0)
            continue;
        for (uint32_t i = 0; i < record->scenario->n_kinds; i++) {
            if (strcmp(record->scenario->kinds[i].name, dot + 1) == 0) {
                *value = (double)record->ends_by_kind[i][end];
                return true;
            }
        }
    }
    return false;
}

static const struct counter *find_counter(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        if (strlen(counters[i].name) == n && strncmp(name, counters[i].name, n) == 0)
            return &counters[i];
    }
    return NULL;
}

static uint64_t count_of(const struct record_counts *counts, const struct counter *counter)
{
    return *(const uint64_t *)((const char *)counts + counter->offset);
}

static bool counter_metric(const struct record *record, const char *name, double *value)
{
    const struct counter *counter = find_counter(name, strlen(name));

    if (!counter)
        return kind_metric(record, name, value);
    *value = (double)count_of(&record->sum, counter);
    return true;
}

/* COUNTER_per_s@FROM-TO: in the intervals that begin in that time. */
static bool rate_metric(const struct record *record, const char *name, double *value)
{
    static const char unit[] = "_per_s@";
    const char *end = strstr(name, unit);
    const struct counter *counter = end ? find_counter(name, (size_t)(end - name)) : NULL;
    double from_s, to_s, sum = 0;
    char more;

    if (!counter || sscanf(end + strlen(unit), "%lf-%lf%c", &from_s, &to_s, &more) != 2 ||
        !(from_s < to_s))
        return false;
    for (uint32_t i = 0; i < record->n_rows; i++) {
        if (record->rows[i].t_s >= from_s && record->rows[i].t_s < to_s)
            sum += (double)count_of(&record->rows[i].counts, counter);
    }
    *value = sum / (to_s - from_s);
    return true;
}

/* The digits of p95 or p999, as .95 or .999; 0: it is something else. */
static double share_of(const char *digits, size_t n)
{
    char text[16] = ".";

    if (n < 2 || n + 2 > sizeof(text) || strspn(digits, "0123456789") < n)
        return 0;
    memcpy(text + 1, digits, n);
    return strtod(text, NULL);
}

/* [eff_|first_]{mean|max|pNN}_s */
static bool latency_metric(struct record *record, const char *name, double *value)
{
    struct record_values *values = &record->latency;
    size_t n;

    if (strncmp(name, "eff_", 4) == 0) {
        values = &record->effective;
        name += 4;
    } else if (strncmp(name, "first_", 6) == 0) {
        values = &record->first;
        name += 6;
    }
    n = strlen(name);
    if (n < 3 || strcmp(name + n - 2, "_s") != 0)
        return false;
    if (strcmp(name, "mean_s") == 0) {
        *value = record_mean(values);
    } else if (strcmp(name, "max_s") == 0) {
        *value = record_percentile(values, 1);
    } else {
        double share = name[0] == 'p' ? share_of(name + 1, n - 3) : 0;

        if (share <= 0)
            return false;
        *value = record_percentile(values, share);
    }
    return true;
}

static double max_shed(const struct record *record)
{
    double max = 0;

    for (uint32_t i = 0; i < record->n_rows; i++)
        max = fmax(max, record->rows[i].shed);
    return max;
}

static uint32_t max_instances(const struct record *record)
{
    uint32_t max = 0;

    for (uint32_t i = 0; i < record->n_rows; i++)
        if (record->rows[i].instances > max)
            max = record->rows[i].instances;
    return max;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

bool record_metric_counts(const char *name)
{
    static const char *const others[] = {"open",        "refusals",  "max_open",
                                         "max_waiting", "max_queue", "max_instances"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i]) == 0)
            return true;
    }
    return find_counter(name, strlen(name)) || (strchr(name, '.') && !strchr(name, '@'));
}

bool record_metric(struct record *record, const char *name, double *value)
{
    const struct record_counts *sum = &record->sum;
    const struct {
        const char *name;
        double value;
    } others[] = {
        {"open", (double)record->open},
        {"refusals", (double)refusals(sum)},
        {"goodput_per_s", (double)sum->ends[END_USEFUL] / record->scenario->duration_s},
        {"useful_share", share(sum->ends[END_USEFUL], sum->offered)},
        {"refusal_share", share(refusals(sum), sum->attempts)},
        {"attempts_per_offered", share(sum->attempts, sum->offered)},
        {"max_open", (double)record->open_max},
        {"max_waiting", (double)record->waiting_max},
        {"max_queue", (double)record->queue_max},
        {"max_wait_s", fmax(record->wait_max_s, record->gate_wait_max_s)},
        {"max_shed", max_shed(record)},
        {"max_instances", max_instances(record)},
        {"drain_s", record->drained_s - record->last_burst_end_s},
        {"duration_s", record->scenario->duration_s},
        {"end_s", record->end_s},
    };

    if (counter_metric(record, name, value) || rate_metric(record, name, value))
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i].name) == 0) {
            *value = others[i].value;
            return true;
        }
    }
    return latency_metric(record, name, value);
}
