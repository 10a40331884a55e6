/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's control side without a data plane, for sluicectl to talk to.
 * usage: fake_daemon SOCKET TENANTS; ends when its standard input does.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "control/serve/socket.h"
#include "control/serve/verbs.h"
#include "tests/unit/fake_dataplane.h"
#include "tests/unit/fake_xdp.h"

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    struct control_socket *sock;
    struct fake *fake;
    char why[256];

    if (argc != 3)
        return 2;
    if (control_socket_open(argv[1], &sock, why, sizeof(why)) < 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    fake = fake_create((uint32_t)atoi(argv[2]));
    fake->plane.xdp = fake_xdp();
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = control_socket_fd(sock), .events = POLLIN}};

        if (poll(fds, 2, 500) > 0 && fds[0].revents)
            break;
        control_socket_serve(sock, verbs_answer, &fake->plane, now_ns());
    }
    control_socket_close(sock);
    fake_destroy(fake);
    return 0;
}
