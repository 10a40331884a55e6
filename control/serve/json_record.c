/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/verb.h"

static json_t *latency(const struct plane *plane, const struct policy_service *service)
{
    static const char *const names[LATENCY_MAX] = {
        [LATENCY_CONNECT] = "connect",
        [LATENCY_REPLY] = "reply",
        [LATENCY_EFFECTIVE] = "effective",
    };
    struct latency_view views[LATENCY_MAX];
    json_t *object = json_object();

    dataplane_service_latency(plane->dataplane, service->id, views);
    for (unsigned l = 0; l < LATENCY_MAX; l++)
        object = json_with(object, names[l],
                           json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)views[l].count,
                                     "p50_ms", json_ms(views[l].p50_ns), "p95_ms",
                                     json_ms(views[l].p95_ns), "p99_ms", json_ms(views[l].p99_ns)));
    return object;
}

static json_t *ledger(const struct ledger *ledger)
{
    static const char *const names[LEDGER_MAX] = {
        [LEDGER_USEFUL] = "useful",
        [LEDGER_LATE] = "late",
        [LEDGER_UNFINISHED] = "unfinished",
    };
    json_t *object = json_object();

    for (unsigned end = 0; end < LEDGER_MAX; end++)
        object = json_with(object, names[end],
                           json_pack("{s:I, s:o}", "pieces", (json_int_t)ledger->pieces[end],
                                     "slot_seconds",
                                     json_rounded((double)ledger->held_us[end] / 1e6, 3)));
    return object;
}

static json_t *demand(const struct service_view *view)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I}", "unmet_per_s", json_rounded(view->unmet_per_s, 1),
                     "backlog", json_rounded(view->backlog, 0), "hidden",
                     json_rounded(view->hidden, 1), "slots_needed",
                     view->slots_needed ? json_integer(view->slots_needed) : json_null(),
                     "retry_after_s", (json_int_t)view->retry_after_s);
}

static json_t *burn(const struct service_view *view)
{
    json_t *object = json_object();

    for (unsigned w = 0; w < SLO_WINDOWS; w++)
        object = json_with(object, slo_window_name(w), json_rounded(view->burn[w], 2));
    return object;
}

/* Without an objective there is no budget to burn. */
static json_t *objective(const struct policy_slo *slo, const struct service_view *view)
{
    bool stated = slo->objective_ppm > 0;

    if (!stated && !slo->latency_ns)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "objective",
                     stated ? json_rounded(slo->objective_ppm / 1e4, 4) : json_null(), "latency_ms",
                     json_ms(slo->latency_ns), "burn", stated ? burn(view) : json_null(), "alert",
                     stated ? json_string(slo_alert_name(view->alert)) : json_null());
}

json_t *json_with_record(json_t *object, const struct plane *plane,
                         const struct policy_service *service, const struct service_view *view)
{
    object = json_with(object, "latency", latency(plane, service));
    object = json_with(object, "ledger", ledger(&view->counters.ledger));
    object = json_with(object, "promise",
                       json_pack("{s:o, s:o}", "interval_ms", json_ms(view->interval_ns),
                                 "service_ms", json_ms(view->service_ns)));
    object = json_with(object, "demand", demand(view));
    return json_with(object, "slo", objective(&service->slo, view));
}
