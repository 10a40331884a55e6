/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of a service that contradict each other. Nothing is said where the file does not know: all
 * of it needs the capacity, and of service times it knows but what they must not be, and the
 * silence that an exchange is held through.
 */
#include <inttypes.h>
#include <stdio.h>

#include "control/config/limits.h"
#include "control/config/settings_reader.h"
#include "control/config/sizing.h"

#define MS_NS 1000000u
#define S_NS  1e9

/* Of the clients, or of the replies: vanished without a FIN, or lost. As the idle timeouts of the
 * design are sized for. */
#define LOST .01

#define TEXT_MAX 32

static double per_s(const struct quota_rate *rate)
{
    return (double)rate->amount / rate->period_s;
}

static const char *in_seconds(uint64_t duration_ns, char text[TEXT_MAX])
{
    if (duration_ns < S_NS)
        snprintf(text, TEXT_MAX, "%.4gms", (double)duration_ns / MS_NS);
    else
        snprintf(text, TEXT_MAX, "%.4gs", (double)duration_ns / S_NS);
    return text;
}

static bool has_limited_window(const struct policy_service *service)
{
    return service->window && service->window != POLICY_WINDOW_MAX;
}

/* The age lets nobody wait that long; then the places are for clients that wait for a refusal. */
static void check_last_place(struct reader *r, const config_setting_t *group,
                             const struct policy_service *service)
{
    const struct policy_wait *wait = &service->wait;
    const config_setting_t *places = service_member(group, "wait", "places");
    uint64_t bound_ns = wait->age_ns < service->deadline_ns ? wait->age_ns : service->deadline_ns;
    double last_s = sizing_last_wait_s(wait->places, per_s(&service->capacity));
    char last[TEXT_MAX], deadline[TEXT_MAX];

    if (places && service->deadline_ns && last_s * S_NS > (double)service->deadline_ns)
        warn(r, places,
             "at the capacity the turn of the last of %" PRIu32 " comes after %s, past the "
             "deadline of %s: %.0f are enough",
             wait->places, in_seconds((uint64_t)(last_s * S_NS), last),
             in_seconds(service->deadline_ns, deadline),
             sizing_places(per_s(&service->capacity), (double)bound_ns / S_NS));
}

/*
 * By Little's law each piece of work in a full window is in its slot for window / capacity; a
 * window of capacity x limit, in whole slots, is not too deep. What is done in a slot of unit
 * connection may be more than the one reply that the limits are about.
 */
static void check_deep_window(struct reader *r, const config_setting_t *window,
                              const struct policy_service *service)
{
    bool response = service->breaker.failures &&
                    (!service->deadline_ns || service->breaker.response_ns < service->deadline_ns);
    uint64_t limit_ns = response ? service->breaker.response_ns : service->deadline_ns;
    double held_s = sizing_held_s(service->window, per_s(&service->capacity));
    double deepest = sizing_window(per_s(&service->capacity), (double)limit_ns / S_NS);
    char held[TEXT_MAX], limit[TEXT_MAX];

    if (service->unit != UNIT_CONNECTION && limit_ns && service->window > sizing_whole(deepest))
        warn(r, window,
             "%" PRIu32 " in flight at the capacity take %s each, longer than the %s of %s",
             service->window, in_seconds((uint64_t)(held_s * S_NS), held),
             response ? "breaker.response" : "deadline", in_seconds(limit_ns, limit));
}

/* Where the silence is stated there are connections that stay open after a reply. */
static void check_shallow_window(struct reader *r, const config_setting_t *group,
                                 const config_setting_t *window,
                                 const struct policy_service *service)
{
    double silence_s = (double)service->silence_ns / S_NS;
    double needed = sizing_window(per_s(&service->capacity), silence_s);
    char silence[TEXT_MAX];

    if (service->unit == UNIT_EXCHANGE && service_member(group, "silence", NULL) &&
        sizing_whole(needed) > service->window)
        warn(r, window,
             "%" PRIu32 " slots do not give the capacity: clients that pause after a reply hold a "
             "slot for the silence of %s, %.0f slots in all",
             service->window, in_seconds(service->silence_ns, silence), sizing_whole(needed));
}

void check_sizes(struct reader *r, const config_setting_t *group,
                 const struct policy_service *service)
{
    const config_setting_t *window = places_of(r)->service_windows[service->id];

    if (service->capacity.unlimited || !has_limited_window(service))
        return;
    check_last_place(r, group, service);
    check_deep_window(r, window, service);
    check_shallow_window(r, group, window, service);
}

/* What an unfinished piece of work is held for, or 0: not that long. An exchange does not outlast
 * its reply, whatever becomes of the connection. */
static uint32_t idle_ms_of(const struct policy_service *service,
                           const struct flow_timeouts *timeouts)
{
    switch (service->unit) {
    case UNIT_CONNECTION:
        return timeouts->tcp_idle_ms;
    case UNIT_DATAGRAM:
        return timeouts->udp_idle_ms;
    case UNIT_EXCHANGE:
        break;
    }
    return 0;
}

static void check_idle(struct reader *r, const config_setting_t *window,
                       const struct policy_service *service)
{
    uint32_t idle_ms = idle_ms_of(service, &settings_of(r)->dataplane.timeouts);
    double rate_per_s = per_s(&service->capacity);
    double fits_s = sizing_idle_s(service->window, rate_per_s, LOST);
    bool tcp = service->unit == UNIT_CONNECTION;
    char idle[TEXT_MAX], fits[TEXT_MAX];

    if (fits_s < SIZING_IDLE_MIN_S)
        fits_s = SIZING_IDLE_MIN_S;
    if (idle_ms <= fits_s * 1000)
        return;
    warn(r, window,
         "assuming that %.0f %% of the %s, at the capacity flows.%s of %s holds %.3g slots for "
         "nobody, more than %.0f %% of %" PRIu32 ": at most %s%s",
         LOST * 100, tcp ? "clients vanish without a FIN" : "datagrams get no reply",
         tcp ? "tcp_idle" : "udp_idle", in_seconds((uint64_t)idle_ms * MS_NS, idle),
         sizing_leaked_slots(rate_per_s, LOST, idle_ms / 1e3), SIZING_LEAK_MAX * 100,
         service->window, in_seconds((uint64_t)(fits_s * S_NS), fits),
         tcp ? ", or unit exchange" : "");
}

void check_idle_timeouts(struct reader *r)
{
    const struct policy_spec *spec = &settings_of(r)->policy;

    for (uint32_t i = 0; i < spec->n_services; i++) {
        const struct policy_service *service = &spec->services[i];
        const config_setting_t *window = places_of(r)->service_windows[i];

        if (!service->capacity.unlimited && has_limited_window(service))
            check_idle(r, window, service);
    }
}
