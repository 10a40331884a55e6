/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's loop: time, policy, lanes, sweep, quiescent point, sleep.
 */
#ifndef SLUICE_WORKER_LOOP_H
#define SLUICE_WORKER_LOOP_H

/* lcore_function_t; `worker` is a struct worker. Returns once *worker->stop is set and what had
 * been received by then is through. */
int worker_loop(void *worker);

#endif
