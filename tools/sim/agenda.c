/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/agenda.h"

#include <stdlib.h>

#define BRANCHES   4u
#define FIRST_ROOM 1024u

void agenda_free(struct agenda *agenda)
{
    free(agenda->heap);
    *agenda = (struct agenda){0};
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_s < b->at_s || (a->at_s == b->at_s && a->order < b->order);
}

static bool grow(struct agenda *agenda)
{
    uint32_t room = agenda->room ? 2 * agenda->room : FIRST_ROOM;
    struct event *heap = realloc(agenda->heap, room * sizeof(*heap));

    if (!heap)
        return false;
    agenda->heap = heap;
    agenda->room = room;
    return true;
}

bool agenda_put(struct agenda *agenda, const struct event *event)
{
    struct event new = *event;
    uint32_t i = agenda->n;

    if (i == agenda->room && !grow(agenda))
        return false;
    new.order = agenda->next_order++;
    agenda->n++;
    while (i > 0) {
        uint32_t above = (i - 1) / BRANCHES;

        if (!is_before(&new, &agenda->heap[above]))
            break;
        agenda->heap[i] = agenda->heap[above];
        i = above;
    }
    agenda->heap[i] = new;
    return true;
}

static uint32_t earliest_below(const struct agenda *agenda, uint32_t i)
{
    uint32_t first = BRANCHES * i + 1, end = first + BRANCHES;
    uint32_t best = first;

    if (end > agenda->n)
        end = agenda->n;
    for (uint32_t k = first + 1; k < end; k++)
        if (is_before(&agenda->heap[k], &agenda->heap[best]))
            best = k;
    return best;
}

bool agenda_take(struct agenda *agenda, struct event *event)
{
    struct event last;
    uint32_t i = 0;

    if (!agenda->n)
        return false;
    *event = agenda->heap[0];
    last = agenda->heap[--agenda->n];
    while (BRANCHES * i + 1 < agenda->n) {
        uint32_t below = earliest_below(agenda, i);

        if (!is_before(&agenda->heap[below], &last))
            break;
        agenda->heap[i] = agenda->heap[below];
        i = below;
    }
    if (agenda->n)
        agenda->heap[i] = last;
    return true;
}
