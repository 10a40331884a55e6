/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/options.h"
#include "tools/sim/plan.h"
#include "tools/sim/plot.h"
#include "tools/sim/report.h"
#include "tools/sim/shelf.h"
#include "tools/sim/sweep.h"

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_SCENARIO };

/* -EINVAL and -EIO were said. */
static int exit_code(int error)
{
    if (error && error != -EINVAL && error != -EIO)
        fprintf(stderr, "sluice-sim: %s\n", strerror(-error));
    return error == 0 ? EXIT_DONE : error == -EINVAL ? EXIT_SCENARIO : EXIT_FAILED;
}

/* What nobody got to read was not done. 0, or -EIO after saying so. */
static int write_out(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    /* The failure may have been that of an earlier write. */
    fprintf(stderr, "sluice-sim: cannot write: %s\n", strerror(errno ? errno : EIO));
    return -EIO;
}

static int report(const struct sweep *sweep)
{
    const struct sim_options *options = sweep->options;

    switch (options->format) {
    case SIM_JSON:
        return report_json(sweep, options->scenario);
    case SIM_CSV:
        report_csv(sweep, options->series);
        return 0;
    case SIM_TABLE:
        report_table(sweep);
        return 0;
    }
    return 0;
}

static int run_file(const struct sim_options *options, const char *path)
{
    struct sweep sweep = {.options = options, .rows = options->series || options->plot};
    struct scenario *base;
    int error = scenario_read(path, options->sets, options->n_sets, stderr, &base);

    if (error)
        return error == -ENOMEM ? exit_code(error) : EXIT_SCENARIO;
    sweep.base = base;
    error = sweep_run(&sweep);
    if (!error)
        error = report(&sweep);
    if (!error)
        error = write_out();
    error = exit_code(error);
    if (!error && options->plot && plot(&sweep, options->plot))
        error = EXIT_FAILED;
    sweep_free(&sweep);
    scenario_free(base);
    return error;
}

static int run(int argc, char **argv)
{
    struct sim_options options;
    int error = options_parse(&options, argc, argv);
    char *path;

    if (error)
        return error < 0 ? EXIT_USAGE : EXIT_DONE;
    path = shelf_find(options.scenario);
    if (!path)
        return EXIT_USAGE;
    error = run_file(&options, path);
    free(path);
    return error;
}

static int list(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "sluice-sim: list takes no arguments, and not %s\n", argv[1]);
        return EXIT_USAGE;
    }
    switch (shelf_list()) {
    case 0:
        return EXIT_DONE;
    case -EINVAL:
        return EXIT_SCENARIO;
    default:
        return EXIT_FAILED;
    }
}

static int run_verb(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "run") == 0)
        return run(argc - 1, argv + 1);
    if (strcmp(verb, "list") == 0)
        return list(argc - 1, argv + 1);
    if (strcmp(verb, "plan") == 0)
        return plan_main(argc - 1, argv + 1);
    if (strcmp(verb, "--version") == 0) {
        puts("sluice-sim " SLUICE_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(verb, "-h") == 0 || strcmp(verb, "--help") == 0) {
        fputs(options_help, stdout);
        return EXIT_DONE;
    }
    if (*verb)
        fprintf(stderr, "sluice-sim: %s is no verb; see --help\n", verb);
    else
        fputs(options_help, stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    int code = run_verb(argc, argv);

    return code == EXIT_DONE && write_out() ? EXIT_FAILED : code;
}
