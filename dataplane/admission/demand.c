/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "dataplane/admission/demand.h"

#define NS_PER_S 1000000000ull
#define RING     (DEMAND_CELLS + 1)

/* A product of decimal fractions misses a whole number by some 10^-16 of it: that is no reason for
 * a whole instance or second more. */
#define CEIL_SLACK 1e-9

/* The whole number at or above x, at most `most`. */
static uint32_t ceil_to(double x, uint32_t most)
{
    uint32_t whole;

    x -= x * CEIL_SLACK;
    if (!(x > 0))
        return 0;
    if (x >= most)
        return most;
    whole = (uint32_t)x;
    return whole + (whole < x);
}

static uint32_t retry_s(uint32_t s)
{
    return s < DEMAND_RETRY_MIN_S ? DEMAND_RETRY_MIN_S : s;
}

uint32_t demand_retry_quota_s(uint64_t wait_ns)
{
    if (wait_ns > DEMAND_RETRY_MAX_S * NS_PER_S)
        return DEMAND_RETRY_MAX_S;
    return retry_s((uint32_t)((wait_ns + NS_PER_S - 1) / NS_PER_S));
}

uint32_t demand_retry_capacity_s(const struct demand *demand)
{
    double spare_per_s = demand->capacity_per_s - demand->arrival_per_s;

    if (!(demand->capacity_per_s > 0))
        return DEMAND_RETRY_MIN_S;
    if (spare_per_s < demand->capacity_per_s / 10)
        spare_per_s = demand->capacity_per_s / 10;
    return retry_s(ceil_to(demand->backlog / spare_per_s, DEMAND_RETRY_MAX_S));
}

uint32_t demand_instances(double useful_per_s, double service_s, uint32_t slots, double utilisation)
{
    if (slots == 0 || !(utilisation > 0))
        return 0;
    return ceil_to(useful_per_s * service_s / (slots * utilisation), UINT32_MAX);
}

double demand_hidden(double in_flight, double throughput_per_s, uint64_t fastest_ns)
{
    double hidden = in_flight - throughput_per_s * ((double)fastest_ns / NS_PER_S);

    return hidden > 0 ? hidden : 0;
}

static void backlog_restart(struct demand_backlog *b, uint64_t refused, uint64_t served,
                            uint64_t cell_ns)
{
    memset(b, 0, sizeof(*b));
    b->cell_ns = cell_ns;
    b->refused = refused;
    b->served = served;
}

void demand_backlog_feed(struct demand_backlog *b, uint64_t refused, uint64_t served,
                         uint64_t deadline_ns, uint64_t now_ns)
{
    uint64_t useful_ns = deadline_ns ? deadline_ns : DEMAND_PATIENCE_NS;
    uint64_t cell_ns = (useful_ns + DEMAND_CELLS - 1) / DEMAND_CELLS, cell, steps;
    int64_t more;

    if (cell_ns != b->cell_ns)
        backlog_restart(b, refused, served, cell_ns);
    cell = now_ns / cell_ns;
    steps = cell > b->cell ? cell - b->cell : 0;
    if (steps > RING) {
        b->cell = cell - RING;
        steps = RING;
    }
    while (steps--) {
        int64_t *oldest = &b->cells[++b->cell % RING];

        b->sum -= *oldest;
        *oldest = 0;
    }
    more = (int64_t)(refused - b->refused) - (int64_t)(served - b->served);
    b->cells[b->cell % RING] += more;
    b->sum += more;
    b->refused = refused;
    b->served = served;
}

double demand_backlog(const struct demand_backlog *b)
{
    return b->sum > 0 ? (double)b->sum : 0;
}

double demand_unmet_per_s(const struct demand_backlog *b)
{
    double window_s = (double)b->cell_ns * DEMAND_CELLS / NS_PER_S;

    return b->cell_ns ? demand_backlog(b) / window_s : 0;
}
