/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/scenario/tenants.h"

#include <string.h>

#include "control/config/config.h"

uint32_t tenant_find(const struct scenario *scenario, const char *name)
{
    const struct policy_spec *policy = scenario->gate ? &scenario->gate->policy : NULL;

    for (uint32_t i = 0; policy && i < policy->n_tenants; i++)
        if (strcmp(policy->tenants[i].name, name) == 0)
            return i;
    return SCENARIO_NONE;
}

bool tenant_has_prefixes(const struct scenario *scenario, uint32_t tenant)
{
    const struct policy_spec *policy = scenario->gate ? &scenario->gate->policy : NULL;

    for (uint32_t i = 0; policy && i < policy->n_prefixes; i++)
        if (policy->prefixes[i].tenant == tenant)
            return true;
    return false;
}

static bool holds(const struct policy_prefix *prefix, const uint8_t address[16])
{
    const uint8_t *network = prefix->network.bytes;
    unsigned int whole = prefix->bits / 8, rest = prefix->bits % 8;

    return memcmp(network, address, whole) == 0 &&
           (rest == 0 || (network[whole] ^ address[whole]) >> (8 - rest) == 0);
}

uint32_t tenant_of_address(const struct scenario *scenario, const uint8_t address[16])
{
    const struct policy_spec *policy = scenario->gate ? &scenario->gate->policy : NULL;
    const struct policy_prefix *longest = NULL;

    for (uint32_t i = 0; policy && i < policy->n_prefixes; i++) {
        const struct policy_prefix *prefix = &policy->prefixes[i];

        if (holds(prefix, address) && (!longest || prefix->bits > longest->bits))
            longest = prefix;
    }
    return longest ? longest->tenant : SCENARIO_NONE;
}
