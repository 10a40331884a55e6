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
#include <time.h>

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
    "  services [NAME]                how services do: slots, waiting, shedding, breakers, what "
    "was\n"
    "                                 useful and how long it took; all there is to know of one\n"
    "  workers                        packets, flows and load of every worker\n"
    "  workers --steps [DURATION]     samples the workers for so long (1s; 1ms to 60s) and shows\n"
    "                                 what each step of their packets costs, in TSC cycles\n"
    "  ports                          links, packets and queues of every device\n"
    "  queues                         every place where packets or work can wait: bound, fill, "
    "age\n"
    "  set tenant NAME KEY=VALUE...   change a tenant now, all of it or nothing:\n"
    "                                 quota.attempts=200/s, window=50 and their like\n"
    "  set service NAME KEY=VALUE...  the same for a service: window=50, wait.places=16,\n"
    "                                 breaker=open, admit=10% over 60s and their like\n"
    "  xdp status                     the XDP program at every interface: guard, stand-in or off\n"
    "  xdp counters                   what became of the packets that came to XDP programs\n"
    "  deny add PREFIX... [for TIME]  let nothing in from there, for good or so long: 10min\n"
    "  deny del PREFIX...             let it in again\n"
    "  deny list                      what is denied, and for how long still\n"
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
    const char *show; /* how to show the answer: a verb, or SHOW_* */
    bool json;
    char request[CLIENT_REQUEST_MAX + 1];
};

#define SHOW_STEPS   "workers --steps"
#define SHOW_SERVICE "services NAME"

static const struct shower {
    const char *verb;
    void (*show)(const json_t *answer, FILE *out);
} showers[] = {
    {"status", show_status},     {"tenants", show_tenants},
    {"services", show_services}, {SHOW_SERVICE, show_service},
    {"workers", show_workers},   {SHOW_STEPS, show_steps},
    {"ports", show_ports},       {"queues", show_queues},
    {"set", show_set},           {"xdp", show_xdp},
    {"deny", show_deny},         {"help", show_help},
};

/* Joins the words to a request line. A word with a blank in it would become two. */
static bool join_words(char **words, int n, char *request)
{
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        size_t length = strlen(words[i]);

        if (length == 0 || strpbrk(words[i], " \t\r\n")) {
            fprintf(stderr, "sluicectl: '%s': %s\n", words[i],
                    strchr(words[i], '=') ? "write KEY=VALUE without blanks, such as admit=10%/60s"
                                          : "words must not be empty or hold blanks");
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

/* `--steps DURATION` as people write it: getopt takes a value that may be missing only after a '='.
 */
static bool join_steps(char **words, int n, char *duration, char *request)
{
    char option[] = "--steps", usual[] = "1s";
    char *joined[] = {words[0], option, duration ? duration : n == 2 ? words[1] : usual};

    if (strcmp(words[0], "workers") != 0 || n > (duration ? 1 : 2)) {
        fputs(usage, stderr);
        return false;
    }
    return join_words(joined, 3, request);
}

/* One service is shown in full, many in a line each. */
static const char *how_to_show(char **words, int n, bool steps)
{
    if (steps)
        return SHOW_STEPS;
    return n > 1 && strcmp(words[0], "services") == 0 ? SHOW_SERVICE : words[0];
}

/* -1 to go on, else the exit code. */
static int read_options(int argc, char **argv, struct options *options)
{
    enum { OPTION_VERSION = 256, OPTION_STEPS };
    static const struct option longs[] = {
        {"socket", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"steps", optional_argument, NULL, OPTION_STEPS},
        {0},
    };
    char *duration = NULL;
    bool steps = false, joined;
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
        case OPTION_STEPS:
            steps = true;
            duration = optarg;
            break;
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    options->show = how_to_show(argv + optind, argc - optind, steps);
    joined = steps ? join_steps(argv + optind, argc - optind, duration, options->request)
                   : join_words(argv + optind, argc - optind, options->request);
    return joined ? -1 : EXIT_USAGE;
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

static void show_answer(const char *how, const json_t *answer)
{
    for (size_t i = 0; i < sizeof(showers) / sizeof(showers[0]); i++) {
        if (strcmp(showers[i].verb, how) == 0) {
            showers[i].show(answer, stdout);
            return;
        }
    }
    json_dumpf(answer, stdout, JSON_INDENT(2)); /* a verb that is younger than this program */
    putchar('\n');
}

static enum exit_code take_answer(const struct options *options, const char *text, size_t bytes)
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
            show_answer(options->show, answer);
        if (error)
            code = tell_error(error);
    }
    json_decref(answer);
    return code;
}

/* NULL when there is none, which has been told. */
static char *ask(const char *path, const char *request, size_t *bytes)
{
    char why[512], *answer;

    if (client_ask(path, request, &answer, bytes, why, sizeof(why)) == 0)
        return answer;
    fprintf(stderr, "sluicectl: %s\n", why);
    return NULL;
}

/* How long the daemon samples from now on; 0: the answer is another one. */
static json_int_t sampling_ms(const char *text, size_t bytes)
{
    json_t *answer = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    json_int_t ms = json_integer_value(json_object_get(answer, "sampling_ms"));

    json_decref(answer);
    return ms;
}

/* What was sampled, by the daemon, which answers others meanwhile and ends it without us. */
static char *wait_for_samples(const struct options *options, json_int_t ms, size_t *bytes)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
    return ask(options->socket, "workers\n", bytes);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    size_t bytes;
    json_int_t ms;
    char *answer;
    int code = read_options(argc, argv, &options);

    if (code >= 0)
        return code;
    answer = ask(options.socket, options.request, &bytes);
    ms = answer ? sampling_ms(answer, bytes) : 0;
    if (ms > 0) {
        free(answer);
        answer = wait_for_samples(&options, ms, &bytes);
    }
    if (!answer)
        return EXIT_UNREACHABLE;
    code = (int)take_answer(&options, answer, bytes);
    free(answer);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "sluicectl: cannot write: %s\n", strerror(errno));
        return EXIT_REJECTED;
    }
    return code;
}
