/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When work ends on a few slots with one fixed service time behind one FIFO queue without a bound.
 *
 * As nothing leaves the queue early, the end is known on arrival: the slot free first takes the
 * work at max(its end, arrival). Ends follow from each other and not from when a process woke up,
 * so a saturated service does exactly slots / service time, and ends come in the order of arrival.
 */
#ifndef SLUICE_LAB_QUEUE_H
#define SLUICE_LAB_QUEUE_H

#include <stdint.h>

#define QUEUE_SLOTS_MAX 1024u

struct queue {
    uint32_t n_slots,
        next; /* next: the slot free first; ends are ascending from there, in a ring */
    uint64_t service_ns;
    uint64_t end_ns[QUEUE_SLOTS_MAX];
};

/* Returns when work that arrives at `now_ns` (never earlier than the last arrival) will end. */
static inline uint64_t queue_arrive(struct queue *queue, uint64_t now_ns)
{
    uint64_t *end_ns = &queue->end_ns[queue->next];

    *end_ns = (*end_ns > now_ns ? *end_ns : now_ns) + queue->service_ns;
    queue->next = queue->next + 1 == queue->n_slots ? 0 : queue->next + 1;
    return *end_ns;
}

#endif
