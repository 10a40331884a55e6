/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "control/serve/verb.h"

static json_t *address_text(const struct address *address)
{
    char text[INET6_ADDRSTRLEN];

    if (address_is_v4(address))
        inet_ntop(AF_INET, &address->words[3], text, sizeof(text));
    else
        inet_ntop(AF_INET6, address->bytes, text, sizeof(text));
    return json_string(text);
}

static json_t *addresses(const struct policy_service *service)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < service->n_addresses; i++)
        list = json_and(list, address_text(&service->addresses[i]));
    return list;
}

static json_t *ports(const struct policy_service *service)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < service->n_ports; i++) {
        const struct policy_ports *range = &service->ports[i];

        if (range->first == range->last)
            list = json_and(list, json_sprintf("%u", range->first));
        else
            list = json_and(list, json_sprintf("%u-%u", range->first, range->last));
    }
    return list;
}

/* What the service is, as configured. */
static json_t *described(const struct policy_spec *policy, const struct policy_service *service)
{
    uint32_t tenant = service->tenant == POLICY_NONE ? policy->default_tenant : service->tenant;

    return json_pack(
        "{s:s, s:o, s:s, s:o, s:s, s:s, s:s, s:o}", "name", service->name, "addresses",
        addresses(service), "protocol", service->protocol == PROTOCOL_TCP ? "tcp" : "udp", "ports",
        ports(service), "tenant", policy->tenants[tenant].name, "unit",
        policy_unit_name(service->unit), "refuse", policy_refusal_name(service->refusal),
        "refuse_rate", json_rate(&service->refuse_rate));
}

/* What became of those who asked for it. */
static json_t *counted(const struct admission_service_counters *c)
{
    const uint64_t *pieces = c->ledger.pieces, *outcomes = c->outcomes;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o,"
        " s:{s:I, s:I, s:I, s:I}, s:I, s:I}",
        "offered", (json_int_t)c->offered, "attempts", (json_int_t)c->attempts, "attempt_packets",
        (json_int_t)c->attempt_packets, "connected", (json_int_t)c->connected, "admitted",
        (json_int_t)c->admitted, "adopted", (json_int_t)c->adopted, "health", (json_int_t)c->health,
        "waited", (json_int_t)c->waited, "cancelled", (json_int_t)c->cancelled, "useful",
        (json_int_t)pieces[LEDGER_USEFUL], "late", (json_int_t)pieces[LEDGER_LATE], "unfinished",
        (json_int_t)pieces[LEDGER_UNFINISHED], "failed", (json_int_t)c->failed, "reclaimed",
        (json_int_t)c->reclaimed, "refused", json_reasons(c->refused, REASON_ATTEMPT_MAX),
        "outcomes", "finished", (json_int_t)outcomes[OUTCOME_FINISHED], "reset",
        (json_int_t)outcomes[OUTCOME_RESET], "aborted", (json_int_t)outcomes[OUTCOME_ABORTED],
        "aged", (json_int_t)outcomes[OUTCOME_AGED], "answered", (json_int_t)c->answered,
        "unanswered", (json_int_t)c->unanswered);
}

static json_t *service_at(const struct plane *plane, uint32_t index)
{
    const struct policy_service *service = &plane->settings->policy.services[index];
    const struct window *window = dataplane_service_window(plane->dataplane, service->id);
    struct service_view view;
    json_t *object;

    dataplane_service_view(plane->dataplane, service, &view);
    object = json_with(described(&plane->settings->policy, service), "window",
                       json_window(window, service->window));
    object = json_with_room(object, plane, service, &view);
    object = json_joined(object, counted(&view.counters));
    return json_with_record(object, plane, service, &view);
}

static uint32_t service_count(const struct plane *plane)
{
    return plane->settings->policy.n_services;
}

const struct listing listing_services = {"services", 8, service_count, service_at};

json_t *verb_service(const struct request *request)
{
    const struct policy_spec *policy = &request->plane->settings->policy;
    const char *name = request->words[1];

    for (uint32_t i = 0; i < policy->n_services; i++)
        if (strcmp(policy->services[i].name, name) == 0)
            return json_listing("services", json_and(json_array(), service_at(request->plane, i)));
    return json_unknown("service", name);
}
