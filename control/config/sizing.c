/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/sizing.h"

#include <math.h>

/* Far above what rounding does to a product of three, far below what anybody states. */
#define ROUNDING 1e-12

double sizing_whole(double x)
{
    return ceil(x * (1 - ROUNDING));
}

static double one_more(double erlangs, double blocked, uint32_t lines)
{
    return erlangs * blocked / (lines + erlangs * blocked);
}

double sizing_erlang_b(double erlangs, uint32_t lines)
{
    double blocked = 1;

    for (uint32_t n = 1; n <= lines; n++)
        blocked = one_more(erlangs, blocked, n);
    return blocked;
}

uint32_t sizing_lines(double erlangs, double blocked)
{
    double now = 1;
    uint32_t n = 0;

    while (now > blocked)
        now = one_more(erlangs, now, ++n);
    return n;
}

double sizing_wait_s(const struct sizing_load *load, struct sizing_spread spread)
{
    double rho = sizing_utilisation(load);
    double variation = spread.arrivals * spread.arrivals + spread.services * spread.services;
    double blocked, waits;

    if (rho >= 1)
        return INFINITY;
    blocked = sizing_erlang_b(load->rate_per_s * load->service_s, load->slots);
    waits = blocked / (1 - rho * (1 - blocked));
    return waits * load->service_s / (load->slots * (1 - rho)) * variation / 2;
}

/* The states from 0 up to a number of waiting ones, one more at a time: the last one's share of
 * them, and the mean number that waits. */
struct sizing_bounded sizing_bounded(const struct sizing_load *load, uint32_t places)
{
    double rho = sizing_utilisation(load);
    double last = sizing_erlang_b(load->rate_per_s * load->service_s, load->slots);
    double waiting = 0, admitted_per_s;

    for (uint32_t n = 1; n <= places; n++) {
        last = rho * last / (1 + rho * last);
        waiting += (n - waiting) * last;
    }
    admitted_per_s = load->rate_per_s * (1 - last);
    return (struct sizing_bounded){last, admitted_per_s > 0 ? waiting / admitted_per_s : 0};
}

double sizing_drain_s(double backlog, double capacity_per_s, double rate_per_s)
{
    return rate_per_s < capacity_per_s ? backlog / (capacity_per_s - rate_per_s) : INFINITY;
}

double sizing_places(double capacity_per_s, double age_s)
{
    double places = sizing_whole(capacity_per_s * age_s) - 1;

    return places > 0 ? places : 0;
}
