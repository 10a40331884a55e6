/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014): small, and good enough to space requests. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in (0, 1]: its logarithm is finite. */
static double next_uniform(uint64_t *state)
{
    return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

static uint64_t fill_even(const struct schedule_request *request, uint64_t *at_ns, uint64_t max)
{
    uint64_t n = 0;

    /* Whole periods and the rest apart: no product leaves 64 bits, no rounding adds up. */
    for (; n < max; n++) {
        uint64_t at = n / request->count * request->period_ns +
                      n % request->count * request->period_ns / request->count;

        if (at >= request->duration_ns)
            break;
        at_ns[n] = at;
    }
    return n;
}

static uint64_t fill_poisson(const struct schedule_request *request, uint64_t *at_ns, uint64_t max)
{
    double mean_ns = (double)request->period_ns / (double)request->count;
    uint64_t state = request->seed, n = 0;
    double at = 0;

    for (; n < max; n++) {
        at -= log(next_uniform(&state)) * mean_ns;
        if (at >= (double)request->duration_ns)
            break;
        at_ns[n] = (uint64_t)at;
    }
    return n;
}

int schedule_make(const struct schedule_request *request, struct schedule *out)
{
    double expected =
        (double)request->duration_ns / (double)request->period_ns * (double)request->count;
    uint64_t room, n;
    uint64_t *at_ns;

    if (expected > (double)SCHEDULE_REQUESTS_MAX)
        return -E2BIG;
    /* Ten standard deviations above the mean hold every Poisson draw that will ever be seen. */
    room = (uint64_t)(expected + 10 * sqrt(expected)) + 16;
    at_ns = calloc(room, sizeof(*at_ns));
    if (!at_ns)
        return -ENOMEM;
    n = request->poisson ? fill_poisson(request, at_ns, room) : fill_even(request, at_ns, room);
    *out = (struct schedule){.n = n, .at_ns = at_ns};
    return 0;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->at_ns);
    *schedule = (struct schedule){0};
}
