/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice-lab-wire: see wire.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/wire.h"

enum { EXIT_ENDED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char help_text[] =
    "Usage: sluice-lab-wire INTERFACE INTERFACE --delay TIME [--frames N]\n"
    "Passes every frame from each interface to the other, TIME (us, ms or s; 10 s at most) after "
    "it\n"
    "came. --frames: under way at once, each way (4096, 65536 at most); more are dropped and\n"
    "counted. SIGTERM ends it, and it prints what it did as one line of JSON.\n";

static const struct option long_options[] = {
    {"delay", required_argument, NULL, 'd'},
    {"frames", required_argument, NULL, 'f'},
    {0},
};

/* 0..max, followed by one of the units; unit_ns is in step with their names. */
static int parse(const char *text, const char *const *units, const uint64_t *unit_ns, uint64_t max,
                 uint64_t *out)
{
    char *end;
    uint64_t count;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    count = strtoull(text, &end, 10);
    for (; *units; units++, unit_ns++) {
        if (strcmp(end, *units) == 0) {
            *out = count * *unit_ns;
            return errno || count > max / *unit_ns ? -EINVAL : 0;
        }
    }
    return -EINVAL;
}

static int read_arguments(int argc, char **argv, struct wire *wire)
{
    static const char *const times[] = {"us", "ms", "s", NULL}, *const none[] = {"", NULL};
    static const uint64_t times_ns[] = {1000, 1000000, 1000000000}, one[] = {1};
    uint64_t frames = 4096;
    int option, error = 0;

    wire->delay_ns = UINT64_MAX;
    while (!error && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'd')
            error = parse(optarg, times, times_ns, WIRE_DELAY_MAX_NS, &wire->delay_ns);
        else if (option == 'f')
            error = parse(optarg, none, one, WIRE_FRAMES_MAX, &frames);
        else
            error = -EINVAL;
    }
    wire->frames = (uint32_t)frames;
    return error || !frames || wire->delay_ns == UINT64_MAX || argc - optind != 2 ? -EINVAL : 0;
}

int main(int argc, char **argv)
{
    struct wire wire;
    int error;

    if (read_arguments(argc, argv, &wire)) {
        fputs(help_text, stderr);
        return EXIT_USAGE;
    }
    error = wire_open(&wire, argv[optind], argv[optind + 1]);
    if (!error)
        error = wire_run(&wire);
    if (error)
        fprintf(stderr, "sluice-lab-wire: %s and %s: %s\n", argv[optind], argv[optind + 1],
                strerror(-error));
    else
        wire_report(&wire, stdout);
    wire_close(&wire);
    return error ? EXIT_FAILED : EXIT_ENDED;
}
