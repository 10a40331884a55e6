/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/stats.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdlib.h>

static void add_headcount(struct evbuffer *body, const struct headcount *count)
{
    evbuffer_add_printf(body, "\"current\":%" PRIu64 ",\"peak\":%" PRIu64 ",\"total\":%" PRIu64,
                        count->current, count->peak, count->total);
}

/* Prefixes are made of digits, dots, colons and a slash: nothing to escape. */
static void add_stats(struct evbuffer *body, const struct backend *backend)
{
    evbuffer_add_printf(
        body, "{\"slots\":%" PRIu32 ",\"service_us\":%" PRIu64 ",\"pace_changes\":%" PRIu64,
        backend->queue.n_slots, backend->queue.service_ns / 1000, backend->pace_changes);
    evbuffer_add_printf(body,
                        ",\"busy\":%" PRIu32 ",\"waiting\":%" PRIu64 ",\"in_queue_peak\":%" PRIu64,
                        backend->queue.n_running, backend->queue.n_waiting, backend->in_queue_peak);
    evbuffer_add_printf(body,
                        ",\"served\":%" PRIu64 ",\"abandoned\":%" PRIu64 ",\"refused\":%" PRIu64
                        ",\"connections\":{",
                        backend->served, backend->abandoned, backend->refused);
    add_headcount(body, &backend->census.all);
    evbuffer_add_printf(body, "},\"prefixes\":[");
    for (uint32_t i = 0; i < backend->census.n; i++) {
        const struct census_prefix *prefix = &backend->census.prefixes[i];

        evbuffer_add_printf(body, "%s{\"prefix\":\"%s\",", i ? "," : "", prefix->name);
        add_headcount(body, &prefix->count);
        evbuffer_add_printf(body, "}");
    }
    evbuffer_add_printf(body, "]}\n");
}

static void on_stats(struct evhttp_request *request, void *arg)
{
    struct evbuffer *body = evbuffer_new();

    if (!body) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
        return;
    }
    add_stats(body, arg);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      "application/json");
    evhttp_send_reply(request, HTTP_OK, "OK", body);
    evbuffer_free(body);
}

static void on_reset(struct evhttp_request *request, void *arg)
{
    struct backend *backend = arg;

    if (evhttp_request_get_command(request) != EVHTTP_REQ_POST) {
        evhttp_send_error(request, HTTP_BADMETHOD, NULL);
        return;
    }
    backend->served = backend->abandoned = backend->refused = 0;
    backend->in_queue_peak = backend_in_queue(backend);
    census_reset(&backend->census);
    on_stats(request, backend);
}

/* 1..BACKEND_PACE_MAX, or 0 for what is none. */
static uint64_t requested_pace(struct evhttp_request *request)
{
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    struct evkeyvalq pairs;
    uint64_t per_s = 0;
    const char *text;
    char *end;

    if (!query || evhttp_parse_query_str(query, &pairs))
        return 0;
    text = evhttp_find_header(&pairs, "per_s");
    if (text && *text >= '0' && *text <= '9') {
        per_s = strtoull(text, &end, 10);
        if (*end || per_s > BACKEND_PACE_MAX)
            per_s = 0;
    }
    evhttp_clear_headers(&pairs);
    return per_s;
}

static void on_pace(struct evhttp_request *request, void *arg)
{
    uint64_t per_s = requested_pace(request);

    if (evhttp_request_get_command(request) != EVHTTP_REQ_POST) {
        evhttp_send_error(request, HTTP_BADMETHOD, NULL);
        return;
    }
    if (!per_s) {
        evhttp_send_error(request, HTTP_BADREQUEST, NULL);
        return;
    }
    backend_set_pace(arg, per_s);
    on_stats(request, arg);
}

int stats_serve(struct backend *backend, const char *address, uint16_t port)
{
    struct evhttp *http = evhttp_new(backend->base);

    if (!http || evhttp_set_cb(http, "/stats", on_stats, backend) ||
        evhttp_set_cb(http, "/stats/reset", on_reset, backend) ||
        evhttp_set_cb(http, "/pace", on_pace, backend))
        return -ENOMEM;
    return evhttp_bind_socket(http, address, port) ? -EADDRINUSE : 0;
}
