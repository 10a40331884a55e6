/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluiced: reads its configuration, starts the data plane, serves the control socket until SIGTERM.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/config/config.h"
#include "control/plane/events.h"
#include "control/plane/plane.h"
#include "control/plane/xdp.h"
#include "control/serve/socket.h"

#define CONFIG_DEFAULT "/etc/sluice/sluice.conf"

enum exit_code {
    EXIT_RUN_TIME = 1,
    EXIT_USAGE = 2,
    EXIT_CONFIGURATION = 3,
    EXIT_DEVICE = 4,
    EXIT_SOCKET_HELD = 5,
    EXIT_NOT_A_SOCKET = 6,
};

static void usage(FILE *to)
{
    fprintf(to,
            "usage: sluiced [-c FILE]      run in the foreground (default " CONFIG_DEFAULT ")\n"
            "       sluiced --check FILE   check a configuration and exit\n"
            "       sluiced --version\n"
            "\n"
            "exit codes: 0 ended by SIGTERM or SIGINT, 1 run time, 2 usage, 3 configuration,\n"
            "            4 EAL or device, 5 socket held by a live daemon, 6 path is no socket\n");
}

struct options {
    const char *file;
    bool check;
};

/* -1 to go on, else the exit code. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *options = (struct options){.file = CONFIG_DEFAULT};
    while ((option = getopt_long(argc, argv, "c:hV", known, NULL)) != -1) {
        switch (option) {
        case 'k':
            options->check = true;
            __attribute__((fallthrough));
        case 'c':
            options->file = optarg;
            break;
        case 'h':
            usage(stdout);
            return 0;
        case 'V':
            puts("sluiced " SLUICE_VERSION);
            return 0;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return -1;
    usage(stderr);
    return EXIT_USAGE;
}

static int say(int code, const char *why)
{
    fprintf(stderr, "sluiced: %s\n", why);
    return code;
}

static int open_socket(const struct settings *settings, struct control_socket **sock)
{
    char why[512];
    int err = control_socket_open(settings->control.socket, sock, why, sizeof(why));

    if (err == -EADDRINUSE)
        return say(EXIT_SOCKET_HELD, why);
    if (err == -ENOTSOCK)
        return say(EXIT_NOT_A_SOCKET, why);
    return err ? say(EXIT_RUN_TIME, why) : 0;
}

/* EAL ends the process itself, and with 0 at that, when eal.extra asks for its help. */
static struct start {
    const struct settings *settings; /* NULL: no start is under way */
    struct control_socket *sock;
} start;

static void end_during_start(void)
{
    if (!start.settings)
        return;
    control_socket_close(start.sock);
    fflush(stdout);
    fprintf(stderr, "sluiced: EAL ended the process; eal.extra is \"%s\"\n",
            start.settings->dataplane.eal.extra);
    _exit(EXIT_DEVICE);
}

/* Behind the socket: who holds that has the list's file alone. */
static int open_denied(struct plane *plane)
{
    struct settings *settings = plane->settings;

    plane->denied_now_ns = realtime_ns();
    plane->denied = deny_open(settings->control.deny, plane->denied_now_ns / 1000000000, stderr);
    if (!plane->denied)
        return say(EXIT_RUN_TIME, "no memory for the deny list");
    if (plane->denied->n)
        fprintf(stderr, "sluiced: %s: %u network(s) denied\n", settings->control.deny,
                plane->denied->n);
    settings->policy.denied = plane->denied->networks;
    settings->policy.n_denied = plane->denied->n;
    return 0;
}

/* The policy goes to the data plane; on failure it is freed here. */
static int create_dataplane(struct plane *plane)
{
    const struct policy_spec *spec = &plane->settings->policy;
    const struct admission_size ids = {.n_tenants = spec->n_tenants,
                                       .n_services = spec->n_services,
                                       .n_workers = plane->settings->dataplane.eal.n_workers};
    struct policy *policy;
    char why[512];
    int err = policy_create(spec, &policy);

    if (err)
        return say(EXIT_CONFIGURATION,
                   err == -ENOMEM ? "no memory for the policy" : "the policy contradicts itself");
    err = xdp_start(plane->settings, policy, &plane->xdp, why, sizeof(why));
    if (!err) {
        err = dataplane_create(&plane->settings->dataplane, &ids, policy, &plane->dataplane, why,
                               sizeof(why));
        if (!err) {
            xdp_serve(plane->xdp, plane->dataplane);
            return 0;
        }
        xdp_tell_said();
    }
    policy_free(policy);
    return say(EXIT_DEVICE, why);
}

static int run(struct plane *plane, struct control_socket *sock)
{
    int err = dataplane_start(plane->dataplane);

    if (!err) {
        plane->started_ns = monotonic_ns();
        fprintf(stderr, "sluiced: ready: %u gate(s), %u worker(s), %s memory, socket %s\n",
                plane->settings->dataplane.n_gates, dataplane_worker_count(plane->dataplane),
                dataplane_memory(plane->dataplane), plane->settings->control.socket);
        err = events_run(plane, sock);
    }
    return err ? say(EXIT_RUN_TIME, strerror(-err)) : 0;
}

/* With a worker that cannot be stopped nothing may be freed: the kernel clears up. */
static _Noreturn void leave(struct control_socket *sock, const char *why)
{
    control_socket_close(sock);
    _exit(say(EXIT_RUN_TIME, why));
}

static void stop(struct plane *plane, struct control_socket *sock)
{
    char why[128];

    if (dataplane_stop(plane->dataplane, why, sizeof(why)) != 0)
        leave(sock, why);
    fprintf(stderr, "sluiced: stopped\n");
    dataplane_destroy(plane->dataplane);
}

/* Cheap checks first: nobody waits for EAL to learn that the socket is taken. */
static int run_on(struct settings *settings)
{
    struct plane plane = {.settings = settings};
    struct control_socket *sock;
    int code = open_socket(settings, &sock);

    if (code)
        return code;
    start = (struct start){settings, sock};
    code = open_denied(&plane);
    if (!code)
        code = create_dataplane(&plane);
    start.settings = NULL;
    if (!code) {
        code = run(&plane, sock);
        stop(&plane, sock);
    }
    xdp_stop(plane.xdp);
    deny_close(plane.denied);
    control_socket_close(sock);
    return code;
}

/* -1 to go on, else the exit code. */
static int load(const struct options *options, struct settings **settings)
{
    const struct config_host host = config_this_host(!options->check);
    int err = config_load(options->file, &host, stderr, settings);

    if (err == -ENODEV)
        return say(EXIT_DEVICE, "this machine lacks what its configuration names");
    return err ? EXIT_CONFIGURATION : -1;
}

int main(int argc, char **argv)
{
    struct settings *settings;
    struct options options;
    int code = parse_options(argc, argv, &options);

    if (code >= 0)
        return code;
    setvbuf(stderr, NULL, _IOLBF, 0);
    atexit(end_during_start);
    signal(SIGHUP, SIG_IGN); /* a terminal that goes away must not close the door */
    code = load(&options, &settings);
    if (code >= 0)
        return code;
    if (options.check)
        printf("%s: good\n", options.file);
    else if (events_block_signals() != 0)
        code = EXIT_RUN_TIME;
    else
        code = run_on(settings);
    config_free(settings);
    return code < 0 ? 0 : code;
}
