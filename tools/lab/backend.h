/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lab's service: a fixed number of slots, one service time, a FIFO queue without a bound of its
 * own, and no interest in whether anybody still waits: work that was abandoned is done to its end.
 * That is what makes it collapse under overload, and what Sluice is to prevent.
 *
 * The service time is slots / pace, where the pace is what all slots together answer per second.
 *
 * Bounds: `connections_max` connections (more are accepted and closed at once, counted as refused),
 * BACKEND_HEAD_MAX_BYTES of request head (431), BACKEND_IDLE_S for a request to come (closed).
 */
#ifndef SLUICE_LAB_BACKEND_H
#define SLUICE_LAB_BACKEND_H

#include <event2/event.h>
#include <event2/listener.h>
#include <stdint.h>

#include "tools/lab/census.h"
#include "tools/lab/queue.h"

#define BACKEND_CONNECTIONS_MAX 65536u
#define BACKEND_HEAD_MAX_BYTES  2048u
#define BACKEND_IDLE_S          60
#define BACKEND_PACE_MAX        1000000u /* per second */
#define BACKEND_BACKLOG         65535    /* the kernel lowers it to net.core.somaxconn */

struct backend {
    struct event_base *base;
    struct event *timer; /* the next end of work */
    struct queue queue;
    uint64_t in_queue_peak; /* slots included */
    uint32_t connections_max;
    uint64_t served, abandoned, refused, pace_changes;
    struct census census; /* connections between accept and close */
};

/* 0 or -ENOMEM. The base, slots and connections_max are set by the caller. */
int backend_init(struct backend *backend, uint64_t per_s);
/* From now on requests start at this pace, 1..BACKEND_PACE_MAX. */
void backend_set_pace(struct backend *backend, uint64_t per_s);
/* Requests that wait or run. */
uint64_t backend_in_queue(const struct backend *backend);
/* A callback of evconnlistener. */
void backend_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
                    int length, void *backend);

#endif
