/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of everything: the formulas that relate a service's capacity to its window, its waiting
 * places and its timeouts. What the live gateway estimates by itself is not here but in
 * dataplane/admission: Retry-After and instances in demand.h, error budgets in slo.h.
 *
 * Rates are per second, times in seconds, of unique work. `erlangs` is offered work, rate x service
 * time: by Little's law (Little 1961, "A proof for the queuing formula L = lambda W") also what is
 * in flight on average where nothing is refused. Arguments are finite and not negative. Pure
 * functions.
 */
#ifndef SLUICE_CONFIG_SIZING_H
#define SLUICE_CONFIG_SIZING_H

#include <stdint.h>

/* A whole number of things for `x` of them: ceil(x), where doubles make 3.0000000000000004 of 3. */
double sizing_whole(double x);

/*
 * Share of Poisson arrivals that finds all `lines` taken, when nobody waits (Erlang 1917), whatever
 * the distribution of the service times. By the recursion
 *   B(0) = 1, B(n) = erlangs B(n - 1) / (n + erlangs B(n - 1)).
 */
double sizing_erlang_b(double erlangs, uint32_t lines);

/* The fewest lines with sizing_erlang_b() <= `blocked`, which is in (0, 1]. */
uint32_t sizing_lines(double erlangs, double blocked);

/* What is offered to a service, and what it has for it. */
struct sizing_load {
    double rate_per_s;
    double service_s; /* > 0, on average, of one piece of work in one slot */
    uint32_t slots;   /* >= 1 */
};

/* rho: the part of the slots that the offered work would keep busy; may be above 1. */
static inline double sizing_utilisation(const struct sizing_load *load)
{
    return load->rate_per_s * load->service_s / load->slots;
}

/*
 * Mean wait for a slot in an unbounded queue; infinite at a utilisation of 1 and more. The spread
 * is the coefficient of variation: the standard deviation over the mean, of the gaps between
 * arrivals and of the service times.
 *   C(slots) service / (slots (1 - rho)) x (arrivals^2 + services^2) / 2,
 *   C = B / (1 - rho (1 - B)): the share that waits (Erlang C).
 * One slot: rho / (1 - rho) x (...) / 2 x service, a bound (Kingman 1961, "The single server queue
 * in heavy traffic"), exact for Poisson arrivals: M/M/1 with (1, 1), M/D/1 with (1, 0). More slots:
 * exact for M/M/c, else an approximation (Allen 1978, after Cunneen).
 */
struct sizing_spread {
    double arrivals, services; /* 0: regular, 1: exponential */
};
double sizing_wait_s(const struct sizing_load *load, struct sizing_spread spread);

/*
 * A bounded queue of `places` before the slots, Poisson arrivals and exponential service times:
 * M/M/c/K with K = slots + places (Kleinrock 1975, "Queueing Systems" I, chapter 3).
 */
struct sizing_bounded {
    double refused; /* share of the arrivals that finds no place */
    double wait_s;  /* mean, of those that are admitted */
};
struct sizing_bounded sizing_bounded(const struct sizing_load *load, uint32_t places);

/* How long a backlog takes to be gone, backlog / (capacity - rate); infinite at a rate of
 * `capacity_per_s` and more. */
double sizing_drain_s(double backlog, double capacity_per_s, double rate_per_s);

/*
 * Slots that let `capacity_per_s` through when each piece of work holds one for `held_s` (Little),
 * and so the longest that it may be held on average in a full window.
 */
static inline double sizing_window(double capacity_per_s, double held_s)
{
    return capacity_per_s * held_s;
}
static inline double sizing_held_s(double window, double capacity_per_s)
{
    return window / capacity_per_s;
}

/* Of a connection: from its SYN to the request, and from the end of the reply to the last FIN. */
#define SIZING_CONNECTION_TRIPS 2

/* How long the last of `places` waits, first come, first served. */
static inline double sizing_last_wait_s(double places, double capacity_per_s)
{
    return places / capacity_per_s;
}

/* The most places of which the last waits for less than `age_s`: one less than capacity x age
 * where that is a whole number. */
double sizing_places(double capacity_per_s, double age_s);

/*
 * Slots that a share `lost` of the work holds although it has ended (a peer that vanished, a FIN
 * or reply that was lost), for the idle timeout: lost x rate x idle (Little). Of a window at most
 * SIZING_LEAK_MAX should be held so: the timeout with which it is, infinite where nothing is lost.
 */
#define SIZING_LEAK_MAX .05

static inline double sizing_leaked_slots(double rate_per_s, double lost, double idle_s)
{
    return lost * rate_per_s * idle_s;
}
static inline double sizing_idle_s(double window, double rate_per_s, double lost)
{
    return SIZING_LEAK_MAX * window / (lost * rate_per_s);
}

/* No idle timeout shorter than that: TCP sends a lost packet again after a second (RFC 6298). */
#define SIZING_IDLE_MIN_S 1

#endif
