/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice-lab-backend: see backend.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/lab/backend.h"
#include "tools/lab/stats.h"

enum { EXIT_ENDED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define LISTENERS_MAX 8u
/* Descriptors left to listeners, statistics, the event loop and the standard streams. */
#define DESCRIPTORS_KEPT 64u

static const char help_text[] =
    "Usage: sluice-lab-backend --listen ADDR:PORT... [--stats ADDR:PORT] [--slots N]\n"
    "                          [--rate N] [--connections N]\n"
    "An HTTP service with a fixed number of slots (4) that can answer a fixed number of requests\n"
    "per second in all (170), a FIFO queue without a bound, and work that is done to its end\n"
    "whether or not the client still waits. --connections: open at once, 65536 at most and less\n"
    "than the descriptor limit; more are closed at once. --stats: GET /stats, POST /stats/reset,\n"
    "POST /pace?per_s=N: another rate for requests that start from then on.\n";

static const struct option long_options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"stats", required_argument, NULL, 's'},
    {"slots", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'r'},
    {"connections", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct arguments {
    const char *listen[LISTENERS_MAX];
    unsigned int n_listen;
    const char *stats;
    unsigned long slots, rate, connections;
};

/* 1..max, or 0 for what is none. */
static unsigned long positive(const char *text, unsigned long max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    return *text < '0' || *text > '9' || *end || value > max ? 0 : value;
}

static int read_arguments(int argc, char **argv, struct arguments *out)
{
    int option;

    *out = (struct arguments){.slots = 4, .rate = 170, .connections = BACKEND_CONNECTIONS_MAX};
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'l' && out->n_listen < LISTENERS_MAX)
            out->listen[out->n_listen++] = optarg;
        else if (option == 's')
            out->stats = optarg;
        else if (option == 'n')
            out->slots = positive(optarg, QUEUE_SLOTS_MAX);
        else if (option == 'r')
            out->rate = positive(optarg, BACKEND_PACE_MAX);
        else if (option == 'c')
            out->connections = positive(optarg, BACKEND_CONNECTIONS_MAX);
        else
            return -EINVAL;
    }
    return optind < argc || !out->n_listen || !out->slots || !out->rate || !out->connections
               ? -EINVAL
               : 0;
}

static uint32_t connections_allowed(unsigned long wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < wanted + DESCRIPTORS_KEPT)
            wanted = limit.rlim_cur - DESCRIPTORS_KEPT;
    }
    return (uint32_t)wanted;
}

static int parse_address(const char *text, struct sockaddr_storage *address, int *length)
{
    *length = sizeof(*address);
    return evutil_parse_sockaddr_port(text, (struct sockaddr *)address, length) ? -EINVAL : 0;
}

static int listen_on(struct backend *backend, const char *text)
{
    struct sockaddr_storage address;
    int length;

    if (parse_address(text, &address, &length))
        return -EINVAL;
    if (!evconnlistener_new_bind(backend->base, backend_accept, backend,
                                 LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                                 BACKEND_BACKLOG, (struct sockaddr *)&address, length))
        return errno ? -errno : -EADDRINUSE;
    return 0;
}

static int serve_stats(struct backend *backend, const char *text)
{
    struct sockaddr_storage address;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    char host[INET_ADDRSTRLEN];
    int length;

    if (parse_address(text, &address, &length) || v4->sin_family != AF_INET)
        return -EINVAL;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
    return stats_serve(backend, host, ntohs(v4->sin_port));
}

static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER |
                                                    EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
        base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    return base;
}

static void on_signal(int number, short what, void *base)
{
    (void)number;
    (void)what;
    event_base_loopbreak(base);
}

static int start(struct backend *backend, const struct arguments *arguments)
{
    struct event *signals;
    int error = -ENOMEM;

    backend->base = new_base();
    if (!backend->base || backend_init(backend, arguments->rate))
        return -ENOMEM;
    signals = evsignal_new(backend->base, SIGTERM, on_signal, backend->base);
    if (!signals || evsignal_add(signals, NULL))
        return -ENOMEM;
    for (unsigned int i = 0; i < arguments->n_listen; i++) {
        error = listen_on(backend, arguments->listen[i]);
        if (error) {
            fprintf(stderr, "sluice-lab-backend: %s: %s\n", arguments->listen[i], strerror(-error));
            return error;
        }
    }
    error = arguments->stats ? serve_stats(backend, arguments->stats) : 0;
    if (error)
        fprintf(stderr, "sluice-lab-backend: %s: %s\n", arguments->stats, strerror(-error));
    return error;
}

int main(int argc, char **argv)
{
    static struct backend backend;
    struct arguments arguments;

    if (read_arguments(argc, argv, &arguments)) {
        fputs(help_text, stderr);
        return EXIT_USAGE;
    }
    backend.queue.n_slots = (uint32_t)arguments.slots;
    backend.connections_max = connections_allowed(arguments.connections);
    if (start(&backend, &arguments))
        return EXIT_FAILED;
    /* Ends with SIGTERM; what is open then ends with the process. */
    event_base_dispatch(backend.base);
    return EXIT_ENDED;
}
