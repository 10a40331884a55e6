/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One attempt's life: a fresh connection or datagram socket, one request, one reply.
 * With `keep_alive` the connection, if the service leaves it open after a whole reply, is used
 * again by a later attempt, the one that has been idle for longest first.
 *
 * An honest client: its latency counts from the intended time of the work even if the generator was
 * late itself, and it gives up at its timeout as people do, closing the connection. What the
 * service then still does for it is the service's own affair, and the point of the exercise.
 */
#ifndef SLUICE_LOAD_CLIENT_H
#define SLUICE_LOAD_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/time.h>

#include "tools/load/options.h"
#include "tools/load/protocol.h"
#include "tools/load/results.h"
#include "tools/load/schedule.h"
#include "tools/scenario/draw.h"

/* Descriptors left to the event loop, the standard streams and the libraries. */
#define CLIENT_DESCRIPTORS_KEPT 32u

struct work;

struct client {
    const struct load_options *options;
    struct results *results;
    struct event_base *base;
    uint64_t start_ns; /* of the run, CLOCK_MONOTONIC */
    struct attempt *pool;
    uint32_t pool_size;
    TAILQ_HEAD(attempt_list, attempt) free, idle; /* idle: with an open connection */
    uint64_t n_works;                             /* under way, those between two attempts too */
    uint32_t n_producers;                         /* that may start work */
    struct random_state draws;                    /* of ids of attempts, waits, and so on */
    int not_sent_errno; /* why the last attempt that could not be made was not */
    struct request_text texts[LOAD_KINDS_MAX];
};

/* Options, results and the event base outlive the client. 0, -ENOMEM, or -EMFILE: the limit of
 * descriptors leaves none for a connection. */
int client_init(struct client *client, const struct load_options *options, struct results *results,
                struct event_base *base);
void client_free(struct client *client);

/* Makes an attempt at `work`; work_tried() is told how it ended, now or later. */
void client_try(struct client *client, struct work *work);

/* Who started work starts no more. After the last of them idle connections are closed once no work
 * is under way. */
void client_producer_ends(struct client *client);
/* Work has ended; see above. */
void client_rest(struct client *client);

uint64_t client_clock_ns(void);
/* Since the start of the run, 0 before it. */
uint64_t client_run_ns(const struct client *client);
/* From `now_ns` to `then_ns`, rounded up, as libevent wants it; 0 when that has passed. */
struct timeval client_time_left(uint64_t now_ns, uint64_t then_ns);

#endif
