/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluicectl: passes its words to the running sluiced and shows the answer. Knows nothing of DPDK
 * and touches nothing but the control socket.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/client.h"
#include "control/cli/show.h"

#define DEFAULT_SOCKET "/run/sluice/sluice.sock"
#define ANSWER_VERSION 1

enum exit_code { EXIT_OK, EXIT_REJECTED, EXIT_USAGE, EXIT_UNREACHABLE };

static const char usage[] =
    "usage: sluicectl [-s SOCKET] [-j] VERB [ARGUMENT...]\n"
    "\n"
    "  status                         the daemon: version, uptime, policy, memory, clock, gates\n"
    "  tenants [NAME]                 quotas, windows and counters of tenants\n"
    "  services [NAME]                windows and counters of services\n"
    "  workers                        packets, flows and load of every worker\n"
    "  ports                          links, packets and queues of every device\n"
    "  set tenant NAME KEY=VALUE...   change a tenant now, all of it or nothing:\n"
    "                                 quota.attempts=200/s, window=50 and their like\n"
    "  help                           the verbs of the daemon that answers\n"
    "\n"
    "  -s, --socket SOCKET   where sluiced listens (" DEFAULT_SOCKET ")\n"
    "  -j, --json            print the answer as one line of JSON\n"
    "  -h, --help            print this and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "Exit code: 0 done, 1 rejected by the daemon, 2 usage, 3 no (whole) answer from a daemon.\n";

struct options {
    const char *socket;
    bool json;
    char request[CLIENT_REQUEST_MAX + 1];
};

static const struct shower {
    const char *verb;
    void (*show)(const json_t *answer, FILE *out);
} showers[] = {
    {"status", show_status},   {"tenants", show_tenants}, {"services", show_services},
    {"workers", show_workers}, {"ports", show_ports},     {"set", show_set},
    {"help", show_help},
};

/* Joins the words to a request line. A word with a blank in it would become two. */
static bool join_words(char **words, int n, char *request)
{
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        size_t length = strlen(words[i]);

        if (length == 0 || strpbrk(words[i], " \t\r\n")) {
            fprintf(stderr, "sluicectl: '%s': words must not be empty or hold blanks\n", words[i]);
            return false;
        }
        if (used + length + 1 > CLIENT_REQUEST_MAX) {
            fprintf(stderr, "sluicectl: a request has at most %d bytes\n", CLIENT_REQUEST_MAX);
            return false;
        }
        memcpy(request + used, words[i], length);
        used += length;
        request[used++] = i == n - 1 ? '\n' : ' ';
    }
    request[used] = '\0';
    return true;
}

/* -1 to go on, else the exit code. */
static int read_options(int argc, char **argv, struct options *options)
{
    enum { OPTION_VERSION = 256 };
    static const struct option longs[] = {
        {"socket", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {0},
    };
    int c;

    options->socket = DEFAULT_SOCKET;
    while ((c = getopt_long(argc, argv, "s:jh", longs, NULL)) != -1) {
        switch (c) {
        case 's':
            options->socket = optarg;
            break;
        case 'j':
            options->json = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_OK;
        case OPTION_VERSION:
            puts("sluicectl " SLUICE_VERSION);
            return EXIT_OK;
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    return join_words(argv + optind, argc - optind, options->request) ? -1 : EXIT_USAGE;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Tells an error, and which exit code it deserves. */
static enum exit_code tell_error(const json_t *error)
{
    const char *code = text_at(error, "code"), *message = text_at(error, "message");
    const char *key = text_at(error, "key"), *range = text_at(error, "range");

    fprintf(stderr, "sluicectl: %s%s%s", key ? key : "", key ? ": " : "",
            message ? message : "rejected");
    fprintf(stderr, range ? " (%s)\n" : "\n", range);
    return code && strcmp(code, "usage") == 0 ? EXIT_USAGE : EXIT_REJECTED;
}

static void show_answer(const char *verb, const json_t *answer)
{
    for (size_t i = 0; i < sizeof(showers) / sizeof(showers[0]); i++) {
        if (strcmp(showers[i].verb, verb) == 0) {
            showers[i].show(answer, stdout);
            return;
        }
    }
    json_dumpf(answer, stdout, JSON_INDENT(2)); /* a verb that is younger than this program */
    putchar('\n');
}

static enum exit_code take_answer(const struct options *options, const char *verb, const char *text,
                                  size_t bytes)
{
    json_error_t where;
    json_t *answer = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    const json_t *error = json_object_get(answer, "error");
    enum exit_code code = EXIT_OK;

    if (!error && json_integer_value(json_object_get(answer, "version")) != ANSWER_VERSION) {
        fprintf(stderr, "sluicectl: %s: not an answer of sluiced: %s\n", options->socket,
                answer ? "its version is not 1" : where.text);
        code = EXIT_UNREACHABLE;
    } else {
        if (options->json)
            puts(text);
        else if (!error)
            show_answer(verb, answer);
        if (error)
            code = tell_error(error);
    }
    json_decref(answer);
    return code;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    char why[512], *answer;
    size_t answer_bytes;
    int code = read_options(argc, argv, &options);

    if (code >= 0)
        return code;
    if (client_ask(options.socket, options.request, &answer, &answer_bytes, why, sizeof(why)) < 0) {
        fprintf(stderr, "sluicectl: %s\n", why);
        return EXIT_UNREACHABLE;
    }
    code = (int)take_answer(&options, argv[optind], answer, answer_bytes);
    free(answer);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "sluicectl: cannot write: %s\n", strerror(errno));
        return EXIT_REJECTED;
    }
    return code;
}
