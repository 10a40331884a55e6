/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tools/load/client.h"
#include "tools/load/parse.h"
#include "tools/load/schedule.h"
#include "tools/load/search.h"
#include "tools/load/sender.h"

#define NS_PER_MS 1e6
#define NS_PER_S  UINT64_C(1000000000)
/* How long a service may take to come back to itself: a gateway may shed the same clients for a
 * minute. */
#define RECOVERY_MAX_NS (120 * NS_PER_S)
/* Between probes of a service that does not answer them in time. */
#define PROBE_PAUSE_NS (NS_PER_S / 10)
/* A gateway that sheds lets one through now and then. */
#define PROBES_IN_A_ROW 10u

static const char *const finding_names[] = {
    [FINDING_HOLDS] = "holds",
    [FINDING_LATE] = "late",
    [FINDING_REFUSED] = "refused",
    [FINDING_GENERATOR] = "generator",
};

/* Offers a schedule; the results are finished, and the caller's to free, when it returns 0. */
static int offer(const struct load_options *options, const struct schedule *schedule,
                 struct results *results)
{
    int not_sent_errno, error;

    error = results_init(results, schedule->n, options->schedule.duration_ns, options->deadline_ns);
    if (error)
        return error;
    error = sender_run(options, schedule, results, &not_sent_errno);
    if (error)
        results_free(results);
    else
        results_finish(results);
    return error;
}

static int try_rate(const struct load_options *options, uint64_t rate, struct results *results)
{
    struct schedule_request request = options->schedule;
    struct schedule schedule;
    int error;

    request.count = rate;
    request.period_ns = options->find.period_ns;
    error = schedule_make(&request, &schedule);
    if (error)
        return error;
    error = offer(options, &schedule, results);
    schedule_free(&schedule);
    return error;
}

/*
 * What clients have given up on may still stand in the service's queue. Requests that are alone and
 * still answered in time, one after the other, have none of that before them. 1: there were none.
 */
static int wait_until_alone(const struct load_options *options)
{
    const struct timespec pause = {.tv_nsec = PROBE_PAUSE_NS};
    uint64_t until_ns = client_clock_ns() + RECOVERY_MAX_NS;
    uint32_t n_sources = options->sources.n ? options->sources.n : 1;
    struct arrival arrival = {0};
    const struct schedule schedule = {.n = 1, .arrivals = &arrival};
    unsigned int in_a_row = 0;
    struct results results;
    int error;

    for (uint32_t i = 0; client_clock_ns() < until_ns; i++) {
        arrival.source = i % n_sources;
        error = offer(options, &schedule, &results);
        if (error)
            return error;
        in_a_row = results.outcomes[OUTCOME_USEFUL] ? in_a_row + 1 : 0;
        results_free(&results);
        if (in_a_row == PROBES_IN_A_ROW)
            return 0;
        if (in_a_row)
            continue;
        if (i == 0)
            fprintf(stderr, "sluice-load: waits until requests alone are useful\n");
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "sluice-load: after two minutes requests alone are still not useful\n");
    return 1;
}

/* The counts of a trial, in the order of both its forms. */
enum { TRIAL_OFFERED, TRIAL_USEFUL, TRIAL_LATE, TRIAL_UNFINISHED, TRIAL_REFUSED, TRIAL_NOT_SENT };
static const char *const trial_names[] = {"offered",    "useful",  "late",
                                          "unfinished", "refused", "not_sent"};
#define TRIAL_COUNTS (sizeof(trial_names) / sizeof(trial_names[0]))

static void print_trial(const struct load_options *options, uint64_t rate,
                        const struct results *results, enum finding finding)
{
    bool json = options->format == LOAD_JSON;
    const uint64_t counts[TRIAL_COUNTS] = {
        [TRIAL_OFFERED] = results->offered,
        [TRIAL_USEFUL] = results->outcomes[OUTCOME_USEFUL],
        [TRIAL_LATE] = results->outcomes[OUTCOME_LATE],
        [TRIAL_UNFINISHED] = results->outcomes[OUTCOME_UNFINISHED],
        [TRIAL_REFUSED] = results_refused(results->outcomes),
        [TRIAL_NOT_SENT] = results->outcomes[OUTCOME_NOT_SENT],
    };
    char eff_ms[32];
    uint64_t eff_ns;

    if (results_percentile(&results->effective, options->find.percentile, &eff_ns))
        snprintf(eff_ms, sizeof(eff_ms), "%.3f", (double)eff_ns / NS_PER_MS);
    else
        snprintf(eff_ms, sizeof(eff_ms), "%s", json ? "null" : "-");
    printf(json ? "{\"rate\":%" PRIu64 : "%10" PRIu64, rate);
    for (size_t i = 0; i < TRIAL_COUNTS; i++) {
        if (json)
            printf(",\"%s\":%" PRIu64, trial_names[i], counts[i]);
        else
            printf(" %10" PRIu64, counts[i]);
    }
    printf(json ? ",\"eff_ms\":%s,\"finding\":\"%s\"}" : " %10s  %s\n", eff_ms,
           finding_names[finding]);
    fflush(stdout);
}

static void print_head(const struct load_options *options)
{
    if (options->format == LOAD_JSON) {
        fputs("{\"trials\":[", stdout);
        return;
    }
    printf("%10s", "rate");
    for (size_t i = 0; i < TRIAL_COUNTS; i++)
        printf(" %10s", trial_names[i]);
    printf(" %10s  %s\n", "eff_ms", "finding");
}

static void print_answer(const struct load_options *options, const struct search *search)
{
    const char *unit = parse_unit_name(options->find.period_ns);
    const char *why = search->high ? finding_names[search->limit] : "max";

    if (options->format == LOAD_JSON) {
        printf("],\"unit\":\"%s\",\"limit\":\"%s\",\"found\":", unit, why);
        printf(search->low ? "%" PRIu64 "}\n" : "null}\n", search->low);
    } else if (!search->low) {
        printf("not even %" PRIu64 "/%s: %s\n", search->min, unit, why);
    } else if (search->high) {
        printf("%" PRIu64 "/%s; at %" PRIu64 "/%s: %s\n", search->low, unit, search->high, unit,
               why);
    } else {
        printf("%" PRIu64 "/%s, the highest that was asked for\n", search->low, unit);
    }
}

/* One trial, and what it taught. */
static int run_trial(const struct load_options *options, struct search *search, uint64_t rate)
{
    struct results results;
    enum finding finding;
    int error = try_rate(options, rate, &results);

    if (error)
        return error;
    finding = search_judge(&results, options->find.percentile);
    print_trial(options, rate, &results, finding);
    results_free(&results);
    search_learn(search, rate, finding);
    return 0;
}

int find_run(const struct load_options *options)
{
    struct search search = {.min = options->find.min,
                            .max = options->find.max,
                            .precision_percent = options->find.precision_percent};
    uint64_t rate = search_next(&search);
    int status;

    /* What was offered before may still be felt. */
    status = wait_until_alone(options);
    if (status)
        return status;
    print_head(options);
    do {
        status = run_trial(options, &search, rate);
        rate = status ? 0 : search_next(&search);
        if (rate) {
            status = wait_until_alone(options);
            if (status == 0 && options->format == LOAD_JSON)
                putchar(',');
        }
    } while (rate && status == 0);
    if (status < 0)
        return status;
    print_answer(options, &search);
    return status || !search.low;
}
