/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NS_PER_S UINT64_C(1000000000)

int results_init(struct results *results, uint64_t offered, uint64_t duration_ns,
                 uint64_t deadline_ns)
{
    *results = (struct results){.deadline_ns = deadline_ns, .duration_ns = duration_ns};
    results->n_seconds = (uint32_t)((duration_ns + NS_PER_S - 1) / NS_PER_S);
    results->seconds = calloc(results->n_seconds, sizeof(*results->seconds));
    results->answered.list = calloc(offered + 1, sizeof(struct latency));
    results->effective.list = calloc(offered + 1, sizeof(struct latency));
    results->refusal.list = calloc(offered + 1, sizeof(struct latency));
    if (!results->seconds || !results->answered.list || !results->effective.list ||
        !results->refusal.list) {
        results_free(results);
        return -ENOMEM;
    }
    return 0;
}

void results_free(struct results *results)
{
    free(results->seconds);
    free(results->answered.list);
    free(results->effective.list);
    free(results->refusal.list);
    *results = (struct results){0};
}

void results_sent(struct results *results, uint64_t intended_ns, uint64_t due_ns, uint64_t sent_ns)
{
    uint64_t lag_ns = sent_ns > due_ns ? sent_ns - due_ns : 0;

    results->seconds[intended_ns / NS_PER_S].attempts++;
    if (results->attempts++ == 0)
        results->first_sent_ns = sent_ns;
    results->last_sent_ns = sent_ns;
    if (lag_ns > results->lag_max_ns)
        results->lag_max_ns = lag_ns;
    /* From there on the generator shows in the result. */
    if (lag_ns > results->deadline_ns / 10)
        results->behind++;
}

void results_admitted(struct results *results, uint64_t intended_ns)
{
    results->admitted++;
    results->seconds[intended_ns / NS_PER_S].admitted++;
}

static void keep(struct latencies *latencies, const struct ending *ending, uint64_t ns)
{
    latencies->list[latencies->n++] =
        (struct latency){.ns = ns, .second = (uint32_t)(ending->intended_ns / NS_PER_S)};
}

void results_add(struct results *results, const struct ending *ending)
{
    struct second *second = &results->seconds[ending->intended_ns / NS_PER_S];
    bool has_deadline = ending->deadline_ns != UINT64_MAX;

    results->offered++;
    results->outcomes[ending->outcome]++;
    results->by_kind[ending->kind][ending->outcome]++;
    second->offered++;
    second->outcomes[ending->outcome]++;
    if (ending->outcome == OUTCOME_USEFUL || ending->outcome == OUTCOME_LATE)
        keep(&results->answered, ending, ending->latency_ns);
    switch (ending->outcome) {
    case OUTCOME_USEFUL:
        keep(&results->effective, ending, ending->latency_ns);
        break;
    case OUTCOME_LATE:
    case OUTCOME_UNFINISHED:
        keep(&results->effective, ending, has_deadline ? ending->deadline_ns : ending->latency_ns);
        break;
    case OUTCOME_NOT_SENT:
        break;
    default:
        keep(&results->refusal, ending, ending->latency_ns);
        break;
    }
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = ((const struct latency *)a)->ns, y = ((const struct latency *)b)->ns;

    return (x > y) - (x < y);
}

static int compare_by_second(const void *a, const void *b)
{
    uint32_t x = ((const struct latency *)a)->second, y = ((const struct latency *)b)->second;

    return x == y ? compare_ns(a, b) : (x > y) - (x < y);
}

static void sort(struct latencies *latencies, int (*compare)(const void *, const void *))
{
    qsort(latencies->list, latencies->n, sizeof(*latencies->list), compare);
}

static uint64_t percentile_or_none(const struct latencies *latencies, unsigned int percent)
{
    uint64_t ns;

    return results_percentile(latencies, percent, &ns) ? ns : LATENCY_NONE;
}

/* Those of one second, of a list in the order of seconds; *from moves behind them. */
static struct latencies take_second(const struct latencies *all, uint32_t second, uint64_t *from)
{
    struct latencies part = {.list = all->list + *from};

    while (*from < all->n && all->list[*from].second == second) {
        part.n++;
        ++*from;
    }
    return part;
}

void results_finish(struct results *results)
{
    uint64_t n_answered = 0, n_effective = 0;

    sort(&results->answered, compare_by_second);
    sort(&results->effective, compare_by_second);
    for (uint32_t s = 0; s < results->n_seconds; s++) {
        struct second *second = &results->seconds[s];
        struct latencies answered = take_second(&results->answered, s, &n_answered);
        struct latencies effective = take_second(&results->effective, s, &n_effective);

        second->p50_ns = percentile_or_none(&answered, 50);
        second->p99_ns = percentile_or_none(&answered, 99);
        second->eff_p95_ns = percentile_or_none(&effective, 95);
        second->eff_p99_ns = percentile_or_none(&effective, 99);
    }
    sort(&results->answered, compare_ns);
    sort(&results->effective, compare_ns);
    sort(&results->refusal, compare_ns);
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

uint64_t results_rank(uint64_t n, unsigned int percent)
{
    /* The default rounding of IEEE 754 is half to even. */
    return (uint64_t)nearbyint(percent / 100. * (double)(n - 1));
}

bool results_percentile(const struct latencies *latencies, unsigned int percent, uint64_t *ns)
{
    if (latencies->n == 0)
        return false;
    *ns = latencies->list[results_rank(latencies->n, percent)].ns;
    return true;
}

double results_sent_per_s(const struct results *results)
{
    uint64_t span_ns = results->last_sent_ns - results->first_sent_ns;

    if (results->attempts < 2 || span_ns == 0)
        return 0;
    return (double)(results->attempts - 1) * (double)NS_PER_S / (double)span_ns;
}
