/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scenario: what is offered, by whom, to what, through which gate. One file (libconfig syntax,
 * read by control/config's own reader, every mistake reported with its line) serves the simulator,
 * which plays all of it, and the load tool, which sends its arrivals to a real service.
 *
 * Times are seconds and rates events per second, as doubles: a scenario is a model, and no counter
 * of the gate depends on their last bit. A time in a file is a duration ("20ms"), or a rate of
 * which it is the inverse ("42.5/s"). The key names stand in README.md beside this file.
 */
#ifndef SLUICE_SCENARIO_SCENARIO_H
#define SLUICE_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SCENARIO_ARRIVALS_MAX 64u
#define SCENARIO_KINDS_MAX    16u
#define SCENARIO_STAGES_MAX   16u
#define SCENARIO_STEPS_MAX    64u /* of one kind of request, repeats counted */
#define SCENARIO_EVENTS_MAX   64u
#define SCENARIO_COLUMNS_MAX  32u
#define SCENARIO_VARIANTS_MAX 16u
#define SCENARIO_VALUES_MAX   256u /* of a sweep */
#define SCENARIO_TRACE_MAX    4000000u
#define SCENARIO_NONE         UINT32_MAX

struct settings; /* control/config/config.h */

/* A random time. Draws: tools/scenario/draw.h. */
enum draw_kind {
    DRAW_FIXED,
    DRAW_EXPONENTIAL,
    DRAW_LOGNORMAL, /* mean and coefficient of variation */
    DRAW_PARETO,    /* mean and shape (above 1) */
    DRAW_TWO_POINT, /* `other_s` with probability `share`, else mean_s */
    DRAW_EVERY,     /* `other_s` each `every`-th time, else mean_s; no random number is drawn */
};
struct draw {
    enum draw_kind kind;
    double mean_s, rate_per_s; /* the one given and its inverse */
    double cv, shape;
    double other_s, share;
    uint32_t every;
};

/* How often, over time. */
enum arrival_shape {
    ARRIVE_STEADY,
    ARRIVE_STEP,  /* rate x factor from from_s for for_s */
    ARRIVE_DECAY, /* rate + (factor - 1) x rate x e^(-decay t / width), t since the spike began, for
                     width_s, again every `every_s` */
    ARRIVE_ON_OFF, /* rate x factor for on_s, then rate x rest for off_s, and so on, from from_s */
    ARRIVE_TRACE,  /* at the times listed */
    ARRIVE_CLOSED, /* `clients`, each sends its next when the last has ended and `think` is over */
};
struct scenario_arrivals {
    const char *name;    /* "" if none */
    const char *tenant;  /* of the gate; "default" */
    const char *service; /* of the gate; "": its first */
    enum arrival_shape shape;
    bool poisson; /* else evenly spaced, the first at the start: 1 / rate apart */
    bool blocks;  /* a producer: who finds no place waits, and the next come later by as much */
    double rate_per_s, factor;
    double from_s, for_s;
    double decay, width_s, every_s;
    double on_s, off_s, rest;
    double start_s, stop_s; /* none before, nor at the latter and after; 0 and the duration */
    uint64_t count;         /* so many in all; 0: no limit */
    uint32_t clients;       /* ARRIVE_CLOSED */
    struct draw think;
    uint64_t n_trace;
    const double *trace_s; /* ascending */
    uint32_t population;   /* addresses they come from, by turns */
    /* Which kinds of request, as indices; each with its weight. One kind: no random number is
     * drawn; else one u, and the first kind whose cumulated weight exceeds u x sum is taken. */
    uint32_t n_kinds, kinds[SCENARIO_KINDS_MAX];
};

/* One service after the other, each with its own queue. */
struct scenario_step {
    uint32_t stage; /* index */
    struct draw time;
    bool holds;     /* its server is kept until the reply (a call that waits for the next) */
    uint32_t tries; /* of this step and all after it, 1: none but the first */
    double budget;  /* retries of this step are at most this share of its calls (plus reserve);
                       below 0: no budget */
    double reserve;
};

enum expired {
    EXPIRED_SERVED,  /* nobody looks: done to its end */
    EXPIRED_SKIPPED, /* looked at before each step: what is late is not begun */
    EXPIRED_REMOVED, /* leaves wherever it is the moment it is late, and frees what it holds */
};
struct scenario_kind {
    const char *name;
    double weight;
    double deadline_s; /* from the try to its reply; 0: none */
    enum expired expired;
    uint32_t n_steps;
    struct scenario_step steps[SCENARIO_STEPS_MAX];
    uint32_t reply_after; /* so many steps: the client has its answer and the gate its slot back,
                             the rest goes on behind; n_steps */
    const char *path;     /* what the load tool asks for */
};

/* Servers with one queue for each instance. */
enum stage_order { STAGE_FIFO, STAGE_LIFO, STAGE_DEADLINE };
enum stage_choice { STAGE_BY_TURNS, STAGE_LEAST /* in queue and work */, STAGE_RANDOM };
struct scenario_liveness { /* a check that goes through the instance's queue; every_s 0: none */
    double every_s, timeout_s;
    uint32_t failures; /* in a row restart the instance: what it has is lost */
    double restart_s;
};
struct scenario_stage {
    const char *name;
    uint32_t instances;
    uint32_t servers; /* of each instance */
    uint32_t places;  /* of the queue of each; SCENARIO_NONE: unbounded */
    double age_s;     /* who waited longer is dropped when its turn comes; 0: nobody */
    enum stage_order order;
    enum stage_choice choice;
    double fails;    /* share of calls that fail after their service time */
    bool idempotent; /* work done once is answered at once */
    struct scenario_liveness liveness;
};

struct scenario_clients {
    uint32_t tries;   /* of one piece of work, 1: no retry */
    double timeout_s; /* of a try; 0: the deadline of its kind; none: waits for ever */
    double give_up_s; /* no try begins later than this after the first; 0: no limit */
    double backoff_s, backoff_max_s; /* before try k + 2: min(max, base x 2^k) x jitter */
    enum jitter { JITTER_NONE, JITTER_FULL /* U(0, 1) */, JITTER_HALF /* U(.5, 1) */ } jitter;
    bool retry_after; /* no sooner than a refusal says */
    double rtt_s;     /* to the gate and back */
};

struct scenario_event {
    double at_s;
    enum event_kind {
        EVENT_LOSE /* `count` instances, for good or for_s */,
        EVENT_SLOW /* times x factor from now on, for for_s */,
        EVENT_STOP /* nothing ends for for_s */
    } kind;
    uint32_t stage;
    uint32_t count;
    double factor, for_s; /* for_s 0: for good */
};

struct scenario_scaler { /* every_s 0: none */
    uint32_t stage;
    double every_s, delay_s; /* looks; and an instance works so long after it was asked for */
    double target;           /* utilisation aimed at */
    bool by_demand;          /* of what is asked for, refused work included; else of busy servers */
    uint32_t min, max;
};

/* Beside `scenario_read`'s KEY=VALUE overrides. */
struct scenario_variant {
    const char *name;
    uint32_t n_sets;
    const char *const *sets; /* "key=value" */
};
struct scenario_column {
    const char *name, *source; /* what is printed as its value: README.md */
};

struct scenario {
    const char *path;  /* of the file */
    const char *about; /* a few lines on what it shows */
    uint64_t seed;
    double duration_s; /* arrivals end then */
    double interval_s; /* of the time series */
    bool cut;          /* at the end what is under way is left as it is; else it is played out */
    struct settings *gate; /* NULL: none, everybody goes straight to the first stage */
    uint32_t workers;
    uint32_t n_arrivals, n_kinds, n_stages, n_events, n_columns, n_variants;
    struct scenario_arrivals *arrivals;
    struct scenario_kind *kinds;
    struct scenario_stage *stages;
    struct scenario_event *events;
    struct scenario_column *columns;
    struct scenario_variant *variants;
    struct scenario_clients clients;
    struct scenario_scaler scaler;
    const char *sweep_key; /* NULL: none */
    uint32_t n_values;
    const char *const *values; /* as they stand in the file */
    void *memory;              /* all of the above */
};

/*
 * Reads `path` with `sets` ("arrivals.0.rate=340/s", "stages.web.servers=8", "gate=none"), each
 * replacing a value that stands in the file, numbers by place and names by name. Mistakes go to
 * `report`, all of them, as FILE:LINE: key: text. 0 and *out filled, or -EINVAL, -ENOENT and its
 * like, -ENOMEM.
 */
int scenario_read(const char *path, const char *const *sets, unsigned n_sets, FILE *report,
                  struct scenario **out);
void scenario_free(struct scenario *scenario);

/* The text of a setting as it stands in the file after `sets`, without quotes, for columns; false:
 * there is no such key, or it is no number or string. */
bool scenario_value(const struct scenario *scenario, const char *key, char *text, size_t size);

/* Do two keys name the same value, by whatever names and places, or is one of them within what the
 * other names? `key` and `other` end at a '=' or NUL. */
enum scenario_keys { KEYS_APART, KEYS_SAME, KEYS_NESTED };
enum scenario_keys scenario_compare_keys(const struct scenario *scenario, const char *key,
                                         const char *other);

/* Rate of `arrivals` at t_s (not of traces and closed loops). */
double arrivals_rate(const struct scenario_arrivals *arrivals, double t_s);
/* The end of the last burst of the scenario, 0 if it has none. */
double scenario_burst_end_s(const struct scenario *scenario);

#endif
