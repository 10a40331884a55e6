/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges that end in silence (flow/silence.h): found within a millisecond. Owner thread only.
 */
#ifndef SLUICE_WORKER_SILENCES_H
#define SLUICE_WORKER_SILENCES_H

#include "dataplane/worker/burst.h"

/* The reply of this exchange has begun. */
void silences_watch(struct worker *w, struct flow *flow);

/* Ends the exchanges that have been silent for long enough; once per loop. */
void silences_tend(struct worker *w);

#endif
