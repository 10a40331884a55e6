/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_dataplane.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *zeroed(size_t n, size_t bytes)
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
                         .tx_failed = base + 4,
                         .handed_out = base + 5,
                         .handoff_failed = base + 6,
                         .aged_slots = base + 7},
            .held = base + 8,
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
    };
    for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
        c->refused[r] = base + 100 + r;
    dp->tenant_windows[id] = (struct window){.used = 7 + id, .peak = 8 + id};
    dp->tokens[id] = id;
}

static void fill_services(struct dataplane *dp)
{
    for (uint32_t id = 0; id < FAKE_SERVICES; id++) {
        uint64_t base = 500 * (id + 1);
        struct admission_service_counters *c = &dp->services[id];

        *c = (struct admission_service_counters){
            .attempts = base + 1,
            .attempt_packets = base + 2,
            .admitted = base + 3,
            .adopted = base + 4,
            .answered = base + 5,
            .unanswered = base + 6,
        };
        for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
            c->refused[r] = base + 100 + r;
        for (unsigned o = 0; o < OUTCOME_MAX; o++)
            c->outcomes[o] = base + 200 + o;
        dp->service_windows[id] = (struct window){.used = 60 + id, .peak = 64 + id};
    }
}

static void fill_tenant_specs(struct policy_spec *policy, uint32_t n_tenants)
{
    struct policy_tenant *tenants = zeroed(n_tenants, sizeof(*tenants));

    for (uint32_t i = 0; i < n_tenants; i++) {
        tenants[i] = policy_tenant_unlimited();
        tenants[i].id = i;
        snprintf(tenants[i].name, sizeof(tenants[i].name), "t%u", i);
    }
    snprintf(tenants[0].name, sizeof(tenants[0].name), "default");
    tenants[1] = (struct policy_tenant){
        .attempts = {.amount = 20, .burst = 10, .period_s = 1},
        .packets = {.amount = 3000, .burst = 1000, .period_s = 60},
        .bits = {.amount = 200000000, .burst = 262144, .period_s = 1},
        .window = 5,
        .milli_erlangs = 2500,
        .id = 3,
        .class = CLASS_NORMAL,
        .name = "acme",
    };
    tenants[3].id = 1;
    policy->tenants = tenants;
    policy->n_tenants = n_tenants;
}

static void fill_service_specs(struct policy_spec *policy)
{
    static struct address web[2], dns[1];
    static struct policy_ports web_ports[] = {{80, 80}, {8000, 8099}}, dns_ports[] = {{53, 53}};
    struct policy_service *services = zeroed(FAKE_SERVICES, sizeof(*services));

    web[0] = address_from_v4(inet_addr("10.9.0.10"));
    inet_pton(AF_INET6, "2001:db8::10", web[1].bytes);
    dns[0] = address_from_v4(inet_addr("10.9.0.53"));
    services[0] = policy_service_unlimited();
    services[0].addresses = web;
    services[0].n_addresses = 2;
    services[0].ports = web_ports;
    services[0].n_ports = 2;
    services[0].tenant = 1;
    services[0].window = 62;
    services[0].id = 1;
    services[0].refusal = REFUSAL_RST;
    services[0].refuse_rate = (struct quota_rate){.amount = 100000, .period_s = 1};
    snprintf(services[0].name, sizeof(services[0].name), "web");
    services[1] = policy_service_unlimited();
    services[1].addresses = dns;
    services[1].n_addresses = 1;
    services[1].ports = dns_ports;
    services[1].n_ports = 1;
    services[1].protocol = PROTOCOL_UDP;
    services[1].unit = UNIT_DATAGRAM;
    snprintf(services[1].name, sizeof(services[1].name), "dns");
    policy->services = services;
    policy->n_services = FAKE_SERVICES;
}

struct fake *fake_create(uint32_t n_tenants)
{
    struct fake *fake = zeroed(1, sizeof(*fake));
    struct dataplane *dp = &fake->dataplane;
    struct timespec now;

    dp->tenants = zeroed(n_tenants, sizeof(*dp->tenants));
    dp->tenant_windows = aligned_alloc(64, n_tenants * sizeof(*dp->tenant_windows));
    dp->tokens = zeroed(n_tenants, sizeof(*dp->tokens));
    if (!dp->tenant_windows)
        abort();
    for (uint32_t id = 0; id < n_tenants; id++)
        fill_tenant(dp, id);
    fill_services(dp);
    fill_workers(dp);
    fill_ports(dp);

    fill_tenant_specs(&fake->settings.policy, n_tenants);
    fill_service_specs(&fake->settings.policy);
    fake->settings.policy.epoch = 7;
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
    fake->plane.started_ns = (uint64_t)(now.tv_sec - 90) * 1000000000ull + (uint64_t)now.tv_nsec;
    fake->plane.samples[0] = (struct plane_sample){0.123449, 1834.25, 250000.04};
    return fake;
}

void fake_destroy(struct fake *fake)
{
    free(fake->dataplane.tenants);
    free(fake->dataplane.tenant_windows);
    free(fake->dataplane.tokens);
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

uint32_t dataplane_worker_count(const struct dataplane *dp)
{
    (void)dp;
    return FAKE_WORKERS;
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

void dataplane_service_counters(const struct dataplane *dp, uint32_t service,
                                struct admission_service_counters *sum)
{
    *sum = dp->services[service];
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
