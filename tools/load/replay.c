/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/scenario/draw.h"

#define ROOM_FIRST 1024u

/* The next of some arrivals. */
struct pending {
    double at_s;
    uint64_t n;     /* how many have come */
    uint64_t order; /* of two at the same time the one that was drawn first comes first */
};

struct replay {
    const struct load_options *options;
    struct random_state draws;
    uint64_t n_drawn;
    struct pending pending[SCENARIO_ARRIVALS_MAX];
    uint64_t room;
    struct schedule schedule;
};

static void draw_next(struct replay *replay, uint32_t i, double from_s)
{
    const struct scenario *scenario = replay->options->scenario;
    struct pending *pending = &replay->pending[i];

    pending->at_s = draw_next_arrival_s(&replay->draws, &scenario->arrivals[i], from_s, pending->n);
    if (pending->at_s >= scenario->duration_s)
        pending->at_s = INFINITY;
    pending->order = replay->n_drawn++;
}

/* Index of the arrivals whose next comes first. */
static uint32_t earliest(const struct replay *replay)
{
    const struct pending *pending = replay->pending;
    uint32_t first = 0;

    for (uint32_t i = 1; i < replay->options->scenario->n_arrivals; i++)
        if (pending[i].at_s < pending[first].at_s ||
            (pending[i].at_s <= pending[first].at_s && pending[i].order < pending[first].order))
            first = i;
    return first;
}

static int make_room(struct replay *replay)
{
    uint64_t room = replay->room ? 2 * replay->room : ROOM_FIRST;
    struct arrival *grown;

    if (replay->schedule.n < replay->room)
        return 0;
    if (replay->schedule.n == SCHEDULE_REQUESTS_MAX)
        return -E2BIG;
    if (room > SCHEDULE_REQUESTS_MAX)
        room = SCHEDULE_REQUESTS_MAX;
    grown = realloc(replay->schedule.arrivals, room * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    replay->schedule.arrivals = grown;
    replay->room = room;
    return 0;
}

static struct arrival arrive(struct replay *replay, uint32_t i)
{
    const struct load_options *options = replay->options;
    const struct scenario_arrivals *arrivals = &options->scenario->arrivals[i];
    const struct source_range *range = &options->ranges[i];
    struct pending *pending = &replay->pending[i];
    uint64_t n = pending->n++;
    double at_s = pending->at_s;
    struct arrival arrival = {.at_ns = schedule_ns(at_s, options->schedule.duration_ns)};

    arrival.source = range->n ? range->first + (uint32_t)(n % range->n) : UINT32_MAX;
    /* In the simulator's order: the next arrival, then this one's kind. */
    draw_next(replay, i, at_s);
    arrival.kind = draw_kind(&replay->draws, options->scenario, arrivals);
    return arrival;
}

int replay_make(const struct load_options *options, struct schedule *out)
{
    const struct scenario *scenario = options->scenario;
    struct replay replay = {.options = options};
    uint32_t i;
    int error = 0;

    random_seed(&replay.draws, options->schedule.seed);
    for (i = 0; i < scenario->n_arrivals; i++) {
        replay.pending[i].at_s = INFINITY;
        if (scenario->arrivals[i].shape != ARRIVE_CLOSED)
            draw_next(&replay, i, scenario->arrivals[i].start_s);
    }
    while (i = earliest(&replay), !error && replay.pending[i].at_s < INFINITY) {
        error = make_room(&replay);
        if (!error)
            replay.schedule.arrivals[replay.schedule.n++] = arrive(&replay, i);
    }
    if (error)
        schedule_free(&replay.schedule);
    *out = replay.schedule;
    return error;
}
