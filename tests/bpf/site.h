/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom the corpus is about: tenants that are stopped by one quota each, services of either version
 * and protocol, and a deny list. Ids are no indices. corpus/README.md says it for people.
 */
#ifndef SLUICE_TESTS_BPF_SITE_H
#define SLUICE_TESTS_BPF_SITE_H

#include <string.h>

#include "tests/unit/core.h"

enum site_tenant {
    SITE_DEFAULT,
    SITE_ACME,
    SITE_BLOCKED,
    SITE_FEW,
    SITE_NARROW,
    SITE_SHOP,
    SITE_TENANTS
};
enum site_service { SITE_WEB, SITE_DNS, SITE_STORE, SITE_SERVICES };

#define SITE_ID(index, n) ((n)-1 - (index))

struct site {
    struct policy_tenant tenants[SITE_TENANTS];
    struct policy_service services[SITE_SERVICES];
    struct policy_prefix prefixes[8];
    struct policy_network denied[16];
    struct address addresses[3];
    struct policy_ports ports[4];
    struct policy_spec spec;
};

static inline uint32_t site_tenant_id(enum site_tenant tenant)
{
    return SITE_ID(tenant, SITE_TENANTS);
}

static inline uint32_t site_service_id(enum site_service service)
{
    return SITE_ID(service, SITE_SERVICES);
}

static inline void site_name(char *to, const char *name)
{
    snprintf(to, POLICY_NAME_MAX + 1, "%s", name);
}

static inline void site_tenants(struct site *site)
{
    static const char *const names[SITE_TENANTS] = {"default", "acme",   "blocked",
                                                    "few",     "narrow", "shop"};

    for (uint32_t t = 0; t < SITE_TENANTS; t++) {
        site->tenants[t] = core_tenant(SITE_ID(t, SITE_TENANTS));
        site_name(site->tenants[t].name, names[t]);
    }
    site->tenants[SITE_BLOCKED].attempts = core_rate(0, 1, 0);
    site->tenants[SITE_FEW].packets = core_rate(0, 1, 0);
    site->tenants[SITE_NARROW].bits = core_rate(800, 1, 100); /* 100 bytes at once */
}

static inline void site_services(struct site *site)
{
    struct policy_service *s = site->services;

    site->addresses[0] = core_address("10.9.0.10");
    site->addresses[1] = core_address("2001:db8:9::10");
    site->addresses[2] = core_address("10.9.0.11");
    site->ports[0] = (struct policy_ports){80, 80};
    site->ports[1] = (struct policy_ports){8000, 8099};
    site->ports[2] = (struct policy_ports){53, 53};
    site->ports[3] = (struct policy_ports){443, 443};
    s[SITE_WEB] = core_service(site_service_id(SITE_WEB), &site->addresses[0], &site->ports[0]);
    s[SITE_WEB].n_addresses = s[SITE_WEB].n_ports = 2;
    s[SITE_DNS] = core_service(site_service_id(SITE_DNS), &site->addresses[0], &site->ports[2]);
    s[SITE_DNS].n_addresses = 2;
    s[SITE_DNS].protocol = PROTOCOL_UDP;
    s[SITE_DNS].unit = UNIT_DATAGRAM;
    s[SITE_STORE] = core_service(site_service_id(SITE_STORE), &site->addresses[2], &site->ports[3]);
    s[SITE_STORE].tenant = SITE_SHOP;
}

static inline struct policy_network site_network(const char *network, unsigned bits)
{
    struct policy_prefix prefix = core_prefix(network, bits, 0);

    return (struct policy_network){.network = prefix.network, .bits = prefix.bits};
}

/* Denied addresses that all belong into one bucket of the program's, of eight places, however many
 * buckets there are: the last two are found among the ranges. */
static inline uint32_t site_crowd(struct policy_network *denied)
{
    static const char *const hosts[] = {
        "10.5.0.14", "10.5.42.208", "10.5.154.193", "10.5.197.131", "10.5.240.69",
        "10.6.27.7", "10.6.96.54",  "10.6.138.248", "10.6.181.186", "10.6.224.124"};
    const uint32_t n = sizeof(hosts) / sizeof(*hosts);

    for (uint32_t i = 0; i < n; i++)
        denied[i] = site_network(hosts[i], 32);
    return n;
}

static inline void site_init(struct site *site)
{
    uint32_t n = 0, denied = 0;

    memset(site, 0, sizeof(*site));
    site_tenants(site);
    site_services(site);
    site->prefixes[n++] = core_prefix("10.1.0.0", 16, SITE_ACME);
    site->prefixes[n++] = core_prefix("2001:db8:1::", 48, SITE_ACME);
    site->prefixes[n++] = core_prefix("10.2.0.0", 16, SITE_BLOCKED);
    site->prefixes[n++] = core_prefix("2001:db8:2::", 48, SITE_BLOCKED);
    site->prefixes[n++] = core_prefix("10.3.0.0", 16, SITE_FEW);
    site->prefixes[n++] = core_prefix("10.4.0.0", 16, SITE_NARROW);
    site->prefixes[n++] = core_prefix("10.1.128.0", 17, SITE_BLOCKED); /* within acme's */
    site->denied[denied++] = site_network("10.66.0.0", 16);
    site->denied[denied++] = site_network("10.66.1.0", 24); /* within that */
    site->denied[denied++] = site_network("10.1.66.66", 32);
    site->denied[denied++] = site_network("2001:db8:66::", 48);
    site->denied[denied++] = site_network("0.0.0.0", 32);
    denied += site_crowd(&site->denied[denied]);
    site->spec = (struct policy_spec){.tenants = site->tenants,
                                      .services = site->services,
                                      .prefixes = site->prefixes,
                                      .denied = site->denied,
                                      .n_tenants = SITE_TENANTS,
                                      .n_services = SITE_SERVICES,
                                      .n_prefixes = n,
                                      .n_denied = denied,
                                      .default_tenant = SITE_DEFAULT};
}

/* Aborts where a specification is none. */
static inline struct policy *site_policy(const struct site *site)
{
    struct policy *policy;

    if (policy_create(&site->spec, &policy) != 0)
        abort();
    return policy;
}

#endif
