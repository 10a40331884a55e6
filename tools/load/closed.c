/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/closed.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "tools/load/work.h"

#define NS_PER_S 1e9

struct loop {
    const struct scenario_arrivals *arrivals; /* NULL: the options say all */
    struct source_range sources;
    uint32_t clients;
    uint64_t start_ns, stop_ns;
    uint64_t count; /* pieces of work, at most */
    uint64_t started;
};

struct visitor {
    struct event turn; /* its next piece of work */
    struct closed *closed;
    struct loop *loop;
    uint32_t source;
    bool thought; /* since its last piece of work */
};

/* Kinds of the options take turns, those of a scenario are drawn. */
static uint32_t next_kind(struct client *client, const struct loop *loop)
{
    const struct load_options *options = client->options;

    return loop->arrivals ? draw_kind(&client->draws, options->scenario, loop->arrivals)
                          : (uint32_t)(loop->started % options->n_kinds);
}

/* Between two pieces of work a client of a scenario takes its time. */
static bool thinks(struct visitor *visitor)
{
    const struct loop *loop = visitor->loop;
    struct client *client = visitor->closed->client;
    struct timeval left;
    double think_s;

    if (visitor->thought || !loop->arrivals) {
        visitor->thought = false;
        return false;
    }
    visitor->thought = true;
    think_s = draw_time_s(&client->draws, &loop->arrivals->think, loop->started);
    left = client_time_left(0, (uint64_t)(think_s * NS_PER_S));
    evtimer_add(&visitor->turn, &left);
    return true;
}

static void on_turn(int fd, short what, void *arg)
{
    struct visitor *visitor = arg;
    struct loop *loop = visitor->loop;
    struct client *client = visitor->closed->client;
    struct arrival arrival = {.source = visitor->source};

    (void)fd;
    (void)what;
    if (thinks(visitor))
        return;
    arrival.at_ns = client_run_ns(client);
    if (arrival.at_ns >= loop->stop_ns || loop->started == loop->count ||
        visitor->closed->started == SCHEDULE_REQUESTS_MAX) {
        client_producer_ends(client);
        return;
    }
    arrival.kind = next_kind(client, loop);
    loop->started++;
    visitor->closed->started++;
    work_start(client, &arrival, &visitor->turn);
}

static void plan_loops(struct closed *closed)
{
    const struct load_options *options = closed->client->options;
    const struct scenario *scenario = options->scenario;

    if (!scenario && options->closed)
        closed->loops[closed->n_loops++] = (struct loop){.sources = {0, options->sources.n},
                                                         .clients = options->closed,
                                                         .stop_ns = options->schedule.duration_ns,
                                                         .count = UINT64_MAX};
    for (uint32_t i = 0; scenario && i < scenario->n_arrivals; i++) {
        const struct scenario_arrivals *arrivals = &scenario->arrivals[i];

        if (arrivals->shape != ARRIVE_CLOSED)
            continue;
        closed->loops[closed->n_loops++] =
            (struct loop){.arrivals = arrivals,
                          .sources = options->ranges[i],
                          .clients = arrivals->clients,
                          .start_ns = (uint64_t)(arrivals->start_s * NS_PER_S),
                          .stop_ns = (uint64_t)(arrivals->stop_s * NS_PER_S),
                          .count = arrivals->count ? arrivals->count : UINT64_MAX};
    }
}

static void invite(struct closed *closed, struct loop *loop, struct visitor *visitors)
{
    struct client *client = closed->client;
    struct timeval left = client_time_left(client_clock_ns(), client->start_ns + loop->start_ns);

    for (uint32_t i = 0; i < loop->clients; i++) {
        struct visitor *visitor = &visitors[i];

        *visitor = (struct visitor){.closed = closed, .loop = loop, .thought = true};
        visitor->source = loop->sources.n ? loop->sources.first + i % loop->sources.n : UINT32_MAX;
        evtimer_assign(&visitor->turn, client->base, on_turn, visitor);
        evtimer_add(&visitor->turn, &left);
    }
    client->n_producers += loop->clients;
}

int closed_start(struct closed *closed, struct client *client)
{
    uint32_t n = 0;

    *closed = (struct closed){.client = client};
    closed->loops = calloc(SCENARIO_ARRIVALS_MAX, sizeof(*closed->loops));
    closed->visitors = calloc((size_t)client->options->closed + 1, sizeof(*closed->visitors));
    if (!closed->loops || !closed->visitors)
        return -ENOMEM;
    plan_loops(closed);
    for (uint32_t i = 0; i < closed->n_loops; i++) {
        invite(closed, &closed->loops[i], closed->visitors + n);
        n += closed->loops[i].clients;
    }
    return 0;
}

void closed_free(struct closed *closed)
{
    free(closed->loops);
    free(closed->visitors);
    *closed = (struct closed){0};
}
