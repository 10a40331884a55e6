/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/serve/verb.h"

static json_t *both_ways(const uint64_t counts[DIRECTION_MAX])
{
    return json_pack("{s:I, s:I}", "in", (json_int_t)counts[DIRECTION_IN], "out",
                     (json_int_t)counts[DIRECTION_OUT]);
}

static json_t *tenant_at(const struct plane *plane, uint32_t index)
{
    const struct policy_tenant *tenant = &plane->settings->policy.tenants[index];
    const struct dataplane *dp = plane->dataplane;
    struct admission_tenant_counters c;
    uint64_t tokens = dataplane_attempt_tokens(dp, tenant);

    dataplane_tenant_counters(dp, tenant->id, &c);
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:I}, s:o, s:o}",
                     "name", tenant->name, "class", policy_class_name(tenant->class), "quota",
                     json_quota(tenant, &tokens), "window",
                     json_window(dataplane_tenant_window(dp, tenant->id), tenant->window),
                     "attempts", (json_int_t)c.attempts, "attempt_packets",
                     (json_int_t)c.attempt_packets, "admitted", (json_int_t)c.admitted, "adopted",
                     (json_int_t)c.adopted, "refused", json_reasons(c.refused, REASON_ATTEMPT_MAX),
                     "dropped", "packets", (json_int_t)c.dropped_packets, "bits",
                     (json_int_t)c.dropped_bits, "packets", both_ways(c.packets), "bytes",
                     both_ways(c.bytes));
}

static uint32_t tenant_count(const struct plane *plane)
{
    return plane->settings->policy.n_tenants;
}

const struct listing listing_tenants = {"tenants", tenant_count, tenant_at};

json_t *verb_tenant(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;
    const char *name = request->words[1];

    for (uint32_t i = 0; i < policy->n_tenants; i++)
        if (strcmp(policy->tenants[i].name, name) == 0)
            return json_listing("tenants", json_and(json_array(), tenant_at(request->plane, i)));
    return json_unknown("tenant", name);
}
