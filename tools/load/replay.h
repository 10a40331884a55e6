/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of a scenario. Its random numbers are drawn as the simulator draws them, so that the
 * same seed gives the same arrivals wherever a run of the simulator draws for nothing else: no
 * random service times, and no retries with jitter. A producer does not wait here.
 */
#ifndef SLUICE_LOAD_REPLAY_H
#define SLUICE_LOAD_REPLAY_H

#include "tools/load/options.h"
#include "tools/load/schedule.h"

/* All but closed loops, with kinds and sources. 0, -E2BIG (more than SCHEDULE_REQUESTS_MAX),
 * -ENOMEM; the schedule is the caller's to free. */
int replay_make(const struct load_options *options, struct schedule *out);

#endif
