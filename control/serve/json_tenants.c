/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/serve/verb.h"

static json_t *both_ways(const uint64_t counts[DIRECTION_MAX])
{
    return json_pack("{s:I, s:I}", "in", (json_int_t)counts[DIRECTION_IN], "out",
                     (json_int_t)counts[DIRECTION_OUT]);
}

static json_t *tenant_of(const struct dataplane *dp, const struct policy_tenant *tenant)
{
    struct admission_tenant_counters c;
    uint64_t tokens = dataplane_attempt_tokens(dp, tenant->id);

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

json_t *verb_tenants(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;
    const char *only = request->n_words > 1 ? request->words[1] : NULL;
    json_t *list = json_array();

    for (uint32_t i = 0; i < policy->n_tenants; i++) {
        const struct policy_tenant *tenant = &policy->tenants[i];

        if (!only || strcmp(only, tenant->name) == 0)
            list = json_and(list, tenant_of(request->plane->dataplane, tenant));
    }
    if (only && list && json_array_size(list) == 0) {
        json_decref(list);
        return json_unknown("tenant", only);
    }
    return json_listing("tenants", list);
}
