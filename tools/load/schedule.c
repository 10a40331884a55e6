/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/scenario/draw.h"

#define NS_PER_S 1e9

uint64_t schedule_ns(double at_s, uint64_t duration_ns)
{
    uint64_t at_ns = (uint64_t)(at_s * NS_PER_S + 0.5);

    return at_ns < duration_ns ? at_ns : duration_ns - 1;
}

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

/* As a scenario of this rate does it, to the nanosecond; see replay.c. */
static uint64_t fill_poisson(const struct schedule_request *request, struct arrival *arrivals,
                             uint64_t max)
{
    double rate_per_s = (double)request->count / ((double)request->period_ns / NS_PER_S);
    double at_s = 0;
    struct random_state draws;
    uint64_t n = 0;

    random_seed(&draws, request->seed);
    for (; n < max; n++) {
        at_s += random_exponential(&draws, rate_per_s);
        if (at_s >= (double)request->duration_ns / NS_PER_S)
            break;
        arrivals[n].at_ns = schedule_ns(at_s, request->duration_ns);
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
