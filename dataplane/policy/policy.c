/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/service_map.h"

/* What the tables of denied prefixes hold. */
enum { NOT_DENIED, DENIED };

struct policy {
    struct policy_tenant *tenants;
    struct policy_service *services;
    uint32_t *ids; /* of the tenants, then of the services */
    struct prefix_table *prefixes_v4, *prefixes_v6;
    struct prefix_table *denied_v4, *denied_v6;
    struct service_map *map;
    uint32_t n_tenants, n_services;
    uint32_t default_tenant;
    bool has_denied;
    uint64_t epoch;
};

static bool service_in_range(const struct policy_service *service, uint32_t n_tenants)
{
    if (service->tenant != POLICY_NONE && service->tenant >= n_tenants)
        return false;
    if (service->n_shares > POLICY_SHARES_MAX || service->probes.n > POLICY_PROBES_MAX)
        return false;
    for (uint32_t i = 0; i < service->n_shares; i++)
        if (service->shares[i].tenant >= n_tenants)
            return false;
    for (uint32_t i = 0; i < service->probes.n; i++)
        if (service->probes.prefixes[i].bits > 128)
            return false;
    return true;
}

static bool spec_in_range(const struct policy_spec *spec)
{
    if (spec->n_tenants == 0 || spec->n_tenants > POLICY_TENANTS_MAX ||
        spec->n_services > POLICY_SERVICES_MAX || spec->n_prefixes > POLICY_PREFIXES_MAX ||
        spec->n_denied > POLICY_DENIED_MAX || spec->default_tenant >= spec->n_tenants)
        return false;
    for (uint32_t i = 0; i < spec->n_prefixes; i++)
        if (spec->prefixes[i].tenant >= spec->n_tenants)
            return false;
    for (uint32_t i = 0; i < spec->n_services; i++)
        if (!service_in_range(&spec->services[i], spec->n_tenants))
            return false;
    return true;
}

static void *copy_of(const void *source, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);

    if (copy && bytes)
        memcpy(copy, source, bytes);
    return copy;
}

static void mask_probes(struct policy_probes *probes)
{
    for (uint32_t i = 0; i < probes->n; i++)
        probes->prefixes[i].network =
            prefix_mask(&probes->prefixes[i].network, probes->prefixes[i].bits);
}

static int copy_arrays(struct policy_service *to, const struct policy_service *from)
{
    to->addresses = copy_of(from->addresses, from->n_addresses * sizeof(*from->addresses));
    to->ports = copy_of(from->ports, from->n_ports * sizeof(*from->ports));
    to->shares = copy_of(from->shares, from->n_shares * sizeof(*from->shares));
    to->probes.prefixes =
        copy_of(from->probes.prefixes, from->probes.n * sizeof(*from->probes.prefixes));
    if (!to->addresses || !to->ports || !to->shares || !to->probes.prefixes)
        return -ENOMEM;
    mask_probes(&to->probes);
    return 0;
}

/* What is not copied yet is NULL, for policy_free. */
static int copy_services(struct policy *policy, const struct policy_spec *spec)
{
    int err = 0;

    policy->services = copy_of(spec->services, spec->n_services * sizeof(*spec->services));
    if (!policy->services)
        return -ENOMEM;
    policy->n_services = spec->n_services;
    for (uint32_t i = 0; i < spec->n_services; i++) {
        struct policy_service *service = &policy->services[i];

        service->addresses = NULL;
        service->ports = NULL;
        service->shares = NULL;
        service->probes.prefixes = NULL;
    }
    for (uint32_t i = 0; i < spec->n_services && !err; i++)
        err = copy_arrays(&policy->services[i], &spec->services[i]);
    return err;
}

static int collect_ids(struct policy *policy)
{
    policy->ids = calloc((size_t)policy->n_tenants + policy->n_services, sizeof(*policy->ids));
    if (!policy->ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < policy->n_tenants; i++)
        policy->ids[i] = policy->tenants[i].id;
    for (uint32_t i = 0; i < policy->n_services; i++)
        policy->ids[policy->n_tenants + i] = policy->services[i].id;
    return 0;
}

/* IPv4's corner of the address space: a shorter IPv6 prefix around it says nothing about IPv4. */
static bool prefix_is_v4(const struct address *network, uint8_t bits)
{
    return bits >= ADDRESS_V4_PREFIX_BITS && address_is_v4(network);
}

static int build_prefixes(const struct policy_spec *spec, bool v4, struct prefix_table **table)
{
    struct prefix_entry *entries = calloc(spec->n_prefixes + 1, sizeof(*entries));
    uint32_t n = 0;
    int err;

    if (!entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < spec->n_prefixes; i++)
        if (prefix_is_v4(&spec->prefixes[i].network, spec->prefixes[i].bits) == v4)
            entries[n++] = (struct prefix_entry){.network = spec->prefixes[i].network,
                                                 .bits = spec->prefixes[i].bits,
                                                 .value = spec->prefixes[i].tenant};
    err = prefix_table_create(entries, n, POLICY_NONE, table);
    free(entries);
    return err;
}

static int build_denied(const struct policy_spec *spec, bool v4, struct prefix_table **table)
{
    struct prefix_entry *entries = calloc(spec->n_denied + 1, sizeof(*entries));
    uint32_t n = 0;
    int err;

    if (!entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < spec->n_denied; i++)
        if (prefix_is_v4(&spec->denied[i].network, spec->denied[i].bits) == v4)
            entries[n++] = (struct prefix_entry){
                .network = spec->denied[i].network, .bits = spec->denied[i].bits, .value = DENIED};
    err = prefix_table_create(entries, n, NOT_DENIED, table);
    free(entries);
    return err;
}

int policy_create(const struct policy_spec *spec, struct policy **out)
{
    struct policy *policy;
    int err;

    if (!spec_in_range(spec))
        return -EINVAL;
    policy = calloc(1, sizeof(*policy));
    if (!policy)
        return -ENOMEM;
    policy->n_tenants = spec->n_tenants;
    policy->default_tenant = spec->default_tenant;
    policy->has_denied = spec->n_denied > 0;
    policy->epoch = spec->epoch;
    policy->tenants = copy_of(spec->tenants, spec->n_tenants * sizeof(*spec->tenants));
    err = policy->tenants ? copy_services(policy, spec) : -ENOMEM;
    if (!err)
        err = collect_ids(policy);
    if (!err)
        err = build_prefixes(spec, true, &policy->prefixes_v4);
    if (!err)
        err = build_prefixes(spec, false, &policy->prefixes_v6);
    if (!err)
        err = build_denied(spec, true, &policy->denied_v4);
    if (!err)
        err = build_denied(spec, false, &policy->denied_v6);
    if (!err)
        err = service_map_create(policy->services, policy->n_services, &policy->map);
    if (err) {
        policy_free(policy);
        return err;
    }
    *out = policy;
    return 0;
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    for (uint32_t i = 0; i < policy->n_services; i++) {
        free(policy->services[i].addresses);
        free(policy->services[i].ports);
        free(policy->services[i].shares);
        free(policy->services[i].probes.prefixes);
    }
    service_map_free(policy->map);
    prefix_table_free(policy->prefixes_v4);
    prefix_table_free(policy->prefixes_v6);
    prefix_table_free(policy->denied_v4);
    prefix_table_free(policy->denied_v6);
    free(policy->ids);
    free(policy->services);
    free(policy->tenants);
    free(policy);
}

uint64_t policy_epoch(const struct policy *policy)
{
    return policy->epoch;
}

uint32_t policy_tenant_count(const struct policy *policy)
{
    return policy->n_tenants;
}

uint32_t policy_service_count(const struct policy *policy)
{
    return policy->n_services;
}

uint32_t policy_default_tenant(const struct policy *policy)
{
    return policy->default_tenant;
}

const struct policy_tenant *policy_tenant(const struct policy *policy, uint32_t index)
{
    return &policy->tenants[index];
}

const struct policy_service *policy_service(const struct policy *policy, uint32_t index)
{
    return &policy->services[index];
}

uint32_t policy_tenant_id(const struct policy *policy, uint32_t index)
{
    return policy->ids[index];
}

uint32_t policy_service_id(const struct policy *policy, uint32_t index)
{
    return policy->ids[policy->n_tenants + index];
}

uint32_t policy_find_service(const struct policy *policy, const struct address *address,
                             uint8_t protocol, uint16_t port)
{
    return service_map_find(policy->map, address, protocol, port);
}

bool policy_names_address(const struct policy *policy, const struct address *address)
{
    return service_map_names_address(policy->map, address);
}

uint32_t policy_find_tenant(const struct policy *policy, const struct address *source,
                            uint32_t service)
{
    uint32_t tenant = prefix_table_find(
        address_is_v4(source) ? policy->prefixes_v4 : policy->prefixes_v6, source);

    if (tenant == POLICY_NONE && service != POLICY_NONE)
        tenant = policy->services[service].tenant;
    return tenant == POLICY_NONE ? policy->default_tenant : tenant;
}

bool policy_is_probe(const struct policy *policy, uint32_t service, const struct address *source)
{
    const struct policy_probes *probes = &policy->services[service].probes;

    for (uint32_t i = 0; i < probes->n; i++) {
        const struct policy_network *prefix = &probes->prefixes[i];
        struct address masked = prefix_mask(source, prefix->bits);

        if (address_equal(&masked, &prefix->network) &&
            (prefix->bits >= ADDRESS_V4_PREFIX_BITS || !address_is_v4(source)))
            return true;
    }
    return false;
}

struct policy_tables policy_tables(const struct policy *policy)
{
    struct policy_tables tables = {
        .tenants_v4 = prefix_table_view(policy->prefixes_v4),
        .tenants_v6 = prefix_table_view(policy->prefixes_v6),
        .denied_v4 = prefix_table_view(policy->denied_v4),
        .denied_v6 = prefix_table_view(policy->denied_v6),
    };

    tables.spans = service_map_spans(policy->map, &tables.n_spans);
    return tables;
}

bool policy_has_denied(const struct policy *policy)
{
    return policy->has_denied;
}

bool policy_is_denied(const struct policy *policy, const struct address *source)
{
    return prefix_table_find(address_is_v4(source) ? policy->denied_v4 : policy->denied_v6,
                             source) == DENIED;
}

unsigned policy_share_of(const struct policy *policy, uint32_t service, uint32_t tenant)
{
    const struct policy_service *s = &policy->services[service];

    for (uint32_t i = 0; i < s->n_shares; i++)
        if (s->shares[i].tenant == tenant)
            return i + 1;
    return 0;
}
