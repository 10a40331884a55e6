/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service behind a door (door.h), in virtual time: work begins when it enters and takes as long
 * as its `cookie` says. Arrivals are the caller's, one after the other; every event is noted.
 */
#ifndef SLUICE_TESTS_SHOP_H
#define SLUICE_TESTS_SHOP_H

#include "tests/unit/door.h"

#define SHOP_SLOTS_MAX 64

struct shop {
    struct door door;
    uint64_t now_ns;
    struct waiter work[SHOP_SLOTS_MAX];
    uint64_t done_ns[SHOP_SLOTS_MAX]; /* UINT64_MAX: free */
    unsigned turn;                    /* worker that is polled first */
    void (*note)(struct shop *shop, enum door_event event, const struct waiter *w);
    void *context; /* the caller's */
};

static inline void shop_start(struct shop *s, const struct door_rules *rules, unsigned n_workers)
{
    door_start(&s->door, rules, n_workers);
    for (unsigned i = 0; i < SHOP_SLOTS_MAX; i++)
        s->done_ns[i] = UINT64_MAX;
}

static inline void shop_stop(struct shop *s)
{
    door_stop(&s->door);
}

static inline void shop_note(struct shop *s, enum door_event event, const struct waiter *w)
{
    unsigned i = 0;

    if (event == DOOR_ENTERED) {
        while (s->done_ns[i] != UINT64_MAX)
            i++;
        s->work[i] = *w;
        s->done_ns[i] = s->now_ns + w->cookie;
    }
    s->note(s, event, w);
}

static inline void shop_poll(struct shop *s)
{
    for (unsigned i = 0; i < s->door.n_workers; i++) {
        unsigned worker = (s->turn + i) % s->door.n_workers;
        enum door_event event;
        struct waiter w;

        while ((event = door_poll(&s->door, worker, s->now_ns, &w)) != DOOR_NOTHING)
            shop_note(s, event, &w);
    }
    s->turn = (s->turn + 1) % s->door.n_workers;
}

/* Lets time pass until `until_ns`; work that ends at that moment has ended. */
static inline void shop_advance(struct shop *s, uint64_t until_ns)
{
    for (;;) {
        unsigned first = 0;

        for (unsigned i = 1; i < s->door.rules.slots; i++)
            if (s->done_ns[i] < s->done_ns[first])
                first = i;
        if (s->done_ns[first] > until_ns)
            break;
        s->now_ns = s->done_ns[first];
        s->done_ns[first] = UINT64_MAX;
        door_leave(&s->door, &s->work[first]);
        shop_poll(s);
    }
    s->now_ns = until_ns;
}

/* Somebody comes, on a worker; work that ends at that moment has ended before. */
static inline void shop_arrive(struct shop *s, unsigned worker, const struct waiter *who,
                               uint64_t now_ns)
{
    struct waiter newcomer = *who, displaced;
    enum door_event event;

    shop_advance(s, now_ns);
    newcomer.since_ns = now_ns;
    event = door_offer(&s->door, worker, &newcomer, &displaced);
    if (displaced.share != UINT8_MAX)
        shop_note(s, DOOR_REFUSED, &displaced);
    shop_note(s, event, &newcomer);
    shop_poll(s);
}

#endif
