/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice-load: load for a service, measured from the intended time of each piece of work. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/client.h"
#include "tools/load/find.h"
#include "tools/load/options.h"
#include "tools/load/replay.h"
#include "tools/load/report.h"
#include "tools/load/results.h"
#include "tools/load/schedule.h"
#include "tools/load/sender.h"

enum { EXIT_MEASURED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int measure(const struct load_options *options)
{
    struct schedule schedule = {0};
    struct results results;
    int error = 0, not_sent_errno = 0;

    if (options->scenario)
        error = replay_make(options, &schedule);
    else if (!options->closed)
        error = schedule_make(&options->schedule, &schedule);
    if (error)
        return error;
    /* Nobody knows beforehand how much a closed loop will ask for. */
    error = results_init(&results, schedule.n + (options->closed ? SCHEDULE_REQUESTS_MAX : 0),
                         options->schedule.duration_ns, options->deadline_ns);
    if (error)
        goto out_schedule;
    error = sender_run(options, &schedule, &results, &not_sent_errno);
    if (error)
        goto out_results;
    results_finish(&results);
    report_warn(&results, not_sent_errno);
    report_show(options, &results);
out_results:
    results_free(&results);
out_schedule:
    schedule_free(&schedule);
    return error;
}

static void complain(int error)
{
    switch (error) {
    case -E2BIG:
        fprintf(stderr, "sluice-load: more than %llu requests; lower the rate or the time\n",
                (unsigned long long)SCHEDULE_REQUESTS_MAX);
        break;
    case -EMFILE:
        fprintf(stderr,
                "sluice-load: too few file descriptors (ulimit -n): %u are needed, and one for "
                "each connection\n",
                CLIENT_DESCRIPTORS_KEPT);
        break;
    default:
        fprintf(stderr, "sluice-load: %s\n", strerror(-error));
    }
}

/* What nobody got to read was not measured. */
static bool is_written(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    /* The failure may have been that of an earlier write. */
    fprintf(stderr, "sluice-load: cannot write: %s\n", strerror(errno ? errno : EIO));
    return false;
}

int main(int argc, char **argv)
{
    struct load_options options;
    int status = options_read(argc, argv, &options);

    if (status == 0)
        status = options.finds ? find_run(&options) : measure(&options);
    else
        status = status > 0 ? 0 : -EINVAL;
    source_list_free(&options.sources);
    scenario_free(options.scenario);
    if (status == -EINVAL)
        return EXIT_USAGE;
    if (status < 0)
        complain(status);
    return status || !is_written() ? EXIT_FAILED : EXIT_MEASURED;
}
