/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tenants of numbers 1 to 8 before a service of 64 slots: six with 80 % of an equal part, one that
 * asks twenty times as often, one that asks for ten times as much work. What each is served, in
 * parts of what is due to it, and how long the six stay. For cmocka tests, virtual time.
 */
#ifndef SLUICE_TESTS_FAIRNESS_H
#define SLUICE_TESTS_FAIRNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"

#define S 1000000000.0

static inline uint64_t exponential_ns(uint64_t *seed, double mean_s)
{
    return (uint64_t)(-log1p(-(double)(random_u64(seed) >> 11) / 9007199254740992.0) * mean_s * S);
}

static inline void assert_near(double value, double golden, double tolerance)
{
    if (fabs(value - golden) > tolerance * golden)
        fail_msg("%g is not within %g of %g", value, tolerance, golden);
}

#define TENANTS    8
#define SLOTS      64
#define SLOTS_EACH (SLOTS / TENANTS)
#define SECONDS    30
#define HISTOGRAM  4000 /* buckets of 0.1 ms */

enum { FLOODER = 7, HEAVY = 8 };

struct fairness {
    double demand_s[TENANTS + 1], served_s[TENANTS + 1]; /* slot-seconds */
    uint64_t victims[HISTOGRAM], n_victims;              /* stay of the six, from asking to done */
};

/* What comes next: after so long, whose, and how long it takes. In calm all eight are alike. */
struct fairness_work {
    uint64_t after_ns, takes_ns;
    uint32_t tenant;
};

static inline struct fairness_work fairness_next(struct fairness *f, bool calm, uint64_t *seed)
{
    const double each_s = .02, rate = .8 * SLOTS_EACH / each_s;
    const double flood = calm ? 1 : 20, weight = calm ? 1 : 10;
    struct fairness_work work = {.after_ns = exponential_ns(seed, 1 / (rate * (7 + flood)))};
    double who = (double)(random_u64(seed) >> 11) / 9007199254740992.0 * (7 + flood);

    work.tenant = who < 7 ? (uint32_t)who + 1 : FLOODER;
    if (who < 7 && work.tenant == FLOODER)
        work.tenant = HEAVY;
    work.takes_ns = exponential_ns(seed, work.tenant == HEAVY ? each_s * weight : each_s);
    f->demand_s[work.tenant] += (double)work.takes_ns / S;
    return work;
}

/* Work of a tenant has begun that takes so long, after a stay of so long altogether. */
static inline void fairness_note(struct fairness *f, uint32_t tenant, uint64_t takes_ns,
                                 uint64_t stay_ns)
{
    uint64_t bucket = stay_ns / 100000;

    f->served_s[tenant] += (double)takes_ns / S;
    if (tenant >= FLOODER)
        return;
    f->victims[bucket < HISTOGRAM ? bucket : HISTOGRAM - 1]++;
    f->n_victims++;
}

/* Jain's index of what each was served, in parts of what was due to it: what it asked for, and no
 * more than so many slots all the time. */
static inline double fairness_jain(const struct fairness *f, double slots_each)
{
    double sum = 0, squares = 0;

    print_message("# parts");
    for (unsigned i = 1; i <= TENANTS; i++) {
        double part = f->served_s[i] / fmin(f->demand_s[i], slots_each * SECONDS);

        sum += part;
        squares += part * part;
        print_message(" %.3f", part);
    }
    print_message("\n");
    return sum * sum / (TENANTS * squares);
}

static inline double fairness_p99_ms(const struct fairness *f)
{
    uint64_t above = 0;
    unsigned i = HISTOGRAM;

    while (above < f->n_victims / 100)
        above += f->victims[--i];
    return i / 10.0;
}

#endif
