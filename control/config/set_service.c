/* SPDX-License-Identifier: BSD-3-Clause */
/* What `set service` can change. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/config/config.h"
#include "control/config/limits.h"
#include "control/config/set.h"

#define S_NS 1000000000ull

/* Connections that were the default for the old window are those of the new one. */
static bool set_window(void *target, const char *text, struct config_refusal *no)
{
    struct policy_service *service = target;
    bool by_default = service->connections == limits_default_connections(service->window);

    if (!set_count(text, "slots", "window", &service->window, no))
        return false;
    if (by_default)
        service->connections = limits_default_connections(service->window);
    return true;
}

static bool set_connections(void *target, const char *text, struct config_refusal *no)
{
    return set_count(text, "connections", "number of connections",
                     &((struct policy_service *)target)->connections, no);
}

static bool set_capacity(void *target, const char *text, struct config_refusal *no)
{
    return limits_capacity(text, &((struct policy_service *)target)->capacity, no);
}

static bool set_deadline(void *target, const char *text, struct config_refusal *no)
{
    return limits_deadline(text, &((struct policy_service *)target)->deadline_ns, no);
}

static bool set_places(void *target, const char *text, struct config_refusal *no)
{
    char quoted[LIMITS_QUOTED_MAX];

    if (limits_places(set_whole(text), &((struct policy_service *)target)->wait.places, no))
        return true;
    snprintf(no->why, sizeof(no->why), "%s is no number of places", limits_quote(text, quoted));
    return false;
}

static bool set_age(void *target, const char *text, struct config_refusal *no)
{
    return limits_duration(text, &limits_age, &((struct policy_service *)target)->wait.age_ns, no);
}

static bool set_ceiling(void *target, const char *text, struct config_refusal *no)
{
    return limits_decimal(text, &limits_ceiling,
                          &((struct policy_service *)target)->shed.ceiling_ppm, no);
}

static bool set_breaker(void *target, const char *text, struct config_refusal *no)
{
    static const enum policy_breaker_mode modes[] = {POLICY_BREAKER_AUTO, POLICY_BREAKER_OPEN,
                                                     POLICY_BREAKER_CLOSED};
    char quoted[LIMITS_QUOTED_MAX];

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (!strcmp(text, policy_breaker_mode_name(modes[i]))) {
            ((struct policy_service *)target)->breaker.mode = modes[i];
            return true;
        }
    }
    snprintf(no->why, sizeof(no->why), "%s is no mode of a breaker", limits_quote(text, quoted));
    snprintf(no->range, sizeof(no->range), "auto, open or closed");
    return false;
}

static bool refuse_admit(const char *text, const char *what, struct config_refusal *no)
{
    char quoted[LIMITS_QUOTED_MAX];

    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), what);
    snprintf(no->range, sizeof(no->range), "100%%, or 0%%..100%% over 1s..1h in whole s");
    return false;
}

/* What follows the percent sign: nothing, " over DURATION" or "/DURATION". */
static const char *ramp_of(const char *rest)
{
    static const char over[] = " over ";

    if (!strncmp(rest, over, sizeof(over) - 1))
        return rest + sizeof(over) - 1;
    return *rest == '/' ? rest + 1 : NULL;
}

static bool set_admit(void *target, const char *text, struct config_refusal *no)
{
    static const struct decimal_limits percent = {POLICY_PPM / 100, POLICY_PPM, ""};
    static const struct duration_limits ramp = {S_NS, 3600 * S_NS, S_NS, ""};
    struct policy_service *service = target;
    const char *sign = strchr(text, '%');
    char share[16];
    uint32_t ppm;
    uint64_t over_ns = 0;

    if (!sign || (size_t)(sign - text) >= sizeof(share))
        return refuse_admit(text, "is no share over a time", no);
    snprintf(share, sizeof(share), "%.*s", (int)(sign - text), text);
    if (!limits_decimal(share, &percent, &ppm, no))
        return refuse_admit(text, "has no such share", no);
    if (sign[1] && !ramp_of(sign + 1))
        return refuse_admit(text, "is no share over a time", no);
    if (sign[1] && !limits_duration(ramp_of(sign + 1), &ramp, &over_ns, no))
        return refuse_admit(text, "has no such time", no);
    if (!sign[1] && ppm < POLICY_PPM)
        return refuse_admit(text, "names no time to return in", no);
    service->admit_ppm = ppm;
    service->admit_over_ns = ppm < POLICY_PPM ? over_ns : 0;
    service->admit_orders++;
    return true;
}

int config_set_service(struct policy_service *service, const char *assignment,
                       struct config_refusal *refusal)
{
    static const struct setter setters[] = {
        {"window", set_window},        {"connections", set_connections}, {"capacity", set_capacity},
        {"deadline", set_deadline},    {"wait.places", set_places},      {"wait.age", set_age},
        {"shed.ceiling", set_ceiling}, {"breaker", set_breaker},         {"admit", set_admit},
    };
    struct policy_service changed = *service;
    int err = SET_ONE("service", setters, &changed, assignment, refusal);

    if (!err)
        *service = changed;
    return err;
}

/* The places of one service among those that were made room for at start. */
static bool fits_places(const struct settings *settings, uint32_t index,
                        const struct policy_service *service, struct config_refusal *no)
{
    const struct policy_spec *spec = &settings->policy;
    uint64_t others = limits_waiting_places(spec) - spec->services[index].wait.places;

    if (others + service->wait.places <= settings->dataplane.waiting_max)
        return true;
    no->key = "wait.places";
    snprintf(no->why, sizeof(no->why),
             "the waiting places of all services were made %" PRIu32 " at the start",
             settings->dataplane.waiting_max);
    snprintf(no->range, sizeof(no->range), "0..%" PRIu64 " places",
             settings->dataplane.waiting_max - others);
    return false;
}

int config_fit_service(const struct settings *settings, uint32_t index,
                       const struct policy_service *service, struct config_refusal *refusal)
{
    *refusal = (struct config_refusal){0};
    return limits_fit_reserve(service, refusal) && limits_fit_shares(service, refusal) &&
                   fits_places(settings, index, service, refusal)
               ? 0
               : -EINVAL;
}
