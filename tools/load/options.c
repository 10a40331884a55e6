/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/options_rows.h"
#include "tools/load/protocol.h"

#define NS_PER_S UINT64_C(1000000000)
/* getopt's number of the first row, beyond all letters. */
#define FIRST_ROW 256

static const char load_head[] =
    "Usage: sluice-load --target ADDR[:PORT] [OPTION...]\n"
    "       sluice-load find --target ADDR[:PORT] [OPTION...]   (find --help)\n\n"
    "Open-loop load: one fresh connection or datagram socket per request (but see --keep-alive), "
    "sent\n"
    "when the schedule says so; latency counts from the intended time.\n\n";

static const char scenario_help[] =
    "\n--scenario FILE: one of sluice-sim's, so that what was predicted can be measured. What "
    "comes "
    "when,\n"
    "as which kind, and how clients try again is taken from it, with its duration and seed. A "
    "tenant's\n"
    "work comes from the addresses of this host that the gate's prefixes give it; without "
    "prefixes, "
    "from\n"
    "--source. Deadlines and timeouts count from each attempt, and unfinished work is tried again, "
    "too.\n"
    "Gate, stages, scaler and events are only simulated: here they are whatever --target is.\n";

static const char load_tail[] =
    "\noffered: pieces of work; attempts: what was sent for them; admitted: attempts not refused. "
    "Work ends\n"
    "as its last attempt: useful, late, unfinished, refused_rst (refused or reset),\n"
    "refused_timeout (no connection), refused_429, _403, _503, refused_servfail, _refused "
    "(RCODEs),\n"
    "refused_unreachable (ICMP, of datagrams), refused_other, not_sent.\n"
    "p*: latency of all that was answered; eff_*: late and unfinished counted at the deadline;\n"
    "refusal_*: time to the last refusal; behind: attempts that went out late, by more than a "
    "tenth of\n"
    "the deadline, lag_max_ms the worst of them.\n"
    "A percentile is number p (n - 1), rounded half to even, from 0, of the n sorted values, as in "
    "sluice-sim.\n"
    "Exit: 0 measured, 1 could not, 2 usage.\n";

static const char find_head[] =
    "Usage: sluice-load find --target ADDR[:PORT] [OPTION...]\n\n"
    "Searches the highest rate at which that percentile of effective "
    "latency meets the deadline, and\n"
    "at most 1 % is refused: doubles the rate until a trial fails, "
    "then halves what is between. Before\n"
    "each trial it waits until ten requests in a row, each alone, are useful, for two minutes at "
    "most.\n\n";

static const char find_tail[] = "\nEach trial is late (the percentile), refused (over 1 %), "
                                "generator (the tool fell behind), or it\n"
                                "holds. Exit: 0 found, 1 even the lowest rate fails or the service "
                                "does not recover, 2 usage.\n";

static void print_row(const struct options_row *row)
{
    char label[64], letter[] = {'-', row->letter, ',', ' ', '\0'};
    const char *line = row->help, *end;

    snprintf(label, sizeof(label), "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    printf("  %-25s ", label);
    while ((end = strchr(line, '\n'))) {
        printf("%.*s\n%28s", (int)(end - line), line, "");
        line = end + 1;
    }
    puts(line);
}

static void print_help(unsigned int mode)
{
    fputs(mode == IN_FIND ? find_head : load_head, stdout);
    for (unsigned int i = 0; i < options_rows_n; i++) {
        if (options_rows[i].modes & mode)
            print_row(&options_rows[i]);
    }
    if (mode == IN_LOAD)
        fputs(scenario_help, stdout);
    fputs(mode == IN_FIND ? find_tail : load_tail, stdout);
}

/* The rows of this mode as getopt wants them, and their letters, with room for two a row. */
static void fill_getopt(unsigned int mode, struct option *names, char *letters)
{
    for (unsigned int i = 0; i < options_rows_n; i++) {
        const struct options_row *row = &options_rows[i];

        if (!(row->modes & mode))
            continue;
        *names++ = (struct option){.name = row->name,
                                   .has_arg = row->value ? required_argument : no_argument,
                                   .val = FIRST_ROW + (int)i};
        if (!row->letter)
            continue;
        *letters++ = row->letter;
        if (row->value)
            *letters++ = ':';
    }
    *names = (struct option){0};
    *letters = '\0';
}

static const struct options_row *find_row(int option)
{
    if (option >= FIRST_ROW)
        return &options_rows[option - FIRST_ROW];
    for (unsigned int i = 0; i < options_rows_n; i++) {
        if (options_rows[i].letter == option)
            return &options_rows[i];
    }
    return NULL; /* getopt_long has told */
}

static int read_all(int argc, char **argv, unsigned int mode, struct load_options *options)
{
    struct option names[OPTIONS_ROWS_MAX + 1];
    char letters[2 * OPTIONS_ROWS_MAX + 1];
    const struct options_row *beside = NULL; /* does not go with a scenario */
    int option, status;

    fill_getopt(mode, names, letters);
    while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const struct options_row *row = find_row(option);

        if (!row)
            return -EINVAL;
        if (!row->read) {
            print_help(mode);
            return 1;
        }
        if (!(row->modes & WITH_SCENARIO))
            beside = row;
        status = row->read(options, optarg);
        if (status < 0)
            fprintf(stderr, "sluice-load: cannot use \"%s\" as %s%s; see --help\n", optarg,
                    option >= FIRST_ROW ? "--" : "-",
                    option >= FIRST_ROW ? row->name : (char[]){row->letter, '\0'});
        if (status)
            return status;
    }
    if (optind < argc) {
        fprintf(stderr, "sluice-load: unexpected argument \"%s\"; see --help\n", argv[optind]);
        return -EINVAL;
    }
    if (options->scenario_path && beside) {
        fprintf(stderr, "sluice-load: --%s is what --scenario says, see --set\n", beside->name);
        return -EINVAL;
    }
    return 0;
}

int options_read(int argc, char **argv, struct load_options *options)
{
    bool finds = argc > 1 && strcmp(argv[1], "find") == 0;
    int status;

    *options =
        (struct load_options){.protocol = &protocol_http,
                              .schedule = {.duration_ns = (finds ? 5 : 10) * NS_PER_S, .seed = 1},
                              .finds = finds,
                              .find = {.min = 10,
                                       .max = 1000,
                                       .period_ns = NS_PER_S,
                                       .max_period_ns = NS_PER_S,
                                       .percentile = 99,
                                       .precision_percent = 2},
                              .deadline_ns = NS_PER_S,
                              .clients = {.tries = 1,
                                          .backoff_s = 0.05,
                                          .backoff_max_s = 1.0,
                                          .jitter = JITTER_FULL,
                                          .retry_after = true},
                              .connections = 16384};
    if (finds)
        argv[1] = argv[0];
    status = read_all(argc - finds, argv + finds, finds ? IN_FIND : IN_LOAD, options);
    return status ? status : options_check(options);
}
