/* SPDX-License-Identifier: BSD-3-Clause */
/* What the limits of a service's overload control may be. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/config/limits.h"
#include "control/config/units.h"

#define MS_NS                  1000000ull
#define CONNECTIONS_PER_WINDOW 8u

const struct duration_limits limits_age = {MS_NS, 10000 * MS_NS, 1, "1ms..10s"};
static const struct duration_limits limits_deadlines = {MS_NS, 600000 * MS_NS, 1,
                                                        "1ms..10min or \"none\""};
const struct decimal_limits limits_ceiling = {POLICY_PPM, POLICY_PPM, "0..1"};
const struct decimal_limits limits_objective = {POLICY_PPM / 100, POLICY_PPM - 1,
                                                "0..99.9999 percent"};
const struct decimal_limits limits_erlangs = {1000, POLICY_MILLI_ERLANGS_MAX,
                                              "0..65536 or \"unlimited\""};

bool limits_places(int64_t value, uint32_t *places, struct config_refusal *no)
{
    if (value >= 0 && value <= POLICY_PLACES_MAX) {
        *places = (uint32_t)value;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%" PRId64 " is out of range", value);
    snprintf(no->range, sizeof(no->range), "0..%d places", POLICY_PLACES_MAX);
    return false;
}

bool limits_duration(const char *text, const struct duration_limits *limits, uint64_t *duration_ns,
                     struct config_refusal *no)
{
    static const char *const wrong[] = {
        [UNITS_SYNTAX] = "is no duration",
        [UNITS_BARE] = "has no unit, such as ms or s",
        [UNITS_INEXACT] = "is too fine",
        [UNITS_RANGE] = "is out of range",
    };
    uint64_t read_ns = 0;
    enum units_result result = units_duration(text, &read_ns);
    char quoted[LIMITS_QUOTED_MAX];

    if (result == UNITS_OK && (read_ns < limits->min_ns || read_ns > limits->max_ns))
        result = UNITS_RANGE;
    if (result == UNITS_OK && read_ns % limits->step_ns)
        result = UNITS_INEXACT;
    if (result == UNITS_OK) {
        *duration_ns = read_ns;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), wrong[result]);
    snprintf(no->range, sizeof(no->range), "%s", limits->range);
    return false;
}

bool limits_deadline(const char *text, uint64_t *deadline_ns, struct config_refusal *no)
{
    if (strcmp(text, "none"))
        return limits_duration(text, &limits_deadlines, deadline_ns, no);
    *deadline_ns = 0;
    return true;
}

bool limits_decimal(const char *text, const struct decimal_limits *limits, uint32_t *value,
                    struct config_refusal *no)
{
    static const char *const wrong[] = {
        [UNITS_SYNTAX] = "is no plain decimal",
        [UNITS_INEXACT] = "is too fine",
        [UNITS_RANGE] = "is out of range",
    };
    uint64_t read = 0;
    enum units_result result = units_decimal(text, limits->scale, &read);
    char quoted[LIMITS_QUOTED_MAX];

    if (result == UNITS_OK && read > limits->max)
        result = UNITS_RANGE;
    if (result == UNITS_OK) {
        *value = (uint32_t)read;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), wrong[result]);
    snprintf(no->range, sizeof(no->range), "%s", limits->range);
    return false;
}

bool limits_capacity(const char *text, struct quota_rate *capacity, struct config_refusal *no)
{
    struct quota_rate read = *capacity;

    if (!limits_rate(text, &read, no))
        return false;
    if (!read.unlimited && !read.amount) {
        snprintf(no->why, sizeof(no->why), "a capacity of 0 is none");
        snprintf(no->range, sizeof(no->range), "1/day and more, or \"unlimited\": not known");
        return false;
    }
    *capacity = read;
    capacity->burst = read.amount ? limits_default_burst(&read, 1) : 0;
    return true;
}

uint64_t limits_waiting_places(const struct policy_spec *spec)
{
    uint64_t places = 0;

    for (uint32_t i = 0; i < spec->n_services; i++)
        places += spec->services[i].wait.places;
    return places;
}

uint32_t limits_default_connections(uint32_t window)
{
    uint64_t connections = (uint64_t)window * CONNECTIONS_PER_WINDOW;

    return connections < POLICY_WINDOW_MAX ? (uint32_t)connections : POLICY_WINDOW_MAX;
}

bool limits_fit_reserve(const struct policy_service *service, struct config_refusal *no)
{
    uint64_t slots = 0, places = 0;

    for (int c = 0; c < CLASS_MAX; c++) {
        slots += service->reserve[c].slots;
        places += service->reserve[c].places;
    }
    no->key = "reserve";
    if (slots && slots >= service->window) {
        snprintf(no->why, sizeof(no->why),
                 "keeps back %" PRIu64 " slots of a window of %" PRIu32 ", some must be left",
                 slots, service->window);
        return false;
    }
    if (places > service->wait.places) {
        snprintf(no->why, sizeof(no->why),
                 "keeps back %" PRIu64 " places of %" PRIu32 " waiting places", places,
                 service->wait.places);
        return false;
    }
    no->key = NULL;
    return true;
}

bool limits_fit_shares(const struct policy_service *service, struct config_refusal *no)
{
    uint64_t guaranteed = 0;

    for (uint32_t i = 0; i < service->n_shares; i++)
        guaranteed += service->shares[i].guaranteed;
    if (guaranteed <= service->window)
        return true;
    no->key = "shares";
    snprintf(no->why, sizeof(no->why), "guarantee %" PRIu64 " slots of a window of %" PRIu32,
             guaranteed, service->window);
    return false;
}
