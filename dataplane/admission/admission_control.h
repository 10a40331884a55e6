/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control loop: once a period, from what the workers counted to what they shall do. Reads their
 * counters, keeps one estimator of each kind for every service (shed_control.h, promise.h,
 * breaker.h, demand.h, slo.h), and publishes struct advice. Never waits for a worker, and no worker
 * waits for it: what it says ages (shed.h).
 *
 * Control thread only, or the simulator's loop; time and memory come from the caller.
 */
#ifndef SLUICE_ADMISSION_CONTROL_H
#define SLUICE_ADMISSION_CONTROL_H

#include "dataplane/admission/admission.h"
#include "dataplane/admission/demand.h"
#include "dataplane/admission/gateway_control.h"
#include "dataplane/admission/slo.h"

/* Estimating what can be promised walks through histograms, so each period looks at so many
 * services, by turns. */
#define ADMISSION_CONTROL_PROMISES 16u

struct admission_control;

size_t admission_control_bytes(const struct admission_size *size);
/* In zeroed memory of that many bytes, cache-line aligned; nothing to free but the memory. */
struct admission_control *admission_control_init(void *memory, struct admission_shared *shared,
                                                 struct admission *const *workers);

/* By service id, what was decided before it came to any worker: from now on part of all sums. NULL:
 * nothing is. Written by the thread that steps, or with relaxed stores. */
void admission_control_front(struct admission_control *control,
                             const struct admission_service_counters *front);

/* One period: 10 to 100 ms since the last. `policy` is the one in force. */
void admission_control_step(struct admission_control *control, const struct policy *policy,
                            const struct gateway_sample *gateway, uint64_t now_ns);

/* What the loop makes of one service; for listings. */
struct service_view {
    struct admission_service_counters counters; /* over all workers, and before them */
    double shed[CLASS_MAX], rate_per_s[CLASS_MAX];
    double admit;          /* share let in by the operator's ramp, 1: all */
    double capacity_per_s; /* configured or learnt; 0: unknown */
    uint32_t waiting, connections, opening;
    uint64_t oldest_wait_ns;          /* how long the oldest has waited; 0: nobody waits */
    uint64_t interval_ns, service_ns; /* promise.h; 0: unknown */
    struct breaker_view breaker;
    uint32_t retry_after_s; /* what a refusal for want of capacity would be told */
    double unmet_per_s, backlog, hidden;
    uint32_t slots_needed; /* for what is offered, at DEMAND_UTILISATION */
    double burn[SLO_WINDOWS];
    enum slo_alert alert;
};
void admission_control_view(const struct admission_control *control,
                            const struct policy_service *service, uint64_t now_ns,
                            struct service_view *view);

/* The gateway's own shedding, as probabilities. */
void admission_control_gateway(const struct admission_control *control, double shed[CLASS_MAX]);

#endif
