/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"
#include "control/cli/table.h"

/* Of the classes that can be shed, the lowest first: "40.1/0/0". */
static void shed_cell(struct table *table, const json_t *p)
{
    table_cellf(table, "%.3g/%.3g/%.3g", 100 * json_real_value(json_object_get(p, "bulk")),
                100 * json_real_value(json_object_get(p, "normal")),
                100 * json_real_value(json_object_get(p, "critical")));
}

/* "used/limit"; just what is used where there is no limit. */
static void use_cell(struct table *table, const json_t *used, const json_t *limit)
{
    if (json_is_integer(limit))
        table_cellf(table, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
                    json_integer_value(used), json_integer_value(limit));
    else
        show_cell(table, used);
}

static void overview_row(struct table *table, const json_t *service)
{
    static const char *const counts[] = {"offered", "useful", "late", "unfinished", "refused"};

    show_cell(table, show_at(service, "name"));
    show_cell(table, show_at(service, "unit"));
    use_cell(table, show_at(service, "window.used"), show_at(service, "window.limit"));
    use_cell(table, show_at(service, "wait.used"), show_at(service, "wait.places"));
    shed_cell(table, show_at(service, "shed.p"));
    show_cell(table, show_at(service, "breaker.state"));
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        show_cell(table, show_at(service, counts[i]));
    show_cell(table, show_at(service, "latency.effective.p99_ms"));
}

void show_services(const json_t *answer, FILE *out)
{
    static const char *const headings[] = {"<name",   "<unit",      "slots",   "waiting",
                                           "shed, %", "breaker",    "offered", "useful",
                                           "late",    "unfinished", "refused", "p99, ms"};
    const unsigned n = sizeof(headings) / sizeof(headings[0]);
    const json_t *list = json_object_get(answer, "services"), *service;
    struct table table;
    size_t i;

    table_start(&table, n);
    for (unsigned h = 0; h < n; h++)
        table_cell(&table, headings[h]);
    json_array_foreach (list, i, service)
        overview_row(&table, service);
    table_finish(&table, out);
    show_members(out, "refused, by reason", list, "name", "refused");
}

/* -- one of them -- */

/* What there is for each class, in a row of its own. */
static json_t *by_class(const json_t *service)
{
    const json_t *shed = show_at(service, "shed.p");
    json_t *rows = json_object(), *p;
    const char *name;

    json_object_foreach ((json_t *)shed, name, p) {
        json_t *row = json_copy(json_object_get(json_object_get(service, "reserve"), name));

        if (!row)
            row = json_object();
        json_object_set(row, "p", p);
        json_object_set(row, "rate", json_object_get(show_at(service, "shed.rate_per_s"), name));
        json_object_set_new(rows, name, row);
    }
    return rows;
}

static void show_room(const json_t *list, FILE *out)
{
    static const struct column place[] = {
        {"<name", "name"},     {"<addresses", "addresses"}, {"<protocol", "protocol"},
        {"<ports", "ports"},   {"<tenant", "tenant"},       {"<unit", "unit"},
        {"<refuse", "refuse"}, {"at most", "refuse_rate"},
    };
    static const struct column room[] = {
        {"window", "window.limit"},
        {"used", "window.used"},
        {"peak", "window.peak"},
        {"debt", "window.debt"},
        {"connections", "connections.limit"},
        {"used", "connections.used"},
        {"opening", "connections.opening"},
        {"capacity", "capacity.configured"},
        {"in use, /s", "capacity.in_use"},
        {"deadline, ms", "deadline_ms"},
    };
    static const struct column queue[] = {
        {"places", "wait.places"},  {"used", "wait.used"},    {"oldest, ms", "wait.oldest_ms"},
        {"age, ms", "wait.age_ms"}, {"<order", "wait.order"}, {"waited", "waited"},
        {"cancelled", "cancelled"},
    };
    static const struct column shares[] = {
        {"<tenant", "tenant"},  {"guaranteed", "guaranteed"},
        {"ceiling", "ceiling"}, {"weight", "weight"},
        {"used", "used"},
    };
    const json_t *parts = json_object_get(json_array_get(list, 0), "shares");

    SHOW_ROWS(out, NULL, list, place);
    SHOW_ROWS(out, "room", list, room);
    if (json_array_size(parts))
        SHOW_ROWS(out, "shares of the window", parts, shares);
    SHOW_ROWS(out, "wait queue", list, queue);
}

static void show_defence(const json_t *list, FILE *out)
{
    static const struct column classes[] = {
        {"<class", ""},
        {"per s", "rate"},
        {"shed", "p"},
        {"reserved slots", "slots"},
        {"reserved places", "places"},
    };
    static const struct column defence[] = {
        {"shed at most", "shed.ceiling"},  {"kept free", "shed.reserve"},
        {"admit", "shed.admit"},           {"<breaker", "breaker.state"},
        {"<mode", "breaker.mode"},         {"failures", "breaker.failures"},
        {"until, ms", "breaker.until_ms"}, {"probes", "probes.attempts"},
        {"admitted", "probes.admitted"},
    };
    json_t *rows = by_class(json_array_get(list, 0));

    SHOW_KEYED(out, "classes", rows, classes);
    SHOW_ROWS(out, "shedding, breaker, health checks", list, defence);
    json_decref(rows);
}

static void show_record(const json_t *list, FILE *out)
{
    static const struct column work[] = {
        {"offered", "offered"},     {"attempts", "attempts"}, {"in packets", "attempt_packets"},
        {"refused", "refused"},     {"answered", "answered"}, {"unanswered", "unanswered"},
        {"connected", "connected"}, {"admitted", "admitted"}, {"adopted", "adopted"},
        {"health", "health"},
    };
    static const struct column ended[] = {
        {"finished", "outcomes.finished"},
        {"reset", "outcomes.reset"},
        {"aborted", "outcomes.aborted"},
        {"aged", "outcomes.aged"},
        {"failed", "failed"},
        {"reclaimed", "reclaimed"},
    };
    static const struct column ledger[] = {
        {"<work", ""},
        {"pieces", "pieces"},
        {"slot-seconds", "slot_seconds"},
    };
    static const struct column latency[] = {
        {"<latency, ms", ""}, {"count", "count"}, {"p50", "p50_ms"},
        {"p95", "p95_ms"},    {"p99", "p99_ms"},
    };
    const json_t *service = json_array_get(list, 0);

    SHOW_ROWS(out, "attempts", list, work);
    SHOW_ROWS(out, "how slots ended", list, ended);
    SHOW_KEYED(out, "what became of admitted work", json_object_get(service, "ledger"), ledger);
    SHOW_KEYED(out, "how long it took, since the start", json_object_get(service, "latency"),
               latency);
}

static void show_outlook(const json_t *list, FILE *out)
{
    static const struct column demand[] = {
        {"unmet, /s", "demand.unmet_per_s"},
        {"backlog", "demand.backlog"},
        {"hidden", "demand.hidden"},
        {"slots needed", "demand.slots_needed"},
        {"retry after, s", "demand.retry_after_s"},
        {"each waiter, ms", "promise.interval_ms"},
        {"the work, ms", "promise.service_ms"},
    };
    static const struct column objective[] = {
        {"objective, %", "slo.objective"},
        {"latency, ms", "slo.latency_ms"},
        {"5m", "slo.burn.5m"},
        {"30m", "slo.burn.30m"},
        {"1h", "slo.burn.1h"},
        {"6h", "slo.burn.6h"},
        {"3d", "slo.burn.3d"},
        {"<alert", "slo.alert"},
    };

    SHOW_ROWS(out, "demand, and what is promised", list, demand);
    if (json_is_object(json_object_get(json_array_get(list, 0), "slo")))
        SHOW_ROWS(out, "objective, and how fast its budget burns", list, objective);
}

void show_service(const json_t *answer, FILE *out)
{
    const json_t *list = json_object_get(answer, "services");

    show_room(list, out);
    show_defence(list, out);
    show_record(list, out);
    show_outlook(list, out);
    show_members(out, "refused, by reason", list, "name", "refused");
}
