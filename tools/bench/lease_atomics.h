/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often workers touch what they share.
 */
#ifndef SLUICE_BENCH_LEASE_ATOMICS_H
#define SLUICE_BENCH_LEASE_ATOMICS_H

#include "tools/bench/crew.h"

/* Read-modify-writes of a shared word for each attempt, over some hundred lots of every lease; all
 * flows of the scene are visited in turn. Negative when memory is short. */
double lease_atomics_per_packet(struct scene *scene, const struct crew_shape *shape);

#endif
