/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of softirqs goes that no process was there to bear. */
#ifndef SLUICE_BENCH_SOFTIRQ_H
#define SLUICE_BENCH_SOFTIRQ_H

#include <time.h>

/*
 * The clock of the CPU time that `cpu`'s ksoftirqd uses; softirqs that run in a process are in that
 * of the process, as long as the kernel is built without CONFIG_IRQ_TIME_ACCOUNTING. Returns 0, or
 * -ESRCH if there is no such thread in sight.
 */
int softirq_clock(unsigned int cpu, clockid_t *clock);

#endif
