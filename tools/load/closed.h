/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A closed loop: so many clients, each of which asks again when its last work has ended. A service
 * that becomes slow is asked less, so the waiting that an open loop shows is not there to be
 * measured (coordinated omission): what this is for is to show that difference.
 */
#ifndef SLUICE_LOAD_CLOSED_H
#define SLUICE_LOAD_CLOSED_H

#include "tools/load/client.h"

struct loop;
struct visitor;

struct closed {
    struct client *client;
    uint32_t n_loops;
    struct loop *loops;
    struct visitor *visitors;
    uint64_t started; /* pieces of work */
};

/* Plans the loops that the options or their scenario ask for, if any; each client is a producer of
 * work until its loop is over. 0 or -ENOMEM, also then closed_free(). */
int closed_start(struct closed *closed, struct client *client);
/* Once the event loop has ended. */
void closed_free(struct closed *closed);

#endif
