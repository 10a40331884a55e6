/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work on a few slots with one service time, behind one FIFO queue without a bound.
 *
 * Starts and ends follow from each other and not from when a process woke up: a slot takes the
 * oldest work that waits at the very end of its last, so a saturated service does exactly
 * slots / service time. The service time may change meanwhile; work keeps the one it started with.
 */
#ifndef SLUICE_LAB_QUEUE_H
#define SLUICE_LAB_QUEUE_H

#include <stdint.h>

#define QUEUE_SLOTS_MAX 1024u

/* Owned by the caller, who leaves it alone from queue_arrive() until queue_finish() returns it. */
struct queue_work {
    struct queue_work *next;
    uint64_t arrival_ns, end_ns; /* end_ns: 0 until it starts */
};

struct queue {
    uint32_t n_slots, n_running;
    uint64_t n_waiting;
    uint64_t service_ns;                         /* of what starts from now on */
    struct queue_work *running, *last_running;   /* at most n_slots, in order of their end */
    struct queue_work *waiting, *newest_waiting; /* in order of arrival */
};

/* `now_ns` is never earlier than at the last call of this. */
void queue_arrive(struct queue *queue, struct queue_work *work, uint64_t now_ns);

/* The work that ended first, if by `now_ns`, and no longer in the queue; NULL when there is none.
 * Call until NULL before changing the service time: what should have started by now then has. */
struct queue_work *queue_finish(struct queue *queue, uint64_t now_ns);

#endif
