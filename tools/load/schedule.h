/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When requests are to be sent, fixed before the first of them is: how the service copes must not
 * change when the next one is asked for (an open loop).
 */
#ifndef SLUICE_LOAD_SCHEDULE_H
#define SLUICE_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_REQUESTS_MAX UINT64_C(4000000)
#define SCHEDULE_RATE_MAX     UINT64_C(1000000) /* per period */

struct schedule_request {
    uint64_t count;     /* requests ... */
    uint64_t period_ns; /* ... per this time */
    uint64_t duration_ns;
    bool poisson; /* spaced as a scenario of this rate and seed, else evenly */
    uint64_t seed;
    uint32_t n_sources, n_kinds; /* that take turns; no source: the system chooses */
};

/* One piece of work: when it is asked for, by whom, and what it is. */
struct arrival {
    uint64_t at_ns;  /* from the start of the run, below its duration */
    uint32_t source; /* index of the source address; beyond their number: the system chooses */
    uint32_t kind;   /* index of what is asked for */
};

struct schedule {
    uint64_t n;
    struct arrival *arrivals; /* in ascending order of time */
};

/* 0, -E2BIG (more than SCHEDULE_REQUESTS_MAX), -ENOMEM. */
int schedule_make(const struct schedule_request *request, struct schedule *out);
void schedule_free(struct schedule *schedule);

/* The nanosecond for `at_s`, which is below the duration, and stays below it when rounded. */
uint64_t schedule_ns(double at_s, uint64_t duration_ns);

#endif
