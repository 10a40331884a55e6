/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens when: events by time, those of the same time in the order in which they were put.
 * Nothing is taken out: an event carries the generation its subject had, and whoever gets it sees
 * whether that is still the one. One thread.
 */
#ifndef SLUICE_SIM_AGENDA_H
#define SLUICE_SIM_AGENDA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct event {
    double at_s;
    uint64_t order;
    uint32_t what;
    uint32_t subject;
    uint32_t generation;
};

struct agenda {
    struct event *heap; /* of four branches */
    uint32_t n, room;
    uint64_t next_order;
};

void agenda_free(struct agenda *agenda);
/* False: out of memory. */
bool agenda_put(struct agenda *agenda, const struct event *event); /* but for its order */
/* When the next is due; INFINITY: never. */
static inline double agenda_next_s(const struct agenda *agenda)
{
    return agenda->n ? agenda->heap[0].at_s : INFINITY;
}
/* The next; false: none. */
bool agenda_take(struct agenda *agenda, struct event *event);

#endif
