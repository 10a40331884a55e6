/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

static const char help_text[] =
    "Usage: sluice-load --target ADDR[:PORT] [OPTION...]\n"
    "Open-loop HTTP load: one fresh connection per request (but see --keep-alive), sent when the\n"
    "schedule says so; latency counts from the intended time.\n\n"
    "  -t, --target ADDR[:PORT]  where to, [ADDR]:PORT for IPv6 (port 80)\n"
    "  -r, --rate N/s            requests per s, min or h (100/s)\n"
    "  -d, --duration TIME       of sending, us|ms|s|min, 1h at most (10s)\n"
    "      --deadline TIME       a complete 200 by then is useful (1s)\n"
    "      --timeout TIME        the client gives up and closes (the deadline)\n"
    "  -s, --source LIST         send from these addresses in turn; a prefix stands for this\n"
    "                            host's addresses inside it\n"
    "      --path PATH           what to ask for (/)\n"
    "      --poisson             random spacing, else even\n"
    "      --seed N              of --poisson (1)\n"
    "      --connections N       at once, 65536 at most and less than the descriptor limit; a\n"
    "                            request that finds none free is not_sent (16384)\n"
    "      --keep-alive N        in place of --connections: N at most that stay open and are used\n"
    "                            again; if none is idle, the request's source opens a new one\n"
    "  -j, --json                one JSON object\n"
    "      --csv                 a header and a row\n"
    "      --series              also what became of each second's requests\n"
    "  -h, --help, --version\n\n"
    "Every request ends as one of: useful, late, unfinished, refused_rst (refused or reset),\n"
    "refused_timeout (no connection), refused_429, _403, _503, refused_other, not_sent.\n"
    "p*: latency of all that was answered; eff_*: late and unfinished counted at the deadline;\n"
    "refusal_*: time to refusal.\n"
    "Exit: 0 measured, 1 could not, 2 usage.\n";

enum {
    OPT_DEADLINE = 256,
    OPT_TIMEOUT,
    OPT_PATH,
    OPT_POISSON,
    OPT_SEED,
    OPT_CONNECTIONS,
    OPT_KEEP_ALIVE,
    OPT_CSV,
    OPT_SERIES,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"target", required_argument, NULL, 't'},
    {"rate", required_argument, NULL, 'r'},
    {"duration", required_argument, NULL, 'd'},
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"source", required_argument, NULL, 's'},
    {"path", required_argument, NULL, OPT_PATH},
    {"poisson", no_argument, NULL, OPT_POISSON},
    {"seed", required_argument, NULL, OPT_SEED},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"keep-alive", required_argument, NULL, OPT_KEEP_ALIVE},
    {"json", no_argument, NULL, 'j'},
    {"csv", no_argument, NULL, OPT_CSV},
    {"series", no_argument, NULL, OPT_SERIES},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

struct unit {
    const char *name;
    uint64_t ns;
};

static const struct unit units[] = {
    {"us", 1000}, {"ms", 1000000}, {"s", NS_PER_S}, {"min", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};

static int parse_unit(const char *text, uint64_t *ns)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].name) == 0) {
            *ns = units[i].ns;
            return 0;
        }
    }
    return -EINVAL;
}

/* A decimal number in 0..max; *end is what follows it. */
static int parse_number(const char *text, uint64_t max, uint64_t *out, const char **end)
{
    char *rest;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &rest, 10);
    *end = rest;
    return errno || *out > max ? -EINVAL : 0;
}

static int parse_whole(const char *text, uint64_t max, uint64_t *out)
{
    const char *end;

    return parse_number(text, max, out, &end) || *end ? -EINVAL : 0;
}

static int parse_duration(const char *text, uint64_t *ns)
{
    uint64_t count, unit_ns;
    const char *end;

    if (parse_number(text, LOAD_DURATION_MAX_NS, &count, &end) || parse_unit(end, &unit_ns) ||
        count == 0 || count > LOAD_DURATION_MAX_NS / unit_ns)
        return -EINVAL;
    *ns = count * unit_ns;
    return 0;
}

static int parse_rate(const char *text, struct schedule_request *schedule)
{
    const char *end;

    if (parse_number(text, SCHEDULE_RATE_MAX, &schedule->count, &end) || schedule->count == 0 ||
        *end != '/')
        return -EINVAL;
    return parse_unit(end + 1, &schedule->period_ns);
}

/* Printable and without blanks, so that it cannot break out of the request line. */
static int parse_path(const char *text)
{
    if (*text != '/' || strlen(text) > LOAD_PATH_MAX_BYTES)
        return -EINVAL;
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~')
            return -EINVAL;
    }
    return 0;
}

static int read_source(struct load_options *options, const char *text)
{
    int error = source_list_add(&options->sources, text);

    if (error == -ENOENT)
        fprintf(stderr, "sluice-load: this host has no address inside %s\n", text);
    else if (error == -E2BIG)
        fprintf(stderr, "sluice-load: more than %u source addresses\n", SOURCES_MAX);
    return error;
}

static int read_connections(struct load_options *options, const char *text)
{
    uint64_t n;

    if (parse_whole(text, LOAD_CONNECTIONS_MAX, &n) || n == 0)
        return -EINVAL;
    options->connections = (uint32_t)n;
    return 0;
}

/* One option with its argument. 0, 1 (done, nothing to run) or -EINVAL. */
static int read_one(struct load_options *options, int option, const char *value)
{
    switch (option) {
    case 't':
        options->target_text = value;
        return source_parse_target(value, &options->target);
    case 'r':
        return parse_rate(value, &options->schedule);
    case 'd':
        return parse_duration(value, &options->schedule.duration_ns);
    case OPT_DEADLINE:
        return parse_duration(value, &options->deadline_ns);
    case OPT_TIMEOUT:
        return parse_duration(value, &options->timeout_ns);
    case 's':
        return read_source(options, value);
    case OPT_PATH:
        options->path = value;
        return parse_path(value);
    case OPT_POISSON:
        options->schedule.poisson = true;
        return 0;
    case OPT_SEED:
        return parse_whole(value, UINT64_MAX, &options->schedule.seed);
    case OPT_CONNECTIONS:
    case OPT_KEEP_ALIVE:
        options->keep_alive = option == OPT_KEEP_ALIVE;
        return read_connections(options, value);
    case 'j':
    case OPT_CSV:
        options->format = option == 'j' ? LOAD_JSON : LOAD_CSV;
        return 0;
    case OPT_SERIES:
        options->series = true;
        return 0;
    case 'h':
        fputs(help_text, stdout);
        return 1;
    case OPT_VERSION:
        puts("sluice-load " SLUICE_VERSION);
        return 1;
    default:
        return -ENOTSUP;
    }
}

static int check(struct load_options *options)
{
    if (!options->target_text) {
        fputs("sluice-load: --target is missing; see --help\n", stderr);
        return -EINVAL;
    }
    if (options->timeout_ns == 0)
        options->timeout_ns = options->deadline_ns;
    if (options->timeout_ns < options->deadline_ns) {
        fputs("sluice-load: --timeout must not be shorter than --deadline\n", stderr);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < options->sources.n; i++) {
        if (options->sources.list[i].address.ss_family != options->target.address.ss_family) {
            fputs("sluice-load: sources and target are not of the same address family\n", stderr);
            return -EINVAL;
        }
    }
    return 0;
}

int options_read(int argc, char **argv, struct load_options *options)
{
    int option, index = -1, status;

    *options = (struct load_options){
        .path = "/",
        .schedule = {.count = 100, .period_ns = NS_PER_S, .duration_ns = 10 * NS_PER_S, .seed = 1},
        .deadline_ns = NS_PER_S,
        .connections = 16384};
    while ((option = getopt_long(argc, argv, "t:r:d:s:jh", long_options, &index)) != -1) {
        status = read_one(options, option, optarg);
        if (status == -ENOTSUP) /* getopt_long has told */
            return -EINVAL;
        if (status < 0)
            fprintf(stderr, "sluice-load: cannot use \"%s\" as %s%s; see --help\n", optarg,
                    index >= 0 ? "--" : "-",
                    index >= 0 ? long_options[index].name : (char[]){(char)option, '\0'});
        if (status)
            return status;
        index = -1;
    }
    if (optind < argc) {
        fprintf(stderr, "sluice-load: unexpected argument \"%s\"; see --help\n", argv[optind]);
        return -EINVAL;
    }
    return check(options);
}
