/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For ThreadSanitizer. It sees only what is compiled with it, and threads meet inside DPDK's
 * libraries as well: in the queues of the ring driver, in the ring of the buffer pool, when a
 * worker is launched and when it is waited for. So in such a build the rings are replaced by the
 * same inline functions of rte_ring, compiled here, and launching and waiting is repeated in a way
 * that can be seen. Other builds use the libraries as they are.
 */
#ifndef SLUICE_TESTS_WORKERS_INSTRUMENTED_H
#define SLUICE_TESTS_WORKERS_INSTRUMENTED_H

#include "tests/workers/gate.h"

#ifdef __SANITIZE_THREAD__
#define INSTRUMENTED_POOL          "instrumented"
#define INSTRUMENTED_EAL_ARGUMENTS "--mbuf-pool-ops-name=" INSTRUMENTED_POOL
#else
#define INSTRUMENTED_EAL_ARGUMENTS ""
#endif

/* Of an open port, before the workers run. */
void instrumented_port(uint16_t port_id, struct device_rings *rings);

#endif
