/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate of a run: the shipped decision core with its workers and its control loop, built from
 * the settings a daemon would read. One thread plays all of them. A thin layer: what a try does at
 * the gate stands in door.h.
 */
#ifndef SLUICE_SIM_GATE_H
#define SLUICE_SIM_GATE_H

#include "dataplane/admission/admission.h"
#include "dataplane/admission/admission_control.h"
#include "tools/scenario/scenario.h"

#define GATE_EPOCH_NS     1000000000000ull /* time 0 of a run: the core takes 0 for never */
#define GATE_SURVEY_S     .256             /* the owner of the flows has gone over all of them */
#define GATE_TIDY_S       .001
#define GATE_PERIOD_S     .050 /* of the control loop, if the settings have none */
#define GATE_RELEASED_MAX 32u

struct gate {
    const struct settings *settings;
    struct policy *policy;
    uint32_t n_workers;
    struct admission_shared *shared;
    struct admission **workers;
    struct admission_control *control;
    double period_s;
    uint32_t *waiting;      /* of each worker */
    uint64_t waiting_total; /* of all */
    uint64_t *offered;      /* to each worker, */
    uint64_t *tidied;       /* and how many when it was last tidied up */
    bool *tidying;          /* it will be */
    bool is_due;            /* somebody who waits may be let in */
};

/* 0, -ENOMEM, or -EINVAL: the settings make no policy. Free with gate_close() in any case. */
int gate_open(struct gate *gate, const struct scenario *scenario);
void gate_close(struct gate *gate);

static inline uint64_t gate_ns(double t_s)
{
    return GATE_EPOCH_NS + (uint64_t)(t_s * 1e9 + .5);
}

/* The first time of a run at which the gate's clock shows that. */
static inline double gate_time_s(uint64_t ns)
{
    return (double)(ns - GATE_EPOCH_NS) / 1e9;
}

/* The tenant (index) of that name, and the service; "": the first. UINT32_MAX: there is none. */
uint32_t gate_find_tenant(const struct gate *gate, const char *name);
uint32_t gate_find_service(const struct gate *gate, const char *name);

/* Does anything depend on how long work has been running? No slot is ever lost here. */
bool gate_looks_at_ages(const struct gate *gate);

void gate_step(struct gate *gate, double t_s);

#endif
