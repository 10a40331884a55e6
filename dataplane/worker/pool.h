/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet buffers of all ports. Control thread.
 */
#ifndef SLUICE_WORKER_POOL_H
#define SLUICE_WORKER_POOL_H

#include <rte_mempool.h>
#include <stddef.h>

#include "dataplane/worker/settings.h"

/*
 * Buffers for every descriptor of every device of the gates, what AF_XDP keeps, a burst and a cache
 * per worker, on the first worker's node. NULL with a sentence in `why`: there is no such memory.
 * rte_mempool_free() frees it, after the ports are closed.
 */
struct rte_mempool *pool_create(const struct dataplane_settings *settings, char *why,
                                size_t why_bytes);

#endif
