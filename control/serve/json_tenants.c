/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/serve/verb.h"

static json_t *both_ways(const uint64_t counts[DIRECTION_MAX])
{
    return json_pack("{s:I, s:I}", "in", (json_int_t)counts[DIRECTION_IN], "out",
                     (json_int_t)counts[DIRECTION_OUT]);
}

static json_t *counted(const struct admission_tenant_counters *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:I}, s:o, "
                     "s:o}",
                     "offered", (json_int_t)c->offered, "attempts", (json_int_t)c->attempts,
                     "attempt_packets", (json_int_t)c->attempt_packets, "admitted",
                     (json_int_t)c->admitted, "adopted", (json_int_t)c->adopted, "waited",
                     (json_int_t)c->waited, "cancelled", (json_int_t)c->cancelled, "useful",
                     (json_int_t)c->ended[LEDGER_USEFUL], "late", (json_int_t)c->ended[LEDGER_LATE],
                     "unfinished", (json_int_t)c->ended[LEDGER_UNFINISHED], "refused",
                     json_reasons(c->refused, REASON_ATTEMPT_MAX), "dropped", "packets",
                     (json_int_t)c->dropped_packets, "bits", (json_int_t)c->dropped_bits, "packets",
                     both_ways(c->packets), "bytes", both_ways(c->bytes));
}

static json_t *tenant_at(const struct plane *plane, uint32_t index)
{
    const struct policy_tenant *tenant = &plane->settings->policy.tenants[index];
    const struct dataplane *dp = plane->dataplane;
    const struct quota_left left = {dataplane_attempt_tokens(dp, tenant),
                                    dataplane_occupancy_ms(dp, tenant)};
    double retries = dataplane_retry_tenths(dp, tenant->id) / 10.0;
    struct admission_tenant_counters c;
    json_t *object;

    dataplane_tenant_counters(dp, tenant->id, &c);
    object =
        json_pack("{s:s, s:s, s:o, s:o, s:{s:o}}", "name", tenant->name, "class",
                  policy_class_name(tenant->class), "quota", json_quota(tenant, &left), "window",
                  json_window(dataplane_tenant_window(dp, tenant->id), tenant->window), "retries",
                  "left", json_rounded(retries, 1));
    return json_joined(object, counted(&c));
}

static uint32_t tenant_count(const struct plane *plane)
{
    return plane->settings->policy.n_tenants;
}

const struct listing listing_tenants = {"tenants", 32, tenant_count, tenant_at};

json_t *verb_tenant(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;
    const char *name = request->words[1];

    for (uint32_t i = 0; i < policy->n_tenants; i++)
        if (strcmp(policy->tenants[i].name, name) == 0)
            return json_listing("tenants", json_and(json_array(), tenant_at(request->plane, i)));
    return json_unknown("tenant", name);
}
