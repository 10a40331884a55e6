/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A door in front of one service, as small as it can be: windows of slots and of places to wait,
 * shares and reservations, and a queue for each of several workers. What tests of waiting play
 * with; one thread plays all workers.
 */
#ifndef SLUICE_TESTS_DOOR_H
#define SLUICE_TESTS_DOOR_H

#include <stdlib.h>

#include "dataplane/admission/reserve.h"
#include "dataplane/admission/wait.h"

#define DOOR_WORKERS_MAX 4

struct door_rules {
    uint32_t slots, places;
    uint32_t slot_reserve[CLASS_MAX], place_reserve[CLASS_MAX];
    struct share_rules slot_shares[SHARES_MAX + 1], place_shares[SHARES_MAX + 1];
    unsigned n_shares;
    enum policy_order order;
    bool turns_alone; /* hands out without a look at who needs it most */
    uint64_t age_ns;  /* WAIT_FOREVER: no bound */
};

struct door {
    struct door_rules rules;
    struct window slots, slots_of[SHARES_MAX + 1];
    struct window places, places_of[SHARES_MAX + 1];
    unsigned n_workers;
    struct wait_pool *pools[DOOR_WORKERS_MAX];
    struct wait_queue queues[DOOR_WORKERS_MAX];
    struct wait_sojourn sojourns[DOOR_WORKERS_MAX];
};

enum door_event { DOOR_NOTHING, DOOR_ENTERED, DOOR_WAITS, DOOR_REFUSED, DOOR_EXPIRED };

static inline void door_start(struct door *d, const struct door_rules *rules, unsigned n_workers)
{
    *d = (struct door){.rules = *rules, .n_workers = n_workers};
    for (unsigned i = 0; i < n_workers; i++) {
        void *memory = aligned_alloc(64, wait_pool_bytes(rules->places));

        if (!memory)
            abort();
        d->pools[i] = wait_pool_init(memory, rules->places);
        wait_queue_init(&d->queues[i]);
        for (unsigned line = 0; line < rules->n_shares * CLASS_MAX; line++)
            wait_set_weight(&d->queues[i], line, rules->slot_shares[line / CLASS_MAX].weight);
    }
}

static inline void door_stop(struct door *d)
{
    for (unsigned i = 0; i < d->n_workers; i++)
        free(d->pools[i]);
}

static inline enum share_answer door_take_slot(struct door *d, const struct waiter *w)
{
    const struct door_rules *r = &d->rules;

    return share_acquire(&d->slots, d->slots_of, r->slot_shares, r->n_shares, w->share,
                         reserve_limit(r->slots, r->slot_reserve, w->class));
}

/* The work of one that entered has ended. */
static inline void door_leave(struct door *d, const struct waiter *w)
{
    share_release(&d->slots, d->slots_of, d->rules.n_shares, w->share);
}

static inline enum share_answer door_take_place(struct door *d, const struct waiter *w)
{
    const struct door_rules *r = &d->rules;

    return share_acquire(&d->places, d->places_of, r->place_shares, r->n_shares, w->share,
                         reserve_limit(r->places, r->place_reserve, w->class));
}

/* Takes a waiter out of its queue and gives its place back: after its slot was taken, if it gets
 * one, so that nobody comes between. */
static inline void door_remove(struct door *d, unsigned worker, struct waiter *w)
{
    wait_remove(d->pools[worker], &d->queues[worker], w);
    share_release(&d->places, d->places_of, d->rules.n_shares, w->share);
}

/* A newcomer on a worker. Who was displaced for it is copied to `displaced`, with share
 * UINT8_MAX if nobody was. */
static inline enum door_event door_offer(struct door *d, unsigned worker,
                                         const struct waiter *newcomer, struct waiter *displaced)
{
    struct wait_pool *pool = d->pools[worker];
    struct wait_queue *queue = &d->queues[worker];
    enum share_answer place;
    struct waiter *victim;

    displaced->share = UINT8_MAX;
    if (window_used(&d->places) == 0 && door_take_slot(d, newcomer) == SHARE_TAKEN) {
        wait_sojourn_note(&d->sojourns[worker], 0, newcomer->since_ns);
        return DOOR_ENTERED;
    }
    place = door_take_place(d, newcomer);
    victim = wait_newest_of(pool, queue, newcomer->class);
    if (place == SHARE_FULL && victim) {
        *displaced = *victim;
        door_remove(d, worker, victim);
        place = door_take_place(d, newcomer);
    }
    if (place != SHARE_TAKEN)
        return DOOR_REFUSED;
    if (!wait_add(pool, queue, newcomer, d->rules.order))
        abort(); /* a pool has room for all places */
    return DOOR_WAITS;
}

/* What a worker does for its waiters between two bursts, one at a time: until DOOR_NOTHING. */
static inline enum door_event door_poll(struct door *d, unsigned worker, uint64_t now_ns,
                                        struct waiter *out)
{
    struct wait_pool *pool = d->pools[worker];
    struct wait_queue *queue = &d->queues[worker];
    struct wait_sojourn *sojourn = &d->sojourns[worker];
    struct waiter *w = wait_oldest(pool, queue);
    uint64_t allowed = WAIT_ALL_LINES;
    bool expired = w && now_ns - w->since_ns > d->rules.age_ns;
    uint64_t age_ns = w ? now_ns - w->since_ns : 0;

    while (!expired) {
        uint64_t lines = d->rules.turns_alone
                             ? allowed
                             : wait_neediest(queue, d->slots_of, d->rules.slot_shares,
                                             d->rules.n_shares, allowed);

        w = wait_next(pool, queue, d->rules.order, sojourn->overloaded, lines);
        if (!w)
            break;
        expired = w->until_ns < now_ns;
        if (expired || door_take_slot(d, w) == SHARE_TAKEN)
            break;
        allowed &= ~((uint64_t)1 << w->line);
    }
    if (!w)
        return DOOR_NOTHING;
    *out = *w;
    if (!expired) {
        wait_taken(queue, w);
        wait_sojourn_note(sojourn, age_ns, now_ns);
    }
    door_remove(d, worker, w);
    return expired ? DOOR_EXPIRED : DOOR_ENTERED;
}

#endif
