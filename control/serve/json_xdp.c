/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "control/serve/verb.h"

static const char *state_name(enum xdp_state state)
{
    static const char *const names[] = {
        [XDP_STATE_OFF] = "off", [XDP_STATE_GUARD] = "guard", [XDP_STATE_STANDBY] = "standby"};

    return names[state];
}

static const char *use_name(enum xdp_use use)
{
    static const char *const names[] = {
        [XDP_OFF] = "off", [XDP_OPTIONAL] = "optional", [XDP_REQUIRED] = "required"};

    return names[use];
}

static void view_of(const struct plane *plane, uint32_t index, struct xdp_view *view)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    xdp_view(plane->xdp, index, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec, view);
}

static json_t *head(const struct xdp_view *view)
{
    return json_pack("{s:s, s:s, s:s?}", "gate", view->gate, "side", view->side, "interface",
                     view->interface);
}

static json_t *wanted(const struct xdp_view *view)
{
    static const char *const modes[] = {
        [XDP_AUTO] = "auto", [XDP_NATIVE] = "native", [XDP_GENERIC] = "generic"};

    return json_pack("{s:s, s:s}", "xdp", use_name(view->wanted->use), "mode",
                     modes[view->wanted->mode]);
}

static json_t *status_of(const struct xdp_view *view)
{
    json_t *object = head(view);

    object = json_with(object, "device", json_string(view->device));
    object = json_with(object, "wanted", wanted(view));
    object = json_with(object, "state", json_string(state_name(view->state)));
    object = json_with(object, "mode", view->mode ? json_string(view->mode) : json_null());
    object = json_with(object, "program", view->program ? json_count(view->program) : json_null());
    object = json_with(object, "pins", view->pins ? json_string(view->pins) : json_null());
    object = json_with(object, "heartbeat_age_ms",
                       view->alive ? json_rounded((double)view->heartbeat_age_ns / 1e6, 3)
                                   : json_null());
    object =
        json_with(object, "standby", json_string(view->wanted->redirect ? "redirect" : "pass"));
    object = json_with(object, "standby_after", json_duration(view->wanted->standby_after_ns));
    object =
        json_with(object, "after_exit", json_string(view->wanted->stays ? "standby" : "detach"));
    return json_with(object, "why", view->why[0] ? json_string(view->why) : json_null());
}

/* Every reason but those that only workers have: tx and handoff. */
static json_t *counts_of(const struct xdp_view *view)
{
    const struct xdp_counts *c = &view->counts;
    json_t *object = head(view), *dropped = json_reasons(c->dropped, REASON_MAX);

    if (dropped) {
        json_object_del(dropped, reason_name(REASON_TX));
        json_object_del(dropped, reason_name(REASON_HANDOFF));
    }
    object = json_with(object, "received", json_count(c->received));
    object = json_with(object, "guarded", json_count(c->guarded));
    object = json_with(object, "socket", json_count(c->socket));
    object = json_with(object, "passed", json_count(c->passed));
    object = json_with(object, "redirected", json_count(c->redirected));
    return json_with(object, "dropped", dropped);
}

static json_t *brief_of(const struct xdp_view *view)
{
    json_t *object = json_with(head(view), "state", json_string(state_name(view->state)));

    return json_with(object, "mode", view->mode ? json_string(view->mode) : json_null());
}

static json_t *list_of(const struct plane *plane, bool all,
                       json_t *(*show)(const struct xdp_view *view))
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < xdp_count(plane->xdp); i++) {
        struct xdp_view view;

        view_of(plane, i, &view);
        if (all || view.program)
            list = json_and(list, show(&view));
    }
    return list;
}

json_t *json_xdp_counters(const struct plane *plane)
{
    return list_of(plane, false, counts_of);
}

json_t *json_xdp_brief(const struct plane *plane)
{
    return list_of(plane, true, brief_of);
}

json_t *verb_xdp_status(const struct request *request)
{
    return json_listing("xdp", list_of(request->plane, true, status_of));
}

json_t *verb_xdp_counters(const struct request *request)
{
    return json_listing("counters", json_xdp_counters(request->plane));
}
