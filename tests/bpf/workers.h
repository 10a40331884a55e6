/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' path: a data plane between devices that swallow what they are given, with a worker
 * that never runs but is taken through its journey packet by packet. Time is an argument.
 */
#ifndef SLUICE_TESTS_BPF_WORKERS_H
#define SLUICE_TESTS_BPF_WORKERS_H

#include "dataplane/admission/admission.h"
#include "tests/bpf/judgement.h"

/* Once in a process, as EAL starts once. The policy is the data plane's from now on. Fails the
 * running test when something is missing. */
void workers_open(struct policy *policy);
void workers_close(void);

/* No packet may be older. */
uint64_t workers_now_ns(void);

struct judgement workers_judge(uint32_t direction, const void *frame, uint32_t bytes,
                               uint64_t now_ns);

struct admission_tenant_counters workers_tenant(uint32_t id);
struct client_seed workers_seed(void);
/* What the control loop would publish; it does not run. */
struct advice *workers_advice(uint32_t service);

#endif
