/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/closed.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "tools/load/work.h"

struct visitor {
    struct event turn; /* its next piece of work */
    struct closed *closed;
    uint32_t source;
};

static void on_turn(int fd, short what, void *arg)
{
    struct visitor *visitor = arg;
    struct closed *closed = visitor->closed;
    struct client *client = closed->client;
    uint64_t now_ns = client_run_ns(client);
    struct arrival arrival = {.at_ns = now_ns, .source = visitor->source};

    (void)fd;
    (void)what;
    if (now_ns >= client->options->schedule.duration_ns ||
        closed->started == SCHEDULE_REQUESTS_MAX) {
        if (--closed->n_active == 0)
            client_drain(client);
        return;
    }
    arrival.kind = (uint32_t)(closed->started++ % client->options->n_kinds);
    work_start(client, &arrival, &visitor->turn);
}

int closed_start(struct closed *closed, struct client *client)
{
    uint32_t n = client->options->closed, n_sources = client->options->sources.n;
    struct timeval left = client_time_left(client_clock_ns(), client->start_ns);

    *closed = (struct closed){.client = client, .n_active = n};
    closed->visitors = calloc(n, sizeof(*closed->visitors));
    if (!closed->visitors)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct visitor *visitor = &closed->visitors[i];

        visitor->closed = closed;
        visitor->source = n_sources ? i % n_sources : 0;
        evtimer_assign(&visitor->turn, client->base, on_turn, visitor);
        evtimer_add(&visitor->turn, &left);
    }
    return 0;
}

void closed_free(struct closed *closed)
{
    free(closed->visitors);
    *closed = (struct closed){0};
}
