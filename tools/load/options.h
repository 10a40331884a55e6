/* SPDX-License-Identifier: BSD-3-Clause */
/* What sluice-load is asked to do. */
#ifndef SLUICE_LOAD_OPTIONS_H
#define SLUICE_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/load/results.h"
#include "tools/load/schedule.h"
#include "tools/load/source.h"
#include "tools/scenario/scenario.h"

/* At once; lowered to what the file descriptor limit allows. */
#define LOAD_CONNECTIONS_MAX 65536u
#define LOAD_ATTEMPTS_MAX    100u
#define LOAD_KINDS_MAX       RESULTS_KINDS_MAX
#define LOAD_KIND_MAX_BYTES  1024u
#define LOAD_SETS_MAX        64u

enum load_format { LOAD_TABLE, LOAD_JSON, LOAD_CSV };

struct protocol;

/* What `find` searches; see find.h. */
struct find_options {
    uint64_t min, max;                 /* rates per period_ns */
    uint64_t period_ns, max_period_ns; /* the same when checked */
    uint32_t percentile, precision_percent;
};

/* One kind of work. */
struct load_kind {
    const char *name;     /* path or name that is asked for */
    const char *title;    /* of a scenario's; NULL or "": none */
    uint64_t deadline_ns; /* a reply complete by then is useful */
    uint64_t timeout_ns;  /* the client gives up */
};

/* Where the arrivals of a scenario come from: so many of `sources`, from `first` on. */
struct source_range {
    uint32_t first, n;
};

struct load_options {
    const char *target_text;
    const struct protocol *protocol;
    const char *kind_option; /* that named the kinds; NULL: none did */
    struct load_kind kinds[LOAD_KINDS_MAX];
    uint32_t n_kinds;
    struct source target;
    struct source_list sources; /* none: the system chooses */
    struct schedule_request schedule;
    bool seed_given;
    uint32_t closed; /* clients of a closed loop; 0: an open one, by the schedule */
    bool finds;      /* the highest rate, a trial of schedule.duration_ns each */
    struct find_options find;
    uint64_t deadline_ns; /* of all kinds; the shortest of a scenario's */
    uint64_t timeout_ns;  /* of all kinds, never before the deadline; 0: a scenario's */
    /* How often refused work is tried, and when: its tries, backoff and Retry-After. */
    struct scenario_clients clients;
    uint32_t connections; /* at once, at most */
    bool keep_alive;      /* and used again */
    enum load_format format;
    bool series; /* rows per second as well */
    const char *scenario_path;
    const char *sets[LOAD_SETS_MAX]; /* KEY=VALUE for it */
    uint32_t n_sets;
    struct scenario *scenario; /* NULL: the options above say all. The caller's to free */
    struct source_range ranges[SCENARIO_ARRIVALS_MAX];
};

/* Fills `options` from the command line. 0; 1 when help or the version was printed; -EINVAL after
 * telling on stderr what is wrong. */
int options_read(int argc, char **argv, struct load_options *options);

/* The last step of that: completes what was read. 0, or -EINVAL after telling. */
int options_check(struct load_options *options);
/* A part of it: reads the scenario, and takes from it what the options do not say; the target is
 * known. */
int options_take_scenario(struct load_options *options);

#endif
