/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program, loaded with a policy of the test's and asked packet by packet through
 * BPF_PROG_TEST_RUN; no interface is needed. Time is an argument.
 */
#ifndef SLUICE_TESTS_BPF_KERNEL_H
#define SLUICE_TESTS_BPF_KERNEL_H

#include <stddef.h>

#include "bpf/maps.h"
#include "control/plane/xdp_bank.h"
#include "dataplane/policy/policy.h"
#include "tests/bpf/judgement.h"

struct gate;

struct kernel {
    struct gate *program;
    struct xdp_arrays arrays; /* as the control thread sees them */
    int fd;                   /* of the program */
    int cpus;
    struct xdp_trace last; /* of the last packet */
};

/* Why there is nothing to be tested here; NULL: there is. */
const char *kernel_missing(void);

/* Prints what kernel_missing() says and ends the process as skipped, if it says anything. */
void kernel_skip_if_missing(void);

struct kernel_plan {
    const struct policy *policy; /* NULL: none yet */
    struct xdp_sizes sizes;      /* all 0: those of the policy */
    bool guards;                 /* as if the workers were there; else it stands in */
    bool untimed;                /* by its own clocks; `now_ns` below says nothing */
};

/* Fail the running test when something is missing. */
void kernel_open(struct kernel *kernel, const struct kernel_plan *plan);
void kernel_close(struct kernel *kernel);
void kernel_publish(struct kernel *kernel, const struct policy *policy);

struct judgement kernel_judge(struct kernel *kernel, uint32_t direction, const void *frame,
                              uint32_t bytes, uint64_t now_ns);
/* The same packet `n` times, at once. */
void kernel_repeat(struct kernel *kernel, const void *frame, uint32_t bytes, uint32_t n,
                   uint64_t now_ns);

/* Sums over the CPUs; of a tenant with what its flood is. */
struct xdp_port_counters kernel_port(const struct kernel *kernel);
struct xdp_tenant_counters kernel_tenant(const struct kernel *kernel, uint32_t id);
struct xdp_service_counters kernel_service(const struct kernel *kernel, uint32_t id);
struct xdp_tenant_state kernel_tenant_state(const struct kernel *kernel, uint32_t id);

/* Are all maps of a size that is fixed, and full, from the start? */
bool kernel_has_only_arrays(const struct kernel *kernel);

/* Invariant 1 of the program. */
bool kernel_balanced(const struct kernel *kernel);

#endif
