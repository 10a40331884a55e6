/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The highest rate at which a service keeps its promise. A trial offers one rate for a while, and
 * holds when all of this is true of it:
 *   - this percentile of effective latency is that of useful work: it meets the deadline,
 *   - at most 1 % of what was offered was refused,
 *   - the generator did its part: all was sent, and not behind its schedule.
 * The rate is doubled from the lowest until a trial fails, and the bracket that leaves is halved
 * until it is as narrow as asked for. A trial in which the generator fell short says nothing of the
 * service: its rate is offered again, and fails when the generator fell short SEARCH_TRIES times.
 * The order of trials depends on their outcomes only.
 */
#ifndef SLUICE_LOAD_SEARCH_H
#define SLUICE_LOAD_SEARCH_H

#include <stdint.h>

#include "tools/load/results.h"

enum finding { FINDING_HOLDS, FINDING_LATE, FINDING_REFUSED, FINDING_GENERATOR };

/* What a finished trial says; the generator's shortcomings first, then refusals. */
enum finding search_judge(const struct results *results, unsigned int percentile);

/* Trials of one rate that may say FINDING_GENERATOR before it counts as failed. */
#define SEARCH_TRIES 3u

/* Between which rates the answer lies: `low` holds, `high` fails, 0 while that is not known. */
struct search {
    uint64_t min, max, low, high;
    enum finding limit;         /* why `high` fails */
    uint32_t precision_percent; /* of the rate, above 0 */
    uint32_t fell_short; /* trials of the next rate that said FINDING_GENERATOR; 0 at first */
};

/* The rate of the next trial; 0: `low` is the answer, or even `min` fails. */
uint64_t search_next(const struct search *search);
/* `rate` is what search_next() said. */
void search_learn(struct search *search, uint64_t rate, enum finding finding);

#endif
