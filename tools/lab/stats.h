/* SPDX-License-Identifier: BSD-3-Clause */
/* What the backend counted, on a port of its own that no queue stands before. */
#ifndef SLUICE_LAB_STATS_H
#define SLUICE_LAB_STATS_H

#include "tools/lab/backend.h"

/*
 * GET /stats: one JSON object. POST /stats/reset: served, abandoned and refused from 0, peaks and
 * totals from what is there now; answers like /stats.
 * POST /pace?per_s=N: backend_set_pace(); answers like /stats, or 400 when it is out of range.
 * `address` is numeric. 0, -ENOMEM, or -EADDRINUSE when it cannot be bound.
 */
int stats_serve(struct backend *backend, const char *address, uint16_t port);

#endif
