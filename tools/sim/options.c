/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tools/sim/number.h"

const char options_help[] =
    "Usage: sluice-sim run NAME|FILE [OPTION...]   play a scenario\n"
    "       sluice-sim list                        the scenarios there are\n"
    "       sluice-sim plan ...                    from needs to a configuration; plan --help\n\n"
    "Plays a scenario through the admission code of the gate. Prints a table, or\n"
    "  --csv               a header, and a row for each run\n"
    "  -j, --json          one JSON object\n"
    "  --series            with either: a row for each interval of each run\n"
    "  --plot OUT.svg      also a picture, by gnuplot: of each run over time, or of the sweep\n\n"
    "What is played:\n"
    "  --set KEY=VALUE     in place of a value that stands in the file; as often as you like\n"
    "  --sweep KEY=A,B,C   a run for each value, in place of the scenario's own sweep\n"
    "  --seed N            of the random numbers, 0 to 2^53\n"
    "  --jobs N            runs at once (as many as there are CPUs)\n"
    "  -h, --help, --version\n\n"
    "Exit: 0 done, 1 a run or the picture failed, 2 usage, 3 the scenario is wrong.\n";

enum { OPT_CSV = 256, OPT_SERIES, OPT_PLOT, OPT_SET, OPT_SWEEP, OPT_SEED, OPT_JOBS };

static const struct option long_options[] = {
    {"csv", no_argument, NULL, OPT_CSV},
    {"json", no_argument, NULL, 'j'},
    {"series", no_argument, NULL, OPT_SERIES},
    {"plot", required_argument, NULL, OPT_PLOT},
    {"set", required_argument, NULL, OPT_SET},
    {"sweep", required_argument, NULL, OPT_SWEEP},
    {"seed", required_argument, NULL, OPT_SEED},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static uint32_t n_cpus(void)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        return 1;
    return (uint32_t)CPU_COUNT(&allowed);
}

static bool is_set(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals && equals != text && equals[1];
}

static bool read_sweep(struct sim_options *options, char *text)
{
    char *rest = text + strcspn(text, "=");

    if (!is_set(text))
        return false;
    *rest++ = '\0';
    options->sweep_key = text;
    options->n_values = 0;
    while (rest) {
        char *value = strsep(&rest, ",");

        if (!*value || options->n_values == SCENARIO_VALUES_MAX)
            return false;
        options->values[options->n_values++] = value;
    }
    return true;
}

static bool read_jobs(struct sim_options *options, const char *text)
{
    uint64_t jobs;

    if (!number_parse(text, OPTIONS_JOBS_MAX, &jobs) || jobs == 0)
        return false;
    options->jobs = (uint32_t)jobs;
    return true;
}

/* JSON tells as much exactly, and so does a scenario. */
static bool read_seed(struct sim_options *options, const char *text)
{
    return options->seed_given = number_parse(text, OPTIONS_SEED_MAX, &options->seed);
}

static bool read_one(struct sim_options *options, int option, char *value)
{
    switch (option) {
    case OPT_CSV:
        options->format = SIM_CSV;
        return true;
    case 'j':
        options->format = SIM_JSON;
        return true;
    case OPT_SERIES:
        return options->series = true;
    case OPT_PLOT:
        options->plot = value;
        return *value;
    case OPT_SET:
        if (!is_set(value) || options->n_sets == OPTIONS_SETS_MAX)
            return false;
        options->sets[options->n_sets++] = value;
        return true;
    case OPT_SWEEP:
        return read_sweep(options, value);
    case OPT_SEED:
        return read_seed(options, value);
    case OPT_JOBS:
        return read_jobs(options, value);
    default:
        return false;
    }
}

static bool is_svg(const char *path)
{
    size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static int check(const struct sim_options *options, const char *superfluous)
{
    if (!options->scenario)
        fputs("sluice-sim: run what? A NAME of sluice-sim list, or a FILE; see --help\n", stderr);
    else if (superfluous)
        fprintf(stderr, "sluice-sim: %s: one scenario at a time; see --help\n", superfluous);
    else if (options->series && options->format == SIM_TABLE)
        fputs("sluice-sim: --series needs --csv or --json\n", stderr);
    else if (options->plot && !is_svg(options->plot))
        fprintf(stderr,
                "sluice-sim: --plot: a picture is SVG, and its name ends with .svg, not %s\n",
                options->plot);
    else
        return 0;
    return -EINVAL;
}

int options_parse(struct sim_options *options, int argc, char **argv)
{
    int option;

    *options = (struct sim_options){.jobs = n_cpus()};
    while ((option = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(options_help, stdout);
            return 1;
        }
        if (!read_one(options, option, optarg)) {
            if (option == OPT_SEED)
                fprintf(stderr, "sluice-sim: --seed: %s is no number from 0 to %" PRIu64 "\n",
                        optarg, (uint64_t)OPTIONS_SEED_MAX);
            else if (option != '?')
                fprintf(stderr, "sluice-sim: %s is no value for this option; see --help\n", optarg);
            return -EINVAL;
        }
    }
    if (optind < argc)
        options->scenario = argv[optind];
    return check(options, optind + 1 < argc ? argv[optind + 1] : NULL);
}
