/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked for beyond what is served: when to come again, how many instances would do, and
 * what waits where nobody sees it. Pure formulas of the control thread, but for demand_retry_*_s(),
 * which anyone may call for a refusal (they divide: not for packets that pass).
 *
 * Rates are per second, of unique work (not of tries at it), times in the unit of the name.
 */
#ifndef SLUICE_ADMISSION_DEMAND_H
#define SLUICE_ADMISSION_DEMAND_H

#include <stdint.h>

#define DEMAND_RETRY_MIN_S 1u
#define DEMAND_RETRY_MAX_S 60u

/* An instance is planned for 85 % of its slots at 1.3 times the demand. */
#define DEMAND_UTILISATION (.85 / 1.3)

/* Retry-After of a quota: `wait_ns` until a token is there (bucket_wait_ns(), UINT64_MAX: never),
 * rounded up, DEMAND_RETRY_MIN_S .. DEMAND_RETRY_MAX_S. */
uint32_t demand_retry_quota_s(uint64_t wait_ns);

/* A backlog and what becomes of it. */
struct demand {
    double backlog;        /* work that waits inside (queue) and outside (demand_backlog) */
    double capacity_per_s; /* what the service completes when it is full; 0: not known */
    double arrival_per_s;  /* unique work that comes anew */
};

/*
 * Retry-After of a full service: the time until the backlog is gone,
 *   ceil(backlog / max(capacity - arrivals, capacity / 10)),
 * DEMAND_RETRY_MIN_S .. DEMAND_RETRY_MAX_S. With capacity unknown the minimum.
 */
uint32_t demand_retry_capacity_s(const struct demand *demand);

/* Spreads clients that were told the same: up to 50 % later, by 32 bits of the attempt's hash. */
static inline uint32_t demand_jitter_s(uint32_t retry_s, uint32_t hash)
{
    return retry_s + (uint32_t)((uint64_t)retry_s * hash >> 33);
}

/*
 * Instances for `useful_per_s` pieces of work of `service_s` slot-seconds each, with `slots` slots
 * an instance, of which `utilisation` (0 .. 1] shall be busy:
 *   n = ceil(useful * service / (slots * utilisation)).
 * Useful is what was admitted and what was refused for want of capacity while it would still have
 * been in time; neither quota refusals nor retries count. 0 where any of them is 0.
 */
uint32_t demand_instances(double useful_per_s, double service_s, uint32_t slots,
                          double utilisation);

/*
 * Work that is in flight but not in service: it waits in a queue of the backend that nobody sees.
 * By Little's law `throughput_per_s` keeps throughput * fastest service time busy; what is in
 * flight above that waits. Not below 0.
 */
double demand_hidden(double in_flight, double throughput_per_s, uint64_t fastest_ns);

/*
 * Refused unique work whose deadline has not passed and that was not served since: the backlog
 * outside. Refusals and later successes are counted in cells of 1/DEMAND_CELLS of the deadline; the
 * sum reaches back between the deadline and DEMAND_CELLS + 1 cells. One writer, no other reader.
 */
#define DEMAND_CELLS       16u
#define DEMAND_PATIENCE_NS 10000000000ull

struct demand_backlog {
    int64_t cells[DEMAND_CELLS + 1]; /* refused - served since; the newest at `cell` */
    int64_t sum;                     /* of all cells */
    uint64_t cell;                   /* since the start of time, in cells */
    uint64_t cell_ns;
    uint64_t refused, served; /* cumulative, as fed */
};

/*
 * Once a period. Cumulative: `refused` unique pieces of work were refused for want of capacity,
 * `served` were admitted after they had been refused so. Without a deadline (0) work is taken as
 * useful for DEMAND_PATIENCE_NS. The first feeding, and the first with another deadline, starts
 * from nothing.
 */
void demand_backlog_feed(struct demand_backlog *backlog, uint64_t refused, uint64_t served,
                         uint64_t deadline_ns, uint64_t now_ns);

/* Pieces of work; not below 0. */
double demand_backlog(const struct demand_backlog *backlog);

/* The rate of demand that found no room and was not served until its deadline, per second. */
double demand_unmet_per_s(const struct demand_backlog *backlog);

#endif
