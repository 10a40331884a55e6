/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/results.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S UINT64_C(1000000000)

int results_init(struct results *results, uint64_t offered, uint64_t duration_ns,
                 uint64_t deadline_ns)
{
    *results = (struct results){.deadline_ns = deadline_ns, .duration_ns = duration_ns};
    results->n_seconds = (uint32_t)((duration_ns + NS_PER_S - 1) / NS_PER_S);
    results->seconds = calloc(results->n_seconds, sizeof(*results->seconds));
    results->answered.ns = calloc(offered + 1, sizeof(uint64_t));
    results->effective.ns = calloc(offered + 1, sizeof(uint64_t));
    results->refusal.ns = calloc(offered + 1, sizeof(uint64_t));
    if (!results->seconds || !results->answered.ns || !results->effective.ns ||
        !results->refusal.ns) {
        results_free(results);
        return -ENOMEM;
    }
    return 0;
}

void results_free(struct results *results)
{
    free(results->seconds);
    free(results->answered.ns);
    free(results->effective.ns);
    free(results->refusal.ns);
    *results = (struct results){0};
}

void results_sent(struct results *results, uint64_t due_ns, uint64_t sent_ns)
{
    uint64_t lag_ns = sent_ns > due_ns ? sent_ns - due_ns : 0;

    if (results->attempts++ == 0)
        results->first_sent_ns = sent_ns;
    results->last_sent_ns = sent_ns;
    if (lag_ns > results->lag_max_ns)
        results->lag_max_ns = lag_ns;
    /* From there on the generator shows in the result. */
    if (lag_ns > results->deadline_ns / 10)
        results->behind++;
}

static void keep(struct latencies *latencies, uint64_t ns)
{
    latencies->ns[latencies->n++] = ns;
}

void results_add(struct results *results, enum outcome outcome, uint64_t intended_ns,
                 uint64_t latency_ns)
{
    struct second *second = &results->seconds[intended_ns / NS_PER_S];

    results->offered++;
    results->outcomes[outcome]++;
    second->offered++;
    second->outcomes[outcome]++;
    if (outcome == OUTCOME_USEFUL || outcome == OUTCOME_LATE)
        keep(&results->answered, latency_ns);
    switch (outcome) {
    case OUTCOME_USEFUL:
        keep(&results->effective, latency_ns);
        break;
    case OUTCOME_LATE:
    case OUTCOME_UNFINISHED:
        keep(&results->effective, results->deadline_ns);
        break;
    case OUTCOME_NOT_SENT:
        break;
    default:
        keep(&results->refusal, latency_ns);
        break;
    }
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void results_finish(struct results *results)
{
    qsort(results->answered.ns, results->answered.n, sizeof(uint64_t), compare_ns);
    qsort(results->effective.ns, results->effective.n, sizeof(uint64_t), compare_ns);
    qsort(results->refusal.ns, results->refusal.n, sizeof(uint64_t), compare_ns);
}

bool outcome_is_refusal(enum outcome outcome)
{
    return outcome >= OUTCOME_REFUSED_RST && outcome <= OUTCOME_REFUSED_OTHER;
}

uint64_t results_refused(const uint64_t outcomes[OUTCOME_COUNT])
{
    uint64_t sum = 0;

    for (int i = OUTCOME_REFUSED_RST; i <= OUTCOME_REFUSED_OTHER; i++)
        sum += outcomes[i];
    return sum;
}

bool results_percentile(const struct latencies *latencies, unsigned int percent, uint64_t *ns)
{
    if (latencies->n == 0)
        return false;
    *ns = latencies->ns[(latencies->n * percent + 99) / 100 - 1];
    return true;
}

double results_sent_per_s(const struct results *results)
{
    uint64_t span_ns = results->last_sent_ns - results->first_sent_ns;

    if (results->attempts < 2 || span_ns == 0)
        return 0;
    return (double)(results->attempts - 1) * (double)NS_PER_S / (double)span_ns;
}
