/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/load/random.h"

static uint64_t fill_even(const struct schedule_request *request, struct arrival *arrivals,
                          uint64_t max)
{
    uint64_t n = 0;

    /* Whole periods and the rest apart: no product leaves 64 bits, no rounding adds up. */
    for (; n < max; n++) {
        uint64_t at = n / request->count * request->period_ns +
                      n % request->count * request->period_ns / request->count;

        if (at >= request->duration_ns)
            break;
        arrivals[n].at_ns = at;
    }
    return n;
}

static uint64_t fill_poisson(const struct schedule_request *request, struct arrival *arrivals,
                             uint64_t max)
{
    double mean_ns = (double)request->period_ns / (double)request->count;
    uint64_t state = request->seed, n = 0;
    double at = 0;

    for (; n < max; n++) {
        at -= log(random_positive(&state)) * mean_ns;
        if (at >= (double)request->duration_ns)
            break;
        arrivals[n].at_ns = (uint64_t)at;
    }
    return n;
}

/* The sources in turn, and for each of them the kinds: two and two are four pairs, not two. */
static void take_turns(const struct schedule_request *request, struct arrival *arrivals, uint64_t n)
{
    uint32_t n_sources = request->n_sources ? request->n_sources : 1;

    for (uint64_t i = 0; i < n; i++) {
        arrivals[i].source = (uint32_t)(i % n_sources);
        arrivals[i].kind = (uint32_t)(i / n_sources % request->n_kinds);
    }
}

int schedule_make(const struct schedule_request *request, struct schedule *out)
{
    double expected =
        (double)request->duration_ns / (double)request->period_ns * (double)request->count;
    uint64_t room, n;
    struct arrival *arrivals;

    if (expected > (double)SCHEDULE_REQUESTS_MAX)
        return -E2BIG;
    /* Ten standard deviations above the mean hold every Poisson draw that will ever be seen. */
    room = (uint64_t)(expected + 10 * sqrt(expected)) + 16;
    arrivals = calloc(room, sizeof(*arrivals));
    if (!arrivals)
        return -ENOMEM;
    n = request->poisson ? fill_poisson(request, arrivals, room)
                         : fill_even(request, arrivals, room);
    take_turns(request, arrivals, n);
    *out = (struct schedule){.n = n, .arrivals = arrivals};
    return 0;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->arrivals);
    *schedule = (struct schedule){0};
}
