/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_FIRST 1024u
#define ROWS_FIRST   64u

static void add_value(struct record *record, struct record_values *values, double s)
{
    if (values->n == values->room) {
        uint64_t room = values->room ? values->room + values->room / 2 : VALUES_FIRST;
        double *grown = realloc(values->s, room * sizeof(*grown));

        if (!grown) {
            record->failed = true;
            return;
        }
        values->s = grown;
        values->room = room;
    }
    values->s[values->n++] = s;
    values->sorted = false;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void sort(struct record_values *values)
{
    if (!values->sorted && values->n)
        qsort(values->s, values->n, sizeof(*values->s), compare);
    values->sorted = true;
}

double record_percentile(struct record_values *values, double p)
{
    if (values->n == 0)
        return NAN;
    sort(values);
    /* The default rounding of IEEE 754 is half to even. */
    return values->s[(uint64_t)nearbyint(p * (double)(values->n - 1))];
}

double record_mean(struct record_values *values)
{
    double sum = 0;

    /* In one order, so that the last bit does not depend on what was asked before. */
    sort(values);
    for (uint64_t i = 0; i < values->n; i++)
        sum += values->s[i];
    return values->n ? sum / (double)values->n : NAN;
}

int record_init(struct record *record, const struct scenario *scenario)
{
    *record = (struct record){.scenario = scenario,
                              .rows = calloc(ROWS_FIRST, sizeof(*record->rows)),
                              .room_rows = ROWS_FIRST,
                              .last_burst_end_s = scenario_burst_end_s(scenario),
                              .drained_s = NAN};
    return record->rows ? 0 : -ENOMEM;
}

void record_free(struct record *record)
{
    free(record->latency.s);
    free(record->effective.s);
    free(record->first.s);
    free(record->now_latency.s);
    free(record->now_effective.s);
    free(record->rows);
    *record = (struct record){0};
}

static void count(uint64_t *of_run, uint64_t *of_interval)
{
    ++*of_run;
    ++*of_interval;
}

void record_offered(struct record *record)
{
    count(&record->sum.offered, &record->current.counts.offered);
    if (++record->open > record->open_max)
        record->open_max = record->open;
}

void record_attempt(struct record *record)
{
    count(&record->sum.attempts, &record->current.counts.attempts);
}

void record_admitted(struct record *record)
{
    count(&record->sum.admitted, &record->current.counts.admitted);
}

void record_refused(struct record *record, enum reason reason)
{
    count(&record->sum.refused[reason], &record->current.counts.refused[reason]);
}

void record_stage_full(struct record *record)
{
    count(&record->sum.refused_full, &record->current.counts.refused_full);
}

void record_stage_aged(struct record *record)
{
    count(&record->sum.dropped_aged, &record->current.counts.dropped_aged);
}

void record_executed(struct record *record, bool first)
{
    count(&record->sum.executed, &record->current.counts.executed);
    if (first)
        count(&record->sum.effects, &record->current.counts.effects);
}

void record_restart(struct record *record)
{
    count(&record->sum.restarts, &record->current.counts.restarts);
}

void record_gate_wait(struct record *record, double wait_s)
{
    if (wait_s > record->gate_wait_max_s)
        record->gate_wait_max_s = wait_s;
}

void record_stage_wait(struct record *record, double wait_s)
{
    if (wait_s > record->wait_max_s)
        record->wait_max_s = wait_s;
}

/* drained_s: since when all queues are as empty as they are at t_s. */
static void look_for_drain(struct record *record, double t_s, double drained_s)
{
    if (record->last_burst_end_s > 0 && t_s >= record->last_burst_end_s &&
        isnan(record->drained_s) && record->waiting + record->queue == 0)
        record->drained_s = drained_s;
}

void record_queues(struct record *record, double t_s, uint64_t waiting, uint64_t queue)
{
    look_for_drain(record, t_s, record->last_burst_end_s);
    record->waiting = waiting;
    record->queue = queue;
    if (waiting > record->waiting_max)
        record->waiting_max = waiting;
    if (queue > record->queue_max)
        record->queue_max = queue;
    look_for_drain(record, t_s, t_s);
}

void record_end(struct record *record, const struct record_ending *ending)
{
    bool answered = ending->end == END_USEFUL || ending->end == END_LATE;
    double effective_s = ending->end == END_USEFUL || ending->deadline_s <= 0 ? ending->latency_s
                                                                              : ending->deadline_s;

    count(&record->sum.ends[ending->end], &record->current.counts.ends[ending->end]);
    record->ends_by_kind[ending->kind][ending->end]++;
    record->open--;
    if (ending->end == END_REFUSED)
        return;
    add_value(record, &record->effective, effective_s);
    add_value(record, &record->now_effective, effective_s);
    if (answered) {
        add_value(record, &record->latency, ending->latency_s);
        add_value(record, &record->now_latency, ending->latency_s);
        add_value(record, &record->first, ending->first_s);
    }
}

static bool make_room(struct record *record)
{
    struct record_row *grown;

    if (record->n_rows < record->room_rows)
        return true;
    grown = realloc(record->rows, 2 * record->room_rows * sizeof(*grown));
    if (!grown) {
        record->failed = true;
        return false;
    }
    record->rows = grown;
    record->room_rows *= 2;
    return true;
}

void record_interval(struct record *record, double t_s, const struct record_levels *levels)
{
    struct record_row *row = &record->current;

    row->shed = levels->shed;
    row->age_s = levels->age_s;
    row->instances = levels->instances;
    row->waiting = record->waiting;
    row->queue = record->queue;
    row->p50_s = record_percentile(&record->now_latency, .5);
    row->p99_s = record_percentile(&record->now_latency, .99);
    row->eff_p95_s = record_percentile(&record->now_effective, .95);
    row->eff_p99_s = record_percentile(&record->now_effective, .99);
    if (make_room(record))
        record->rows[record->n_rows++] = *row;
    *row = (struct record_row){.t_s = t_s};
    record->now_latency.n = record->now_effective.n = 0;
}

void record_finish(struct record *record, double t_s)
{
    look_for_drain(record, t_s, record->last_burst_end_s);
    record->end_s = t_s;
}
