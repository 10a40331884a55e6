/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All runs that a scenario and the command line ask for: each variant with each value of the
 * sweep, variants outer. Every run is a process of its own, so many at once as asked for; what
 * comes out, and in which order, does not depend on how many.
 */
#ifndef SLUICE_SIM_SWEEP_H
#define SLUICE_SIM_SWEEP_H

#include "tools/scenario/scenario.h"
#include "tools/sim/options.h"
#include "tools/sim/result.h"

struct sweep {
    const struct sim_options *options;
    const struct scenario *base; /* as the file and --set have it */
    bool rows;                   /* keep the time series */
    uint32_t n_results;
    struct result *results; /* labels borrow from options and base */
};

/* Progress goes to stderr if that is a terminal. 0, -ENOMEM, -EINVAL: the scenario of a run is
 * wrong, -EIO: a run failed; all but -ENOMEM were said on stderr. */
int sweep_run(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

#endif
