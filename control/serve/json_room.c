/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/verb.h"

static json_t *connections(const struct policy_service *service, const struct service_view *view)
{
    return json_pack("{s:o, s:I, s:I}", "limit", json_limit(service->connections), "used",
                     (json_int_t)view->connections, "opening", (json_int_t)view->opening);
}

static json_t *capacity(const struct policy_service *service, const struct service_view *view)
{
    json_t *configured = service->capacity.unlimited ? json_null() : json_rate(&service->capacity);
    json_t *in_use = view->capacity_per_s > 0 ? json_rounded(view->capacity_per_s, 1) : json_null();

    return json_pack("{s:o, s:o}", "configured", configured, "in_use", in_use);
}

static json_t *wait(const struct policy_service *service, const struct service_view *view)
{
    return json_pack("{s:I, s:I, s:o, s:o, s:s}", "places", (json_int_t)service->wait.places,
                     "used", (json_int_t)view->waiting, "age_ms", json_ms(service->wait.age_ns),
                     "oldest_ms", json_ms(view->oldest_wait_ns), "order",
                     policy_order_name(service->wait.order));
}

static json_t *reserves(const struct policy_service *service)
{
    json_t *object = json_object();

    for (unsigned c = CLASS_NORMAL; c < CLASS_MAX; c++)
        object = json_with(object, policy_class_name(c),
                           json_pack("{s:I, s:I}", "slots", (json_int_t)service->reserve[c].slots,
                                     "places", (json_int_t)service->reserve[c].places));
    return object;
}

static json_t *shares(const struct plane *plane, const struct policy_service *service)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < service->n_shares; i++) {
        const struct policy_share *share = &service->shares[i];
        const struct window *window = dataplane_share_window(plane->dataplane, service->id, i + 1);

        list = json_and(list,
                        json_pack("{s:s, s:I, s:o, s:I, s:I}", "tenant",
                                  plane->settings->policy.tenants[share->tenant].name, "guaranteed",
                                  (json_int_t)share->guaranteed, "ceiling",
                                  json_limit(share->ceiling), "weight", (json_int_t)share->weight,
                                  "used", (json_int_t)window_used(window)));
    }
    return list;
}

static json_t *shed(const struct policy_service *service, const struct service_view *view)
{
    json_t *reserve =
        service->shed.reserve.unlimited ? json_null() : json_rate(&service->shed.reserve);

    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "ceiling",
                     json_rounded((double)service->shed.ceiling_ppm / POLICY_PPM, 6), "reserve",
                     reserve, "p", json_classes(view->shed, 4), "rate_per_s",
                     json_classes(view->rate_per_s, 1), "admit", json_rounded(view->admit, 4));
}

static json_t *breaker(const struct plane *plane, const struct policy_service *service,
                       const struct service_view *view)
{
    const struct policy_breaker *rules = &service->breaker;
    uint64_t now_ns = dataplane_now_ns(plane->dataplane), until_ns = view->breaker.until_ns;

    if (!rules->failures && rules->mode == POLICY_BREAKER_AUTO)
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:o}", "state", breaker_state_name(view->breaker.state),
                     "mode", policy_breaker_mode_name(rules->mode), "failures",
                     rules->failures ? json_integer(rules->failures) : json_null(), "until_ms",
                     json_ms(until_ns > now_ns ? until_ns - now_ns : 0));
}

static json_t *probes(const struct policy_service *service, const struct service_view *view)
{
    if (!service->probes.n)
        return json_null();
    return json_pack("{s:o, s:I}", "attempts", json_rate(&service->probes.attempts), "admitted",
                     (json_int_t)view->counters.health);
}

json_t *json_with_room(json_t *object, const struct plane *plane,
                       const struct policy_service *service, const struct service_view *view)
{
    object = json_with(object, "connections", connections(service, view));
    object = json_with(object, "capacity", capacity(service, view));
    object = json_with(object, "deadline_ms", json_ms(service->deadline_ns));
    object = json_with(object, "wait", wait(service, view));
    object = json_with(object, "reserve", reserves(service));
    object = json_with(object, "shares", shares(plane, service));
    object = json_with(object, "shed", shed(service, view));
    object = json_with(object, "breaker", breaker(plane, service, view));
    return json_with(object, "probes", probes(service, view));
}
