/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/serve/verb.h"

static json_t *limits(const struct policy_tenant *tenant)
{
    return json_pack("{s:s, s:o, s:o}", "class", policy_class_name(tenant->class), "quota",
                     json_quota(tenant, NULL), "window", json_limit(tenant->window));
}

/* Names the setting as the configuration does: tenants.acme.window. */
static json_t *not_applied(const struct policy_tenant *tenant, const char *assignment,
                           const struct config_refusal *refusal)
{
    const char *code = strchr(assignment, '=') ? "range" : "usage";
    int key_length = (int)strcspn(assignment, "=");
    json_t *key = json_sprintf("tenants.%s.%.*s", tenant->name, key_length, assignment);
    json_t *error = json_error(code, refusal->why, json_string_value(key),
                               refusal->range[0] ? refusal->range : NULL);

    json_decref(key);
    return error;
}

static json_t *not_published(int err)
{
    char message[128];

    if (err == -EBUSY)
        return json_error("busy", "workers still hold older policies, try again", NULL, NULL);
    snprintf(message, sizeof(message), "the policy could not be published: %s", strerror(-err));
    return json_error("internal", message, NULL, NULL);
}

static json_t *set_tenant(struct plane *plane, uint32_t index, const struct request *request)
{
    const struct policy_spec *policy = &plane->settings->policy;
    struct policy_tenant changed = policy->tenants[index];
    struct config_refusal refusal = {0};
    json_t *old;
    int err;

    for (unsigned i = 3; i < request->n_words; i++)
        if (config_set_tenant(&changed, request->words[i], &refusal) < 0)
            return not_applied(&changed, request->words[i], &refusal);

    old = limits(&policy->tenants[index]);
    err = plane_set_tenant(plane, index, &changed);
    if (err < 0) {
        json_decref(old);
        return not_published(err);
    }
    return json_pack("{s:i, s:s, s:I, s:o, s:o}", "version", ANSWER_VERSION, "tenant",
                     policy->tenants[index].name, "epoch", (json_int_t)policy->epoch, "old", old,
                     "new", limits(&policy->tenants[index]));
}

json_t *verb_set(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;

    if (strcmp(request->words[1], "tenant") != 0)
        return json_error("usage", "only a tenant can be set", request->words[1], NULL);
    for (uint32_t i = 0; i < policy->n_tenants; i++)
        if (strcmp(policy->tenants[i].name, request->words[2]) == 0)
            return set_tenant(request->plane, i, request);
    return json_unknown("tenant", request->words[2]);
}
