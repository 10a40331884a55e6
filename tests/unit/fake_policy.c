/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>

#include "tests/unit/fake_dataplane.h"

static void fill_tenant_specs(struct policy_spec *policy, uint32_t n_tenants)
{
    struct policy_tenant *tenants = fake_zeroed(n_tenants, sizeof(*tenants));

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

static void fill_web(struct policy_service *web)
{
    static struct address addresses[2];
    static struct policy_ports ports[] = {{80, 80}, {8000, 8099}};
    static struct policy_share shares[] = {
        {.tenant = 1, .guaranteed = 2, .ceiling = 5, .weight = 3}};
    static struct policy_network probes[1];

    addresses[0] = address_from_v4(inet_addr("10.9.0.10"));
    inet_pton(AF_INET6, "2001:db8::10", addresses[1].bytes);
    *web = policy_service_unlimited();
    web->addresses = addresses;
    web->n_addresses = 2;
    web->ports = ports;
    web->n_ports = 2;
    web->tenant = 1;
    web->window = 62;
    web->connections = 496;
    web->id = 1;
    web->refusal = REFUSAL_RST;
    web->refuse_rate = (struct quota_rate){.amount = 100000, .period_s = 1};
    web->capacity = (struct quota_rate){.amount = 170, .period_s = 1};
    web->deadline_ns = 1000000000;
    web->wait = (struct policy_wait){16, 100000000, ORDER_ADAPTIVE};
    web->reserve[CLASS_NORMAL] = (struct policy_reserve){0, 3};
    web->reserve[CLASS_CRITICAL] = (struct policy_reserve){4, 2};
    web->shed = (struct policy_shed){980000, {.amount = 20, .period_s = 1}};
    web->breaker = (struct policy_breaker){.failures = 3,
                                           .open_ns = 1000000000,
                                           .open_max_ns = 30000000000,
                                           .response_ns = 1000000000};
    web->probes = (struct policy_probes){probes, 1, {.amount = 10, .period_s = 1}};
    web->slo = (struct policy_slo){999000, 300000000};
    web->shares = shares;
    web->n_shares = 1;
    snprintf(web->name, sizeof(web->name), "web");
}

static void fill_dns(struct policy_service *dns)
{
    static struct address addresses[1];
    static struct policy_ports ports[] = {{53, 53}};

    addresses[0] = address_from_v4(inet_addr("10.9.0.53"));
    *dns = policy_service_unlimited();
    dns->addresses = addresses;
    dns->n_addresses = 1;
    dns->ports = ports;
    dns->n_ports = 1;
    dns->protocol = PROTOCOL_UDP;
    dns->unit = UNIT_DATAGRAM;
    snprintf(dns->name, sizeof(dns->name), "dns");
}

static void fill_service_specs(struct policy_spec *policy)
{
    policy->services = fake_zeroed(FAKE_SERVICES, sizeof(*policy->services));
    policy->n_services = FAKE_SERVICES;
    fill_web(&policy->services[0]);
    fill_dns(&policy->services[1]);
}

void fake_policy(struct policy_spec *policy, uint32_t n_tenants)
{
    fill_tenant_specs(policy, n_tenants);
    fill_service_specs(policy);
    policy->epoch = 7;
}
