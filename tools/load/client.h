/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request's life: a fresh connection or datagram socket, one request, one reply.
 * With `keep_alive` the connection, if the service leaves it open after a whole reply, is used
 * again by a later request, the one that has been idle for longest first.
 *
 * An honest open-loop client: it is sent when the schedule says so whatever became of the others,
 * its latency counts from that intended time even if the generator was late itself, and it gives up
 * at its timeout as people do, closing the connection. What the service then still does for it is
 * the service's own affair, and the point of the exercise.
 */
#ifndef SLUICE_LOAD_CLIENT_H
#define SLUICE_LOAD_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/load/options.h"
#include "tools/load/protocol.h"
#include "tools/load/results.h"
#include "tools/load/schedule.h"

struct client {
    const struct load_options *options;
    struct results *results;
    struct event_base *base;
    uint64_t start_ns; /* of the run, CLOCK_MONOTONIC */
    struct attempt *pool;
    uint32_t pool_size;
    TAILQ_HEAD(attempt_list, attempt) free, idle; /* idle: with an open connection */
    bool draining;
    uint64_t random;    /* what the ids of attempts are drawn from */
    int not_sent_errno; /* why the last request that could not be sent was not */
    struct request_text texts[LOAD_KINDS_MAX];
};

/* Options, results and the event base outlive the client. 0 or -ENOMEM. */
int client_init(struct client *client, const struct load_options *options, struct results *results,
                struct event_base *base);
void client_free(struct client *client);

/* Starts the request that is due; its outcome is in the results once, now or later. */
void client_send(struct client *client, const struct arrival *arrival);

/* After the last request: connections are closed as they fall idle, those that are at once. */
void client_drain(struct client *client);

uint64_t client_clock_ns(void);

#endif
