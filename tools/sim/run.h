/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a scenario, from its first arrival to its end. */
#ifndef SLUICE_SIM_RUN_H
#define SLUICE_SIM_RUN_H

#include "tools/scenario/scenario.h"
#include "tools/sim/record.h"

/* The same scenario (its seed included) gives the same record, bit by bit. `record` is initialised.
 * 0, -ENOMEM, or -EINVAL: the gate has no policy for it. */
int run_scenario(const struct scenario *scenario, struct record *record);

#endif
