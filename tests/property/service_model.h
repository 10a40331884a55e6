/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service to make promises about: slots, a FIFO queue with too many places to be in time, Poisson
 * arrivals, exponential service times with a heavy tail (or even ones), a deadline. The control
 * thread looks every 50 ms. Virtual time; the same seed is the same run.
 */
#ifndef SLUICE_TESTS_SERVICE_MODEL_H
#define SLUICE_TESTS_SERVICE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/promise.h"

#define S         1000000000ull
#define MS        1000000ull
#define SLOTS_MAX 1024
#define PLACES    1024

struct tally {
    uint64_t offered, admitted, useful, late;
};

struct setup {
    unsigned slots;
    double service_s;               /* mean; capacity is slots / service */
    double tail_share, tail_factor; /* of exponential times so many are so many times as long; */
    double spread;                  /* or, if > 0: times are even between mean * (1 -+ spread) */
    uint64_t deadline_ns;
    double load;                         /* offered / capacity */
    bool no_check, no_ages, no_feedback; /* ablations */
};

struct server {
    bool busy;
    uint64_t arrived_ns, started_ns, ends_ns;
};

struct model {
    struct setup setup;
    uint64_t arrival_seed, service_seed; /* the same work in the same order, whoever gets in */
    uint64_t now_ns, next_arrival_ns, next_step_ns;
    double slowness;           /* factor on service times of work that starts */
    uint64_t stalled_until_ns; /* nothing ends before */
    struct server servers[SLOTS_MAX];
    uint64_t queue[PLACES]; /* when they came */
    uint32_t head, waiting, busy;
    bool was_full;
    struct histogram completed;
    uint64_t completions;
    struct promise promise;
    struct promise_control control;
    struct tally tally;
};

/* Completed a second when all slots are busy, at slowness 1. */
double model_capacity(const struct setup *s);

void model_init(struct model *m, const struct setup *setup, uint64_t seed);

/* Runs on and tells what happened meanwhile. */
struct tally model_run(struct model *m, uint64_t for_ns);

/* The backend stops for a while, from now on. */
void model_stall(struct model *m, uint64_t for_ns);

/* The share of completed work that was late. */
double tally_broken(struct tally t);

#endif
