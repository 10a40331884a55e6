/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/xdp/xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

int xsk_open(void)
{
    const int entries = 64;
    const int number = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    int error;

    if (number < 0)
        return -errno;
    error = setsockopt(number, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) ? -errno : 0;
    if (error)
        close(number);
    return error ? error : number;
}
