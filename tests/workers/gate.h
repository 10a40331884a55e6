/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole data plane of four workers between rings in memory, which play the queues of two devices.
 * The outside device has four receive and two transmit queues, the inside one two and four: some
 * workers poll two queues, some one, and half of them send to the outside through another one.
 */
#ifndef SLUICE_TESTS_WORKERS_GATE_H
#define SLUICE_TESTS_WORKERS_GATE_H

#include "dataplane/worker/dataplane.h"

#define WORKERS        4u
#define QUEUES_MAX     4u
#define RING_PACKETS   16384u /* more than there are packets: these rings lose nothing */
#define SERVICE_WINDOW 16384u /* a quarter of it may be connections that nobody has confirmed */

enum tenant_id { TENANT_OPEN, TENANT_CAPPED, TENANTS };

/* The most that any policy of gate_policy() allows TENANT_CAPPED. */
#define CAPPED_RATE  2000u
#define CAPPED_BURST 200u

struct device_rings {
    struct rte_ring *receive[QUEUES_MAX], *transmit[QUEUES_MAX];
    unsigned n_receive, n_transmit;
};

struct gate {
    struct dataplane *dp;
    struct dataplane_settings settings;
    struct device_rings rings[DIRECTION_MAX]; /* by the direction of what the device receives */
    uint64_t started_ns;
    char said[1024]; /* while it was opened, on stderr */
    char vdevs[256]; /* arguments that named devices to EAL, a blank behind each */
};

extern struct gate gate; /* EAL starts once in a process, so there is one */

/* A policy to start with, which then is the gate's, bounds of all that come after it, places for
 * packets that wait, and who has a hand in it. */
struct gate_plan {
    struct policy *policy;
    uint32_t n_tenants, n_services, waiting_max;
    const struct device_care *care;
    struct heartbeat *heartbeats;
    uint64_t standby_after_ns; /* of whoever looks at them */
};

/* Fail the running test when something is missing. The first: gate_policy(0), nobody waits. */
void gate_open(void);
void gate_open_as(const struct gate_plan *plan);

/* Policy of an epoch: TENANT_OPEN has no limit, TENANT_CAPPED another one each time. */
struct policy *gate_policy(uint64_t epoch);

/* The same with limits of its own for TENANT_CAPPED. */
struct policy *gate_policy_with(uint64_t epoch, const struct policy_tenant *capped);

/* One tenant and one service without limits, of unit exchange. */
struct policy *gate_policy_of_exchanges(void);

/* Sums over the workers. */
struct worker_counters gate_counters(void);
uint64_t gate_slots(void);

struct worker_counters gate_counters_of(uint32_t worker);

/* Before the workers run: the worker as its loop has it before a burst. */
struct worker *gate_awake(uint32_t worker);

/* Of one worker: does every packet that came have a place? Invariant 1, with what is
 * held. */
bool gate_balanced(uint32_t worker);

#endif
