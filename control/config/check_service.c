/* SPDX-License-Identifier: BSD-3-Clause */
/* What does not fit together within one service: what cannot be is an error, what can have no
 * effect a warning. */
#include "control/config/limits.h"
#include "control/config/settings_reader.h"

static const config_setting_t *member(const config_setting_t *group, const char *name)
{
    return node_of(group)->kind == SCAN_GROUP ? config_setting_get_member(group, name) : NULL;
}

const config_setting_t *service_member(const config_setting_t *group, const char *outer,
                                       const char *inner)
{
    const config_setting_t *setting = member(group, outer);

    return setting && inner ? member(setting, inner) : setting;
}

static void warn_if(struct reader *r, const config_setting_t *setting, bool wrong, const char *what)
{
    if (setting && wrong)
        warn(r, setting, "%s", what);
}

static void check_parts(struct reader *r, const config_setting_t *group,
                        const struct policy_service *service)
{
    const config_setting_t *reserve = service_member(group, "reserve", NULL);
    const config_setting_t *shares = service_member(group, "shares", NULL);
    struct config_refusal no;

    if (reserve && !limits_fit_reserve(service, &no))
        refuse(r, reserve, "", "%s", no.why);
    if (shares && !limits_fit_shares(service, &no))
        refuse(r, shares, "", "%s", no.why);
}

static void check_waiting(struct reader *r, const config_setting_t *group,
                          const struct policy_service *service)
{
    const struct policy_wait *wait = &service->wait;
    const config_setting_t *places = service_member(group, "wait", "places");
    const config_setting_t *age = service_member(group, "wait", "age");

    warn_if(r, places, wait->places && service->window == POLICY_WINDOW_MAX,
            "has no effect, for the window is unlimited");
    warn_if(r, age ? age : places,
            wait->places && service->deadline_ns && wait->age_ns > service->deadline_ns,
            "who waits so long is past the deadline");
    warn_if(r, service_member(group, "wait", "order"),
            wait->order == ORDER_DEADLINE && !service->deadline_ns,
            "has no effect, for there is no deadline");
}

/* Amounts have different periods; both products fit: at most 10^9 x 86400. */
static bool reaches(const struct quota_rate *a, const struct quota_rate *b)
{
    return a->amount * b->period_s >= b->amount * a->period_s;
}

static void check_shedding(struct reader *r, const config_setting_t *group,
                           const struct policy_service *service)
{
    warn_if(r, service_member(group, "shed", "reserve"),
            !service->capacity.unlimited && service->shed.reserve.amount &&
                reaches(&service->shed.reserve, &service->capacity),
            "leaves nothing of the capacity");
}

static void check_unit(struct reader *r, const config_setting_t *group,
                       const struct policy_service *service)
{
    static const char exchanges_only[] = "has no effect, for the unit is not exchange";

    warn_if(r, service_member(group, "turn", NULL), service->unit != UNIT_EXCHANGE, exchanges_only);
    warn_if(r, service_member(group, "silence", NULL), service->unit != UNIT_EXCHANGE,
            exchanges_only);
    warn_if(r, service_member(group, "connections", NULL), service->unit == UNIT_DATAGRAM,
            "has no effect, for udp has no connections");
}

void check_service(struct reader *r, const config_setting_t *group,
                   const struct policy_service *service)
{
    check_parts(r, group, service);
    check_waiting(r, group, service);
    check_shedding(r, group, service);
    check_unit(r, group, service);
    check_sizes(r, group, service);
}
