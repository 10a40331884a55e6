/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of everything in a run: counters, exact percentiles, and a row for each interval.
 * The engine tells, in order of time; printers read.
 *
 * `offered` counts pieces of work, `attempts` tries at them. Every piece ends once, as useful,
 * late, unfinished or refused (its last try was, and it was told); a refused try is counted by its
 * reason each time. What is under way when a run is cut has no end and is `open`: offered = useful
 * + late + unfinished + refused + open. Latency counts from the try that was answered, first
 * latency from the first try. Effective latency takes late and unfinished work at its deadline and
 * leaves refused work out. Percentiles: value number round_half_even(p (n - 1)) of the sorted ones,
 * as the FaxRx model does.
 *
 * Where memory ends, `failed` is set and nothing more is kept.
 */
#ifndef SLUICE_SIM_RECORD_H
#define SLUICE_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/admission/verdict.h"
#include "tools/scenario/scenario.h"

enum record_end { END_USEFUL, END_LATE, END_UNFINISHED, END_REFUSED, END_MAX };

/* One interval, or the whole run. */
struct record_counts {
    uint64_t offered, attempts, admitted;
    uint64_t ends[END_MAX];               /* by the time they ended */
    uint64_t refused[REASON_ATTEMPT_MAX]; /* tries, by the gate's reasons */
    uint64_t refused_full;                /* by a stage whose places were taken */
    uint64_t dropped_aged;                /* tries a stage dropped for their age */
    uint64_t executed, effects;           /* calls served by the last stage; distinct work */
    uint64_t restarts;
};

/* Growing list of exact values. */
struct record_values {
    uint64_t n, room;
    double *s;
    bool sorted;
};

struct record_row {
    double t_s; /* start of the interval */
    struct record_counts counts;
    double shed;         /* share of the lowest class in the gate, at the end of the interval */
    uint64_t waiting;    /* in the gate's queues, at the end */
    uint64_t queue;      /* in the queues of stages, at the end */
    double age_s;        /* of the oldest of those, at the end */
    uint32_t instances;  /* at work, all stages */
    double p50_s, p99_s; /* of work answered in it; NAN: none */
    double eff_p95_s, eff_p99_s;
};

struct record {
    const struct scenario *scenario;
    struct record_counts sum;
    uint64_t ends_by_kind[SCENARIO_KINDS_MAX][END_MAX];
    struct record_values latency, effective, first;  /* whole run */
    struct record_values now_latency, now_effective; /* of the interval */
    uint32_t n_rows, room_rows;
    struct record_row *rows;
    struct record_row current;
    double end_s;                  /* when the run ended */
    uint64_t open, waiting, queue; /* now */
    uint64_t open_max, waiting_max, queue_max;
    double wait_max_s;       /* longest wait in a stage's queue before service, */
    double gate_wait_max_s;  /* and in the gate's */
    double last_burst_end_s; /* 0: there is no burst */
    double drained_s;        /* when all queues were first empty after it; NAN: not, or no burst */
    bool failed;
};

/* 0 or -ENOMEM. */
int record_init(struct record *record, const struct scenario *scenario);
void record_free(struct record *record);

/* In order of time: t_s never goes back. */
void record_offered(struct record *record);
void record_attempt(struct record *record);
void record_admitted(struct record *record);
void record_refused(struct record *record, enum reason reason);
void record_stage_full(struct record *record);
void record_stage_aged(struct record *record);
void record_executed(struct record *record, bool first);
void record_restart(struct record *record);
void record_gate_wait(struct record *record, double wait_s);
void record_stage_wait(struct record *record, double wait_s);
/* Pieces in the gate's queues and in those of all stages, after every change of either. */
void record_queues(struct record *record, double t_s, uint64_t waiting, uint64_t queue);

struct record_ending {
    uint32_t kind;
    enum record_end end;
    double latency_s;  /* from the try, to its reply or (END_UNFINISHED) until it was given up */
    double first_s;    /* the same from the first try */
    double deadline_s; /* of its kind; 0: none, then latency_s stands for it */
};
void record_end(struct record *record, const struct record_ending *ending);

/*
 * Levels at the end of an interval, which the engine calls every interval_s, and once more at the
 * end, before record_finish(), if that is later than the last or something happened since.
 */
struct record_levels {
    double shed, age_s;
    uint32_t instances;
};
void record_interval(struct record *record, double t_s, const struct record_levels *levels);
void record_finish(struct record *record, double t_s);

/* Sorts. NAN: no values. */
double record_percentile(struct record_values *values, double p);
double record_mean(struct record_values *values);

/* A number of the summary by name (README.md lists them); false: no such name. NAN: no value. */
bool record_metric(struct record *record, const char *name, double *value);
/* Whether it counts something, and is whole. */
bool record_metric_counts(const char *name);

/* All names but those of single kinds and of percentiles other than the usual; NULL ends them. */
extern const char *const record_metrics[];

#endif
