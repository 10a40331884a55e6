/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane as the control plane sees it: no DPDK type crosses this header.
 *
 * One thread, the control thread on the main lcore, calls everything here. Workers run from
 * dataplane_start() to dataplane_stop(), each on its own lcore, and are never waited for in
 * between: a policy is published by swapping a pointer, and the old one is freed by
 * dataplane_tend() once every worker has passed a quiescent point. Counters are read while
 * workers write them: values of a moment, each monotonic.
 */
#ifndef SLUICE_WORKER_WORKER_H
#define SLUICE_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/admission.h"
#include "dataplane/admission/admission_control.h"
#include "dataplane/admission/advice.h"
#include "dataplane/admission/client.h"
#include "dataplane/policy/policy.h"
#include "dataplane/worker/settings.h"

/* Why a packet was forwarded: X(symbol, name). Together they are `forwarded`. */
#define DATAPLANE_PASSES(X)                                                                        \
    X(FLOW, "flow")             /* packet of a known flow */                                       \
    X(ATTEMPT, "attempt")       /* carried an admitted attempt */                                  \
    X(MIDFLOW, "midflow")       /* towards a service, no attempt, flow unknown */                  \
    X(INSIDE, "inside")         /* from the inside, or of a flow the inside started */             \
    X(CONTROL, "control")       /* non-IP and IP control traffic */                                \
    X(UNNAMED, "unnamed")       /* to an address and port that no service names */                 \
    X(FRAGMENT, "fragment")     /* no first fragment: no L4 header */                              \
    X(ICMP, "icmp")             /* no error message */                                             \
    X(ICMP_ERROR, "icmp_error") /* error message, path MTU discovery included */                   \
    X(OTHER, "other")           /* IP protocols without ports: ESP, GRE ... */                     \
    X(DEEP_VLAN, "deep_vlan")   /* more tags than are walked, on the default tenant's quota */     \
    X(DEEP_CHAIN, "deep_chain") /* more IPv6 headers than are walked, on the source's quota */

enum pass {
#define PASS_ENUM(symbol, name) PASS_##symbol,
    DATAPLANE_PASSES(PASS_ENUM)
#undef PASS_ENUM
        PASS_MAX,
};
const char *pass_name(enum pass pass);

/*
 * The terms of invariant 1, in packets:
 * received + handed_in + made = sum(forwarded) + sum(dropped) + answered + tx_failed + handed_out
 *                               + handoff_failed + held.
 * The drop reasons `tx` and `handoff` are terms of their own and stay 0 in `dropped`.
 */
struct worker_counters {
    uint64_t received, handed_in;
    uint64_t forwarded[PASS_MAX];
    uint64_t dropped[REASON_MAX];
    uint64_t answered;
    uint64_t made; /* packets of our own: a reset for the service beside the answer to its client */
    uint64_t tx_failed;
    uint64_t handed_out, handoff_failed;
    uint64_t busy_cycles, idle_cycles; /* TSC cycles in loops with and without packets */
    uint64_t aged_slots;               /* slots freed unproven */
};

/* The steps of a packet's journey, in its order: X(symbol, name). */
#define DATAPLANE_STEPS(X)                                                                         \
    X(RECEIVE, "receive")       /* from a queue, or from other workers */                          \
    X(PARSE, "parse")           /* headers, and whether their sender is denied */                  \
    X(HAND_OVER, "hand_over")   /* to the owner of the flow */                                     \
    X(FIND_FLOWS, "find_flows") /* in the table */                                                 \
    X(CLASSIFY, "classify")     /* who asks whom, of those without a flow */                       \
    X(JUDGE, "judge")           /* known flows advance, new work is offered to admission */        \
    X(ACT, "act")               /* answer, drop, transmit */

enum step {
#define STEP_ENUM(symbol, name) STEP_##symbol,
    DATAPLANE_STEPS(STEP_ENUM)
#undef STEP_ENUM
        STEP_MAX,
};
const char *step_name(enum step step);

/* TSC cycles of sampled bursts by step, one reading of the clock a step included. `packets` are
 * those the bursts came with, the same for every step, so that cycles per packet add up. A lone
 * worker hands nothing over, and what was handed over is not handed on: no cycles. What a worker
 * transmits for another is no step of its journey. */
struct worker_steps {
    uint64_t bursts, packets;
    uint64_t cycles[STEP_MAX];
};

struct worker_view {
    struct worker_counters counters;
    uint64_t held; /* packets held now: they wait for a slot */
    uint64_t held_max;
    uint64_t judge, send;  /* packets in its hand-over rings: to be judged, and to be sent, by it */
    uint64_t handover_max; /* in each of them; 0: a lone worker has none */
    uint64_t slots;        /* flows that hold a slot now */
    uint64_t policy_epoch; /* of the policy the worker uses */
    uint32_t lcore, cpu, numa_node;
    uint32_t flows, flows_max;
};

#define DATAPLANE_NAME_MAX   128
#define DATAPLANE_QUEUES_MAX 64
struct queue_view {
    uint32_t queue;
    uint64_t depth;           /* packets */
    const char *depth_source; /* "driver": rx queue count; "burst": fullness of the last burst */
    uint64_t missed;          /* packets the device lost for want of room, where it counts them */
};

/* One receive queue as packets wait in it. */
struct receive_view {
    const char *device;
    uint32_t queue;
    uint64_t depth;
    uint64_t bound; /* 0: the device does not say */
    const char *depth_source;
    uint32_t worker; /* who polls it */
};

struct port_view {
    char device[DATAPLANE_NAME_MAX];
    const char *gate;
    const char *side; /* "outside" or "inside" */
    const char *driver;
    bool link_up;
    uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_no_mbuf;
    struct queue_view queues[DATAPLANE_QUEUES_MAX];
    uint32_t n_queues;
};

struct dataplane;

/*
 * Starts EAL, opens the gates and builds the workers around `policy`, which from now on belongs to
 * the data plane. `ids` bounds the tenant and service ids of every policy to come. Returns 0 or
 * -errno with a sentence for people in `why`; the policy is then still the caller's.
 */
int dataplane_create(const struct dataplane_settings *settings, const struct admission_size *ids,
                     struct policy *policy, struct dataplane **out, char *why, size_t why_bytes);
int dataplane_start(struct dataplane *dp);

/* Stops the workers after a last pass over what was received. 0, or -ETIMEDOUT with a sentence in
 * `why` when one of them gave no sign of life for DATAPLANE_STOP_NS: it and those that wait for it
 * run still, and nothing they use may be freed; calling again goes on waiting. In a replay nobody
 * counts as silent. */
#define DATAPLANE_STOP_NS 5000000000ull
int dataplane_stop(struct dataplane *dp, char *why, size_t why_bytes);
/* Closes the ports, frees everything. No worker may run. */
void dataplane_destroy(struct dataplane *dp);

/* Swaps the policy; `policy` belongs to the data plane afterwards. -EBUSY while
 * DATAPLANE_RETIRED_MAX older ones still wait for a worker: try again later, the caller keeps
 * `policy`. */
#define DATAPLANE_RETIRED_MAX 8
int dataplane_publish(struct dataplane *dp, struct policy *policy);
/* Once a period: steers admission (admission_control.h), frees policies that no worker can hold any
 * more, keeps the clock close to CLOCK_MONOTONIC, and takes back the leases of a worker that has
 * been silent for DATAPLANE_DEAD_NS. Never blocks. */
#define DATAPLANE_DEAD_NS 1000000000ull
void dataplane_tend(struct dataplane *dp);
const struct policy *dataplane_policy(const struct dataplane *dp);

/* Nanoseconds on the workers' clock. */
uint64_t dataplane_now_ns(const struct dataplane *dp);
/* "huge" or "none". */
const char *dataplane_memory(const struct dataplane *dp);
/* TSC rate: what DPDK reports, and what was measured against CLOCK_MONOTONIC_RAW. */
uint64_t dataplane_tsc_hz_reported(const struct dataplane *dp);
uint64_t dataplane_tsc_hz_measured(const struct dataplane *dp);
/* By how much CLOCK_MONOTONIC was ahead of the workers' clock in the last period; 0 in a replay. */
int64_t dataplane_clock_error_ns(const struct dataplane *dp);

uint32_t dataplane_worker_count(const struct dataplane *dp);
void dataplane_worker_view(const struct dataplane *dp, uint32_t worker, struct worker_view *view);

/* From now on and for `duration_ns` (at most an hour) each worker times the steps of one burst in
 * DATAPLANE_STEPS_EVERY, then no more. Asked for again meanwhile, it goes on until the later end.
 * A prime, so that of 2, 4, 8 ... busy queues, polled by turns, each gets its share. */
#define DATAPLANE_STEPS_EVERY 19
void dataplane_sample_steps(struct dataplane *dp, uint64_t duration_ns);
/* What the last sampling has brought so far; false: there has been none. */
bool dataplane_worker_steps(const struct dataplane *dp, uint32_t worker,
                            struct worker_steps *steps);

uint32_t dataplane_port_count(const struct dataplane *dp);
int dataplane_port_view(const struct dataplane *dp, uint32_t port, struct port_view *view);

/* All receive queues of all ports. */
uint32_t dataplane_receive_count(const struct dataplane *dp);
void dataplane_receive_view(const struct dataplane *dp, uint32_t index, struct receive_view *view);
/* Policies that a worker may still use, at most DATAPLANE_RETIRED_MAX. */
uint32_t dataplane_retired_count(const struct dataplane *dp);

/* Sums over the workers and what was decided in front of them, by id. */
void dataplane_tenant_counters(const struct dataplane *dp, uint32_t tenant,
                               struct admission_tenant_counters *sum);
void dataplane_service_counters(const struct dataplane *dp, uint32_t service,
                                struct admission_service_counters *sum);
/* What the control loop makes of a service, and of the gateway itself (admission_control.h). */
void dataplane_service_view(const struct dataplane *dp, const struct policy_service *service,
                            struct service_view *view);
void dataplane_gateway_shed(const struct dataplane *dp, double shed[CLASS_MAX]);
/* How long things took since the start; all 0 while nothing was counted. */
struct latency_view {
    uint64_t count;
    uint64_t p50_ns, p95_ns, p99_ns;
};
void dataplane_service_latency(const struct dataplane *dp, uint32_t service,
                               struct latency_view views[LATENCY_MAX]);
/* What decisions in front of the workers (the XDP program's) have counted: whoever knows writes it
 * here, all sums above and the control loop include it. Control thread. */
struct admission_tenant_counters *dataplane_front_tenant(struct dataplane *dp, uint32_t tenant);
struct admission_service_counters *dataplane_front_service(struct dataplane *dp, uint32_t service);
/* What decides alike must know: the seed of the workers' client hashes, and what the control loop
 * has published. */
const struct client_seed *dataplane_client_seed(const struct dataplane *dp);
const struct advice *dataplane_service_advice(const struct dataplane *dp, uint32_t service);
uint64_t dataplane_attempt_tokens(const struct dataplane *dp, const struct policy_tenant *tenant);
/* Slot-ms, below zero: owed; tenths of a retry. */
int64_t dataplane_occupancy_ms(const struct dataplane *dp, const struct policy_tenant *tenant);
uint32_t dataplane_retry_tenths(const struct dataplane *dp, uint32_t tenant);
const struct window *dataplane_tenant_window(const struct dataplane *dp, uint32_t tenant);
const struct window *dataplane_service_window(const struct dataplane *dp, uint32_t service);
/* Of shares[i] of the service: share i + 1. */
const struct window *dataplane_share_window(const struct dataplane *dp, uint32_t service,
                                            unsigned share);

#endif
