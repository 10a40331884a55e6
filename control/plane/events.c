/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/events.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "control/plane/sample.h"
#include "control/plane/xdp.h"
#include "control/serve/verbs.h"

#define NS_PER_S 1000000000ull

enum { FD_SIGNAL, FD_TIMER, FD_SOCKET, FD_COUNT };

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t monotonic_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

uint64_t realtime_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}

static sigset_t ending_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

int events_block_signals(void)
{
    sigset_t set = ending_signals();

    return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int open_timer(uint64_t period_ns)
{
    const struct itimerspec every = {
        .it_interval = {(time_t)(period_ns / NS_PER_S), (long)(period_ns % NS_PER_S)},
        .it_value = {(time_t)(period_ns / NS_PER_S), (long)(period_ns % NS_PER_S)},
    };
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd >= 0)
        timerfd_settime(fd, 0, &every, NULL);
    return fd;
}

static void clear(int fd)
{
    uint64_t ticks;

    if (read(fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
        perror("sluiced: timer");
}

static void serve_until_signal(struct plane *plane, struct control_socket *sock,
                               struct pollfd fds[FD_COUNT])
{
    struct sampler sampler = {.last_ns = 0};

    for (;;) {
        if (poll(fds, FD_COUNT, -1) < 0) {
            if (errno == EINTR)
                continue;
            perror("sluiced: poll");
            return;
        }
        if (fds[FD_SIGNAL].revents)
            return;
        if (fds[FD_TIMER].revents) {
            clear(fds[FD_TIMER].fd);
            dataplane_tend(plane->dataplane);
            xdp_tend(plane->xdp);
            sample_collect(&sampler, plane, monotonic_ns());
            plane_tend_denied(plane, realtime_ns());
        }
        plane->denied_now_ns = realtime_ns();
        plane->clients = control_socket_clients(sock);
        control_socket_serve(sock, verbs_answer, plane, monotonic_ns());
    }
}

int events_run(struct plane *plane, struct control_socket *sock)
{
    sigset_t set = ending_signals();
    struct pollfd fds[FD_COUNT] = {
        [FD_SIGNAL] = {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN},
        [FD_TIMER] = {.fd = open_timer(plane->settings->control.period_ns), .events = POLLIN},
        [FD_SOCKET] = {.fd = control_socket_fd(sock), .events = POLLIN},
    };
    int err = fds[FD_SIGNAL].fd < 0 || fds[FD_TIMER].fd < 0 ? -errno : 0;

    if (!err)
        serve_until_signal(plane, sock, fds);
    close(fds[FD_SIGNAL].fd);
    close(fds[FD_TIMER].fd);
    return err;
}
