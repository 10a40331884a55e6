/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `sluice-sim plan`: from what a service can do and what is asked of it to a configuration, with
 * the formula behind every number. Pure arithmetic: no simulation, no clock. The formulas and their
 * sources are in control/config/sizing.h and dataplane/admission/demand.h.
 */
#ifndef SLUICE_SIM_PLAN_H
#define SLUICE_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/policy/service.h"

/* What is stated. 0: not stated, but of `lost` (nobody vanishes), `rtt_s` and `spread`. */
struct plan_input {
    double capacity_per_s;
    double service_s;
    double slots;
    double rate_per_s;
    double burst_per_s, burst_s; /* offered for so long in place of the rate */
    double critical_per_s;       /* by so much may critical work rise */
    double deadline_s;
    double rtt_s;
    double age_s;                      /* longest wait in the queue */
    double recovery_s;                 /* a full queue shall be gone in that time */
    double utilisation, blocked, lost; /* shares */
    double spread;                     /* coefficient of variation of the service times */
    enum policy_unit unit;
    bool json;
};

#define PLAN_ROWS_MAX    32
#define PLAN_FORMULA_MAX 192

/* `name` says the unit, as in JSON; an infinite value is one that has no bound. */
struct plan_row {
    const char *name;
    double value;
    char formula[PLAN_FORMULA_MAX];
};

struct plan {
    struct plan_input in; /* completed: capacity, service time, slots */
    double headroom_per_s;
    double held_s;
    double age_s;
    double window, places;
    double idle_s; /* of flows; 0: the default will do */
    struct plan_row rows[PLAN_ROWS_MAX];
    uint32_t n_rows;
    char error[256];
};

/* Reads the options that follow `argv[0]`. 0; 1: asked for help, which is printed; -1: a mistake,
 * which is reported. */
int plan_options(int argc, char **argv, struct plan_input *in);

/* False: it cannot be, and `error` says why. */
bool plan_make(const struct plan_input *in, struct plan *plan);

void plan_print(const struct plan *plan, FILE *out);
void plan_print_json(const struct plan *plan, FILE *out);

/* The verb; returns the exit code: 0, or 2 for a mistake in what is asked. */
int plan_main(int argc, char **argv);

#endif
