/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scenario says in place of options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/options.h"
#include "tools/scenario/tenants.h"

#define NS_PER_S 1e9
/* Whoever would wait for ever gives up then. */
#define PATIENCE_MAX_S 3600.0
#define DURATION_MAX_S 86400.0

_Static_assert(LOAD_KINDS_MAX >= SCENARIO_KINDS_MAX, "every kind of a scenario has its text");

static uint64_t ns_of(double s)
{
    return (uint64_t)(s * NS_PER_S + 0.5);
}

static void take_kinds(struct load_options *options)
{
    const struct scenario *scenario = options->scenario;
    uint64_t shortest_ns = UINT64_MAX;

    for (uint32_t i = 0; i < scenario->n_kinds; i++) {
        const struct scenario_kind *kind = &scenario->kinds[i];
        double timeout_s = scenario->clients.timeout_s;
        uint64_t deadline_ns = kind->deadline_s > 0 ? ns_of(kind->deadline_s) : UINT64_MAX;

        if (timeout_s <= 0)
            timeout_s = kind->deadline_s;
        if (timeout_s <= 0 || timeout_s > PATIENCE_MAX_S)
            timeout_s = PATIENCE_MAX_S;
        options->kinds[i] = (struct load_kind){.name = kind->path,
                                               .title = kind->name,
                                               .deadline_ns = deadline_ns,
                                               .timeout_ns = ns_of(timeout_s)};
        if (deadline_ns < shortest_ns)
            shortest_ns = deadline_ns;
    }
    options->n_kinds = scenario->n_kinds;
    if (shortest_ns < UINT64_MAX)
        options->deadline_ns = shortest_ns;
}

struct owner {
    const struct scenario *scenario;
    uint32_t tenant;
    int family;
};

static bool fits_owner(const struct sockaddr *address, const void *arg)
{
    const struct owner *owner = arg;
    uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

    if (address->sa_family != owner->family)
        return false;
    if (address->sa_family == AF_INET)
        memcpy(mapped + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else
        memcpy(mapped, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return tenant_of_address(owner->scenario, mapped) == owner->tenant;
}

static int take_tenant(struct load_options *options, const char *name, struct source_range *range)
{
    const struct owner owner = {.scenario = options->scenario,
                                .tenant = tenant_find(options->scenario, name),
                                .family = options->target.address.ss_family};
    int error;

    range->first = options->sources.n;
    error = source_list_add_own(&options->sources, fits_owner, &owner);
    range->n = options->sources.n - range->first;
    if (error)
        fprintf(stderr, "sluice-load: addresses of tenant %s: %s\n", name, strerror(-error));
    else if (range->n == 0)
        fprintf(stderr, "sluice-load: this host has no address of tenant %s\n", name);
    return error || range->n == 0 ? -EINVAL : 0;
}

static int take_sources(struct load_options *options)
{
    const struct scenario *scenario = options->scenario;
    const struct source_range given = {0, options->sources.n};

    for (uint32_t i = 0; i < scenario->n_arrivals; i++) {
        const char *tenant = scenario->arrivals[i].tenant;
        uint32_t before = 0;

        while (strcmp(scenario->arrivals[before].tenant, tenant))
            before++;
        options->ranges[i] = before < i ? options->ranges[before] : given;
        if (before == i && tenant_has_prefixes(scenario, tenant_find(scenario, tenant)) &&
            take_tenant(options, tenant, &options->ranges[i]))
            return -EINVAL;
    }
    return 0;
}

int options_take_scenario(struct load_options *options)
{
    const struct scenario *scenario;
    int error = scenario_read(options->scenario_path, options->sets, options->n_sets, stderr,
                              &options->scenario);

    if (error == -ENOMEM)
        fprintf(stderr, "sluice-load: %s: %s\n", options->scenario_path, strerror(ENOMEM));
    if (error)
        return -EINVAL;
    scenario = options->scenario;
    if (scenario->duration_s > DURATION_MAX_S) {
        fprintf(stderr, "sluice-load: %s: lasts longer than a day\n", options->scenario_path);
        return -EINVAL;
    }
    options->schedule.duration_ns = ns_of(scenario->duration_s);
    if (!options->seed_given)
        options->schedule.seed = scenario->seed;
    options->clients = scenario->clients;
    for (uint32_t i = 0; i < scenario->n_arrivals; i++)
        if (scenario->arrivals[i].shape == ARRIVE_CLOSED)
            options->closed += scenario->arrivals[i].clients;
    take_kinds(options);
    return take_sources(options);
}
