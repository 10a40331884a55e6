/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/serve/verb.h"

#define FIRST_ASSIGNMENT 3 /* set KIND NAME ... */
#define JOINED_MAX       256

static json_t *tenant_limits(const struct policy_tenant *tenant)
{
    return json_pack("{s:s, s:o, s:o}", "class", policy_class_name(tenant->class), "quota",
                     json_quota(tenant, NULL), "window", json_limit(tenant->window));
}

static json_t *admit(const struct policy_service *service)
{
    double percent = service->admit_ppm * 100.0 / POLICY_PPM;

    if (service->admit_ppm == POLICY_PPM)
        return json_string("100%");
    return json_sprintf("%g%% over %" PRIu64 "s", percent, service->admit_over_ns / 1000000000);
}

static json_t *service_limits(const struct policy_service *service)
{
    json_t *deadline =
        service->deadline_ns ? json_duration(service->deadline_ns) : json_string("none");

    return json_pack("{s:o, s:o, s:o, s:o, s:{s:I, s:o}, s:{s:o}, s:s, s:o}", "window",
                     json_limit(service->window), "connections", json_limit(service->connections),
                     "capacity", json_rate(&service->capacity), "deadline", deadline, "wait",
                     "places", (json_int_t)service->wait.places, "age",
                     json_duration(service->wait.age_ns), "shed", "ceiling",
                     json_rounded((double)service->shed.ceiling_ppm / POLICY_PPM, 6), "breaker",
                     policy_breaker_mode_name(service->breaker.mode), "admit", admit(service));
}

/* Names the setting as the configuration does: tenants.acme.window. */
static json_t *refused(const struct request *request, const char *code, const char *assignment,
                       const struct config_refusal *refusal)
{
    const char *key = refusal->key ? refusal->key : assignment;
    json_t *path = json_sprintf("%ss.%s.%.*s", request->words[1], request->words[2],
                                (int)strcspn(key, "="), key);
    json_t *error = json_error(code, refusal->why, json_string_value(path),
                               refusal->range[0] ? refusal->range : NULL);

    json_decref(path);
    return error;
}

static json_t *not_applied(const struct request *request, const char *assignment,
                           const struct config_refusal *refusal)
{
    return refused(request, strchr(assignment, '=') ? "range" : "usage", assignment, refusal);
}

/* A key that is given twice is a slip: which of them was meant? NULL: there is none. */
static json_t *given_twice(const struct request *request)
{
    static const struct config_refusal twice = {.why = "is given twice"};

    for (unsigned i = FIRST_ASSIGNMENT + 1; i < request->n_words; i++) {
        const char *word = request->words[i];
        size_t length = strcspn(word, "=");

        for (unsigned j = FIRST_ASSIGNMENT; j < i && word[length]; j++)
            if (!strncmp(request->words[j], word, length + 1))
                return refused(request, "usage", word, &twice);
    }
    return NULL;
}

static json_t *not_published(int err)
{
    char message[128];

    if (err == -EBUSY)
        return json_error("busy", "workers still hold older policies, try again", NULL, NULL);
    snprintf(message, sizeof(message), "the policy could not be published: %s", strerror(-err));
    return json_error("internal", message, NULL, NULL);
}

/* `err` of the publication; takes `old` and `now`. */
static json_t *outcome(const struct request *request, int err, json_t *old, json_t *now)
{
    json_int_t epoch = (json_int_t)request->plane->settings->policy.epoch;

    if (err < 0) {
        json_decref(old);
        json_decref(now);
        return not_published(err);
    }
    return json_pack("{s:i, s:s, s:I, s:o, s:o}", "version", ANSWER_VERSION, request->words[1],
                     request->words[2], "epoch", epoch, "old", old, "new", now);
}

static json_t *set_tenant(const struct request *request, uint32_t index)
{
    const struct policy_tenant *tenant = &request->plane->settings->policy.tenants[index];
    struct policy_tenant changed = *tenant;
    struct config_refusal refusal;
    json_t *old;
    int err;

    for (unsigned i = FIRST_ASSIGNMENT; i < request->n_words; i++)
        if (config_set_tenant(&changed, request->words[i], &refusal) < 0)
            return not_applied(request, request->words[i], &refusal);
    old = tenant_limits(tenant);
    err = plane_set_tenant(request->plane, index, &changed);
    return outcome(request, err, old, tenant_limits(tenant));
}

/* The assignment that begins at word *i, which moves behind it. The words of `admit=10% over 60s`
 * are one, joined in `joined`. */
static const char *assignment_at(const struct request *request, unsigned *i,
                                 char joined[JOINED_MAX])
{
    char **words = &request->words[*i];

    if (request->n_words - *i < 3 || strcmp(words[1], "over") != 0) {
        *i += 1;
        return words[0];
    }
    snprintf(joined, JOINED_MAX, "%s over %s", words[0], words[2]);
    *i += 3;
    return joined;
}

static json_t *set_service(const struct request *request, uint32_t index)
{
    const struct settings *settings = request->plane->settings;
    const struct policy_service *service = &settings->policy.services[index];
    struct policy_service changed = *service;
    struct config_refusal refusal;
    char joined[JOINED_MAX];
    json_t *old;
    int err;

    for (unsigned i = FIRST_ASSIGNMENT; i < request->n_words;) {
        const char *assignment = assignment_at(request, &i, joined);

        if (config_set_service(&changed, assignment, &refusal) < 0)
            return not_applied(request, assignment, &refusal);
    }
    if (config_fit_service(settings, index, &changed, &refusal) < 0)
        return refused(request, "range", "", &refusal);
    old = service_limits(service);
    err = plane_set_service(request->plane, index, &changed);
    return outcome(request, err, old, service_limits(service));
}

json_t *verb_set(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;
    bool tenant = strcmp(request->words[1], "tenant") == 0;
    const char *name = request->words[2];
    json_t *twice;

    if (!tenant && strcmp(request->words[1], "service") != 0)
        return json_error("usage", "only a tenant or a service can be set", request->words[1],
                          NULL);
    twice = given_twice(request);
    if (twice)
        return twice;
    for (uint32_t i = 0; tenant && i < policy->n_tenants; i++)
        if (strcmp(policy->tenants[i].name, name) == 0)
            return set_tenant(request, i);
    for (uint32_t i = 0; !tenant && i < policy->n_services; i++)
        if (strcmp(policy->services[i].name, name) == 0)
            return set_service(request, i);
    return json_unknown(request->words[1], name);
}
