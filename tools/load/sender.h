/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the schedule: starts each piece of work when it is due. */
#ifndef SLUICE_LOAD_SENDER_H
#define SLUICE_LOAD_SENDER_H

#include "tools/load/client.h"
#include "tools/load/schedule.h"

/* Runs the schedule, and the closed loops that the options or their scenario ask for, to the last
 * outcome. 0 or -ENOMEM. */
int sender_run(const struct load_options *options, const struct schedule *schedule,
               struct results *results, int *not_sent_errno);

#endif
