/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/queue.h"

#include <stddef.h>

static void run_from(struct queue *queue, struct queue_work *work, uint64_t start_ns)
{
    struct queue_work **link = &queue->running;

    work->end_ns = start_ns + queue->service_ns;
    /* Only after a change of the service time it may end before others. */
    if (queue->n_running && queue->last_running->end_ns <= work->end_ns)
        link = &queue->last_running->next;
    while (*link && (*link)->end_ns <= work->end_ns)
        link = &(*link)->next;
    work->next = *link;
    *link = work;
    if (!work->next)
        queue->last_running = work;
    queue->n_running++;
}

void queue_arrive(struct queue *queue, struct queue_work *work, uint64_t now_ns)
{
    *work = (struct queue_work){.arrival_ns = now_ns};
    if (queue->n_running < queue->n_slots) {
        run_from(queue, work, now_ns);
        return;
    }
    if (queue->n_waiting++)
        queue->newest_waiting->next = work;
    else
        queue->waiting = work;
    queue->newest_waiting = work;
}

struct queue_work *queue_finish(struct queue *queue, uint64_t now_ns)
{
    struct queue_work *done = queue->running, *next = queue->waiting;

    if (!done || done->end_ns > now_ns)
        return NULL;
    queue->running = done->next;
    queue->n_running--;
    if (next) {
        queue->waiting = next->next;
        queue->n_waiting--;
        /* It may have come after this end, which was not yet known to be one. */
        run_from(queue, next, done->end_ns > next->arrival_ns ? done->end_ns : next->arrival_ns);
    }
    return done;
}
