/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_dataplane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void *fake_zeroed(size_t n, size_t bytes)
{
    void *memory = calloc(n, bytes);

    if (!memory)
        abort();
    return memory;
}

static void fill_workers(struct dataplane *dp)
{
    for (uint32_t w = 0; w < FAKE_WORKERS; w++) {
        struct worker_view *v = &dp->workers[w];
        uint64_t base = 1000 * (w + 1);

        *v = (struct worker_view){
            .counters = {.received = base + 1,
                         .handed_in = base + 2,
                         .answered = base + 3,
                         .made = base + 11,
                         .tx_failed = base + 4,
                         .handed_out = base + 5,
                         .handoff_failed = base + 6,
                         .aged_slots = base + 7},
            .held = base + 8,
            .held_max = base + 12,
            .judge = base + 13,
            .send = base + 14,
            .handover_max = 2047,
            .slots = base + 9,
            .policy_epoch = 6 + w,
            .lcore = 1 + w,
            .cpu = 11 + w,
            .numa_node = w,
            .flows = (uint32_t)base + 10,
            .flows_max = 65536,
        };
        for (unsigned p = 0; p < PASS_MAX; p++)
            v->counters.forwarded[p] = base + 100 + p;
        for (unsigned r = 0; r < REASON_MAX; r++)
            v->counters.dropped[r] = base + 200 + r;
    }
}

static void fill_ports(struct dataplane *dp)
{
    for (uint32_t p = 0; p < FAKE_PORTS; p++) {
        struct port_view *v = &dp->ports[p];

        *v = (struct port_view){
            .gate = "front",
            .side = p ? "inside" : "outside",
            .driver = "net_af_packet",
            .link_up = p == 0,
            .rx_packets = 10 + p,
            .tx_packets = 20 + p,
            .rx_bytes = 30 + p,
            .tx_bytes = 40 + p,
            .rx_no_mbuf = 50 + p,
            .n_queues = 1,
            .queues = {{.queue = 0,
                        .depth = 60 + p,
                        .depth_source = p ? "burst" : "driver",
                        .missed = 70 + p}},
        };
        snprintf(v->device, sizeof(v->device), "net_af_packet%u,iface=g%u", p, p);
    }
}

static void fill_tenant(struct dataplane *dp, uint32_t id)
{
    uint64_t base = 10000 * (id + 1);
    struct admission_tenant_counters *c = &dp->tenants[id];

    *c = (struct admission_tenant_counters){
        .attempts = base + 1,
        .attempt_packets = base + 2,
        .admitted = base + 3,
        .adopted = base + 4,
        .dropped_packets = base + 5,
        .dropped_bits = base + 6,
        .packets = {base + 7, base + 8},
        .bytes = {base + 9, (1ull << 53) + 1 + base},
        .offered = base + 10,
        .waited = base + 11,
        .cancelled = base + 12,
        .ended = {base + 13, base + 14, base + 15},
    };
    for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
        c->refused[r] = base + 100 + r;
    dp->tenant_windows[id] = (struct window){.slots = 7 + id, .peak = 8 + id};
    dp->tokens[id] = id;
    dp->occupancy_ms[id] = 1250 - 1000 * (int64_t)id;
}

static void fill_service_counters(struct admission_service_counters *c, uint64_t base)
{
    *c = (struct admission_service_counters){
        .attempts = base + 1,
        .attempt_packets = base + 2,
        .admitted = base + 3,
        .adopted = base + 4,
        .answered = base + 5,
        .unanswered = base + 6,
        .offered = base + 7,
        .waited = base + 8,
        .cancelled = base + 9,
        .connected = base + 10,
        .health = base + 11,
        .failed = base + 12,
        .reclaimed = base + 13,
        .ledger = {{base + 14, base + 15, base + 16},
                   {1000 * base + 1, 1000 * base + 2001, 1000 * base + 4001}},
    };
    for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
        c->refused[r] = base + 100 + r;
    for (unsigned o = 0; o < OUTCOME_MAX; o++)
        c->outcomes[o] = base + 200 + o;
}

/* What the control loop has found out of `web`; of `dns` it knows nothing. */
static void fill_view(struct service_view *view)
{
    view->shed[CLASS_BULK] = 0.40125;
    view->shed[CLASS_NORMAL] = 0.1;
    view->rate_per_s[CLASS_BULK] = 100.26;
    view->rate_per_s[CLASS_NORMAL] = 40;
    view->rate_per_s[CLASS_CRITICAL] = 20;
    view->admit = 0.25;
    view->capacity_per_s = 168.44;
    view->waiting = 12;
    view->connections = 63;
    view->opening = 4;
    view->oldest_wait_ns = 87654321;
    view->interval_ns = 5882352;
    view->service_ns = 41000000;
    view->breaker = (struct breaker_view){BREAKER_HALF_OPEN, 1, 5, FAKE_NOW_NS + 1500000};
    view->retry_after_s = 8;
    view->unmet_per_s = 12.34;
    view->backlog = 300;
    view->hidden = 2.55;
    view->slots_needed = 13;
    for (unsigned w = 0; w < SLO_WINDOWS; w++)
        view->burn[w] = 20.5 - w;
    view->alert = SLO_BLAZING;
}

static void fill_services(struct dataplane *dp)
{
    for (uint32_t id = 0; id < FAKE_SERVICES; id++) {
        dp->services[id] = (struct service_view){.admit = 1, .retry_after_s = 1};
        fill_service_counters(&dp->services[id].counters, 500 * (id + 1));
        dp->service_windows[id] = (struct window){.slots = 60 + id, .peak = 64 + id};
        dp->share_windows[id][1] = (struct window){.slots = 3 + id};
    }
    fill_view(&dp->services[1]);
    for (unsigned l = 0; l < LATENCY_MAX; l++)
        dp->latencies[1][l] =
            (struct latency_view){10 + l, 1001000 + l, 2002000 + l, 3003000 * (l + 1ull)};
}

struct fake *fake_create(uint32_t n_tenants)
{
    struct fake *fake = fake_zeroed(1, sizeof(*fake));
    struct dataplane *dp = &fake->dataplane;
    struct timespec now;

    dp->tenants = fake_zeroed(n_tenants, sizeof(*dp->tenants));
    dp->tenant_windows = aligned_alloc(64, n_tenants * sizeof(*dp->tenant_windows));
    dp->tokens = fake_zeroed(n_tenants, sizeof(*dp->tokens));
    dp->occupancy_ms = fake_zeroed(n_tenants, sizeof(*dp->occupancy_ms));
    dp->n_workers = FAKE_WORKERS;
    dp->gateway_shed[CLASS_BULK] = 0.98;
    dp->gateway_shed[CLASS_NORMAL] = 0.12345;
    if (!dp->tenant_windows)
        abort();
    for (uint32_t id = 0; id < n_tenants; id++)
        fill_tenant(dp, id);
    fill_services(dp);
    fill_workers(dp);
    fill_ports(dp);

    fake_policy(&fake->settings.policy, n_tenants);
    fake->settings.dataplane.n_gates = 1;
    fake->settings.dataplane.waiting_max = 1024;
    fake->settings.dataplane.gates[0] = (struct gate_settings){
        .name = "front",
        .outside = {1, {"net_af_packet0,iface=g0"}},
        .inside = {1, {"net_af_packet1,iface=g1"}},
    };

    clock_gettime(CLOCK_MONOTONIC, &now);
    fake->plane.settings = &fake->settings;
    fake->plane.dataplane = dp;
    fake->plane.denied = deny_open("", 0, stderr);
    fake->plane.denied_now_ns = FAKE_NOW_NS;
    if (!fake->plane.denied)
        abort();
    fake->plane.clients = 1;
    fake->plane.started_ns = (uint64_t)(now.tv_sec - 90) * 1000000000ull + (uint64_t)now.tv_nsec;
    fake->plane.samples[0] = (struct plane_sample){0.123449, 1834.25, 250000.04};
    return fake;
}

void fake_destroy(struct fake *fake)
{
    deny_close(fake->plane.denied);
    free(fake->dataplane.tenants);
    free(fake->dataplane.tenant_windows);
    free(fake->dataplane.tokens);
    free(fake->dataplane.occupancy_ms);
    free(fake->settings.policy.tenants);
    free(fake->settings.policy.services);
    free(fake);
}

int plane_set_tenant(struct plane *plane, uint32_t index, const struct policy_tenant *tenant)
{
    struct fake *fake = (struct fake *)plane; /* its first member */

    if (fake->publish_error)
        return fake->publish_error;
    fake->settings.policy.tenants[index] = *tenant;
    fake->settings.policy.epoch++;
    fake->published++;
    return 0;
}

int plane_set_service(struct plane *plane, uint32_t index, const struct policy_service *service)
{
    struct fake *fake = (struct fake *)plane; /* its first member */

    if (fake->publish_error)
        return fake->publish_error;
    fake->settings.policy.services[index] = *service;
    fake->settings.policy.epoch++;
    fake->published++;
    return 0;
}

void plane_deny(struct plane *plane, bool others)
{
    struct fake *fake = (struct fake *)plane; /* its first member */

    plane->denied_unsaved = fake->save_error;
    plane->denied->unsaved = fake->save_error != 0;
    if (!others)
        return;
    plane->denied_pending = fake->publish_error != 0;
    if (plane->denied_pending)
        return;
    fake->settings.policy.epoch++;
    fake->published++;
}

const char *pass_name(enum pass pass)
{
    static const char *const names[] = {
#define NAME(symbol, name) [PASS_##symbol] = name,
        DATAPLANE_PASSES(NAME)
#undef NAME
    };

    return names[pass];
}

const char *dataplane_memory(const struct dataplane *dp)
{
    (void)dp;
    return "none";
}

uint64_t dataplane_tsc_hz_reported(const struct dataplane *dp)
{
    (void)dp;
    return 2000000000;
}

uint64_t dataplane_tsc_hz_measured(const struct dataplane *dp)
{
    (void)dp;
    return 2100000001;
}

int64_t dataplane_clock_error_ns(const struct dataplane *dp)
{
    (void)dp;
    return -42;
}

uint32_t dataplane_worker_count(const struct dataplane *dp)
{
    return dp->n_workers;
}

void dataplane_worker_view(const struct dataplane *dp, uint32_t worker, struct worker_view *view)
{
    *view = dp->workers[worker];
}

const char *step_name(enum step step)
{
    static const char *const names[] = {
#define NAME(symbol, name) [STEP_##symbol] = name,
        DATAPLANE_STEPS(NAME)
#undef NAME
    };

    return names[step];
}

/* The second worker has had no packets. */
void dataplane_sample_steps(struct dataplane *dp, uint64_t duration_ns)
{
    dp->sampled_ns = duration_ns;
    dp->steps[0] = (struct worker_steps){.bursts = 16, .packets = 500};
    for (unsigned s = 0; s < STEP_MAX; s++)
        dp->steps[0].cycles[s] = 10001 * (s + 1);
}

bool dataplane_worker_steps(const struct dataplane *dp, uint32_t worker, struct worker_steps *steps)
{
    *steps = dp->steps[worker];
    return dp->sampled_ns > 0;
}

uint32_t dataplane_port_count(const struct dataplane *dp)
{
    (void)dp;
    return FAKE_PORTS;
}

int dataplane_port_view(const struct dataplane *dp, uint32_t port, struct port_view *view)
{
    if (dp->port_error && port == FAKE_PORTS - 1)
        return dp->port_error;
    *view = dp->ports[port];
    return 0;
}

void dataplane_tenant_counters(const struct dataplane *dp, uint32_t tenant,
                               struct admission_tenant_counters *sum)
{
    *sum = dp->tenants[tenant];
}

void dataplane_service_view(const struct dataplane *dp, const struct policy_service *service,
                            struct service_view *view)
{
    *view = dp->services[service->id];
}

void dataplane_service_latency(const struct dataplane *dp, uint32_t service,
                               struct latency_view views[LATENCY_MAX])
{
    for (unsigned l = 0; l < LATENCY_MAX; l++)
        views[l] = dp->latencies[service][l];
}

void dataplane_gateway_shed(const struct dataplane *dp, double shed[CLASS_MAX])
{
    for (unsigned c = 0; c < CLASS_MAX; c++)
        shed[c] = dp->gateway_shed[c];
}

uint64_t dataplane_now_ns(const struct dataplane *dp)
{
    (void)dp;
    return FAKE_NOW_NS;
}

uint32_t dataplane_receive_count(const struct dataplane *dp)
{
    (void)dp;
    return FAKE_PORTS;
}

void dataplane_receive_view(const struct dataplane *dp, uint32_t index, struct receive_view *view)
{
    const struct queue_view *queue = &dp->ports[index].queues[0];

    *view = (struct receive_view){.device = dp->ports[index].device,
                                  .queue = queue->queue,
                                  .depth = queue->depth,
                                  .bound = index ? 0 : 1024,
                                  .depth_source = queue->depth_source,
                                  .worker = index};
}

uint32_t dataplane_retired_count(const struct dataplane *dp)
{
    (void)dp;
    return 2;
}

int64_t dataplane_occupancy_ms(const struct dataplane *dp, const struct policy_tenant *tenant)
{
    return dp->occupancy_ms[tenant->id];
}

uint32_t dataplane_retry_tenths(const struct dataplane *dp, uint32_t tenant)
{
    (void)dp;
    return 100 - tenant;
}

const struct window *dataplane_share_window(const struct dataplane *dp, uint32_t service,
                                            unsigned share)
{
    return &dp->share_windows[service][share];
}

uint64_t dataplane_attempt_tokens(const struct dataplane *dp, const struct policy_tenant *tenant)
{
    return dp->tokens[tenant->id];
}

const struct window *dataplane_tenant_window(const struct dataplane *dp, uint32_t tenant)
{
    return &dp->tenant_windows[tenant];
}

const struct window *dataplane_service_window(const struct dataplane *dp, uint32_t service)
{
    return &dp->service_windows[service];
}
