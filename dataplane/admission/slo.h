/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast an error budget burns. An objective of 99.9 % leaves 0.1 % of the work to be bad; at a
 * burn rate of 1 that budget lasts exactly SLO_PERIOD_S (30 days), at 14.4 it is gone in 50 hours.
 * Rates are taken over pairs of windows, and a pair alarms while both exceed its threshold: the
 * long one says that it matters, the short one that it still goes on. Source: Beyer et al., "The
 * Site Reliability Workbook" (2018), chapter 5.
 *
 *   burn = (bad / total) / (1 - objective)
 *
 * Until a window has been filled once, what is missing counts as good work at the same rate, so
 * that the first mistake after a start does not look like a bad day.
 *
 * A window of length T is a ring of SLO_CELLS cells of T / SLO_CELLS, the one being filled
 * included: it reaches back between T - T / SLO_CELLS and T, exactly T at the end of a cell. Fed
 * with cumulative counts once a period; what is fed later than its cell (the shortest is 10 s)
 * counts in the cell of the feeding. Counts that went back start anew. Control thread only; 2.5 KiB
 * each.
 */
#ifndef SLUICE_ADMISSION_SLO_H
#define SLUICE_ADMISSION_SLO_H

#include <stdint.h>

#define SLO_CELLS    30u
#define SLO_PERIOD_S 2592000u /* 30 days */

enum slo_window { SLO_5M, SLO_30M, SLO_1H, SLO_6H, SLO_3D, SLO_WINDOWS };

/* The most pressing pair that alarms. */
enum slo_alert {
    SLO_QUIET,
    SLO_CREEPING, /* 6 h and 3 d above 1: 10 % of the budget in 3 days */
    SLO_BURNING,  /* 30 min and 6 h above 6: 5 % in 6 hours */
    SLO_BLAZING,  /* 5 min and 1 h above 14.4: 2 % in an hour */
};

/* Work whose end is known: `good` of `total`. */
struct slo_count {
    uint64_t good, total;
};

struct slo_ring {
    struct slo_count cells[SLO_CELLS]; /* what was counted in each; the newest at `cell` */
    struct slo_count sum;              /* of all cells */
    uint64_t cell;                     /* since the start of time, in cells */
};

struct slo {
    struct slo_ring rings[SLO_WINDOWS];
    struct slo_count last; /* cumulative, as fed */
    uint64_t start_ns;     /* of the first feeding */
    uint64_t now_ns;       /* of the last */
    uint32_t budget_ppm;   /* 10^6 - objective */
};

/* The two indicators. `unique` counts work, not tries, and only work whose end is known: running
 * work is neither good nor bad. A tenant's own quota refusals are the tenant's, not the service's.
 */
static inline struct slo_count slo_of_service(uint64_t unique, uint64_t quota_refused,
                                              uint64_t useful)
{
    return (struct slo_count){useful, unique > quota_refused ? unique - quota_refused : 0};
}

static inline struct slo_count slo_of_tenant(uint64_t unique, uint64_t useful)
{
    return (struct slo_count){useful, unique};
}

/* `objective_ppm` of the work shall be good, 0 .. 999999. `now` are the counts so far. */
void slo_init(struct slo *slo, uint32_t objective_ppm, struct slo_count now, uint64_t now_ns);

/* The cumulative counts at `now_ns`. A time before the last one is taken as the last one. */
void slo_feed(struct slo *slo, struct slo_count now, uint64_t now_ns);

/* Another objective; what was counted stays. */
void slo_set_objective(struct slo *slo, uint32_t objective_ppm);

/* Burn rate over a window that ends at the last feeding; 0 without work. */
double slo_burn(const struct slo *slo, enum slo_window window);

enum slo_alert slo_alert(const struct slo *slo);

const char *slo_window_name(enum slo_window window); /* "5m" */
const char *slo_alert_name(enum slo_alert alert);    /* "quiet" */

/* How much of `period_s` may be bad. */
static inline double slo_budget_s(uint32_t objective_ppm, uint64_t period_s)
{
    return (double)period_s * (1000000 - objective_ppm) / 1e6;
}

/* How long a full budget lasts at this burn rate (> 0). */
static inline double slo_dry_s(double burn)
{
    return SLO_PERIOD_S / burn;
}

#endif
