/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/search.h"

enum finding search_judge(const struct results *results, unsigned int percentile)
{
    uint64_t useful = results->outcomes[OUTCOME_USEFUL], n = results->effective.n;

    if (results->outcomes[OUTCOME_NOT_SENT] || results->behind * 100 > results->attempts)
        return FINDING_GENERATOR;
    if (results_refused(results->outcomes) * 100 > results->offered)
        return FINDING_REFUSED;
    /* The percentile is one of the useful ones: they are the smallest. */
    return n && results_rank(n, percentile) < useful ? FINDING_HOLDS : FINDING_LATE;
}

uint64_t search_next(const struct search *search)
{
    uint64_t low = search->low, high = search->high;

    if (low == 0)
        return high ? 0 : search->min;
    if (high == 0) {
        if (low == search->max)
            return 0;
        return 2 * low < search->max ? 2 * low : search->max;
    }
    if (high - low <= 1 || (high - low) * 100 <= low * search->precision_percent)
        return 0;
    return low + (high - low) / 2;
}

void search_learn(struct search *search, uint64_t rate, enum finding finding)
{
    if (finding == FINDING_GENERATOR && ++search->fell_short < SEARCH_TRIES)
        return;
    search->fell_short = 0;
    if (finding == FINDING_HOLDS) {
        search->low = rate;
    } else {
        search->high = rate;
        search->limit = finding;
    }
}
