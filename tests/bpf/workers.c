/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bpf/workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <string.h>

#include "dataplane/admission/state.h"
#include "dataplane/worker/dataplane.h"
#include "dataplane/worker/journey.h"
#include "tests/unit/core.h"

static struct dataplane *plane;
static struct dataplane_settings settings;

static uint32_t first_cpu(void)
{
    cpu_set_t allowed;
    uint32_t cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    return cpu;
}

/* As its loop would, of what matters to somebody without a flow. */
static void take_over(struct worker *w, const struct policy *policy)
{
    w->burst.policy = policy;
    admission_adopt(w->admission, policy, workers_now_ns());
    for (uint32_t i = 0; i < policy_service_count(policy); i++) {
        const struct policy_service *service = policy_service(policy, i);

        w->facts[service->id] = (struct service_facts){.unit = (uint8_t)service->unit,
                                                       .has_probes = service->probes.n > 0};
    }
}

void workers_open(struct policy *policy)
{
    const struct admission_size ids = {.n_tenants = policy_tenant_count(policy),
                                       .n_services = policy_service_count(policy),
                                       .n_workers = 1};
    char why[512] = "";

    settings = (struct dataplane_settings){
        .eal = {.memory = MEMORY_NONE,
                .memory_mib = 256,
                .n_workers = 1,
                .main_cpu = first_cpu(),
                .worker_cpus = {first_cpu()},
                .idle = IDLE_SLEEP,
                .extra = "--no-telemetry"},
        .n_gates = 1,
        .gates = {{.name = "null",
                   .outside = {1, {"net_null0"}},
                   .inside = {1, {"net_null1"}},
                   .control = {.unlimited = true}}},
        .flows_max = 65536,
        .timeouts = {.embryonic_ms = 3000,
                     .tcp_idle_ms = 60000,
                     .udp_idle_ms = 30000,
                     .fin_ms = 2000,
                     .linger_ms = 1000},
    };
    if (dataplane_create(&settings, &ids, policy, &plane, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    take_over(plane->workers[0], policy);
}

void workers_close(void)
{
    dataplane_destroy(plane);
}

uint64_t workers_now_ns(void)
{
    return dataplane_now_ns(plane);
}

/* -- who was charged -- */

static uint64_t touched(uint32_t tenant)
{
    const struct admission_tenant_counters c = workers_tenant(tenant);

    return c.packets[DIRECTION_IN] + c.attempts + c.dropped_packets + c.dropped_bits;
}

#define TENANTS_MAX 64

static uint32_t charged(const uint64_t before[TENANTS_MAX])
{
    uint32_t who = NO_TENANT;

    for (uint32_t t = 0; t < plane->ids.n_tenants; t++) {
        if (touched(t) == before[t])
            continue;
        assert_int_equal(who, NO_TENANT); /* one packet, one tenant */
        who = t;
    }
    return who;
}

/* -- packets -- */

static struct lane *lane_of(uint32_t direction)
{
    for (uint32_t i = 0; i < plane->n_lanes; i++)
        if (plane->lanes[i].direction == direction)
            return &plane->lanes[i];
    fail_msg("nothing receives in direction %u", direction);
    return NULL;
}

struct judgement workers_judge(uint32_t direction, const void *frame, uint32_t bytes,
                               uint64_t now_ns)
{
    struct burst *b = &plane->workers[0]->burst;
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(plane->pool);
    uint64_t before[TENANTS_MAX];

    assert_non_null(mbuf);
    assert_in_range(bytes, 0, rte_pktmbuf_tailroom(mbuf));
    assert_in_range(plane->ids.n_tenants, 1, TENANTS_MAX);
    memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame, bytes);
    for (uint32_t t = 0; t < plane->ids.n_tenants; t++)
        before[t] = touched(t);
    b->now_ns = now_ns;
    b->moment = flow_moment(flow_table_tick(b->worker->flows, now_ns), now_ns);
    b->inserted = 0;
    journey_run_one(b, lane_of(direction), mbuf);
    assert_int_not_equal(b->actions[0], ACTION_HELD);
    return (struct judgement){.reason = b->actions[0] == ACTION_FORWARD ? REASON_NONE
                                                                        : (enum reason)b->causes[0],
                              .tenant = charged(before)};
}

/* -- what they say -- */

struct admission_tenant_counters workers_tenant(uint32_t id)
{
    return *admission_tenant_counters(plane->admissions[0], id);
}

struct client_seed workers_seed(void)
{
    return plane->client_seed;
}

struct advice *workers_advice(uint32_t service)
{
    return &plane->shared->services[service].advice;
}
