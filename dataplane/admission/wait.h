/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Those who wait in front of a full service: one worker's waiters, in lines.
 *
 * A struct wait_pool holds all waiters of a worker, a struct wait_queue those of one service on
 * that worker. Both belong to the worker: nothing here is shared, but for wait_length() and
 * wait_oldest_since_ns(). How many wait over all workers is bounded by the caller, with a window
 * (window.h) of places, taken before wait_add() and given back after wait_remove(). While anybody
 * holds a place, newcomers wait as well, on whatever worker: nobody overtakes.
 *
 * A line is what one class of one tenant's share has waiting. Between lines deficit round robin
 * (Shreedhar, Varghese, 1996): every waiter costs 1, so that of all deficits only that of the line
 * whose turn it is can be above zero. Within a line the service's order.
 *
 * Everything is O(1), except that an earlier deadline walks past the later ones of its line
 * (ORDER_DEADLINE). The bound is the pool's size.
 */
#ifndef SLUICE_ADMISSION_WAIT_H
#define SLUICE_ADMISSION_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/share.h"
#include "dataplane/policy/policy.h"

#define WAIT_LINES_MAX ((SHARES_MAX + 1) * CLASS_MAX) /* a bit each in a 64-bit word */
#define WAIT_ALL_LINES (((uint64_t)1 << WAIT_LINES_MAX) - 1)
#define WAIT_NONE      UINT32_MAX
#define WAIT_FOREVER   UINT64_MAX /* as `until_ns`: no deadline */

/* The caller fills in all but the links and the line; wait.c never looks at what it does not name.
 */
struct waiter {
    uint64_t cookie;                    /* the caller's: what waits */
    uint64_t since_ns;                  /* never before that of the waiter added last */
    uint64_t until_ns;                  /* deadline */
    uint64_t client, flow;              /* the caller's: hashes */
    uint32_t older, newer;              /* of its class on this queue; `newer` links free ones */
    uint32_t before, behind;            /* in its line */
    uint32_t service, tenant, ip_bytes; /* the caller's */
    uint32_t isn;                       /* the caller's: of a SYN */
    uint8_t line;                       /* wait_line(share, class) */
    uint8_t class, share, flags;        /* flags: the caller's */
} __attribute__((aligned(64)));

struct wait_pool {
    uint32_t max, used, free; /* free: the first one, WAIT_NONE: none */
    struct waiter waiters[];
};

struct wait_ends {
    uint32_t first, last; /* WAIT_NONE: empty */
};

struct wait_queue {
    uint64_t lines;                       /* a bit for each that is not empty */
    uint64_t oldest_since_ns;             /* UINT64_MAX: nobody waits; relaxed, for other threads */
    uint64_t length;                      /* relaxed, for other threads */
    uint32_t left;                        /* deficit of the line whose turn it is */
    uint8_t turn;                         /* that line */
    struct wait_ends arrivals[CLASS_MAX]; /* oldest first */
    struct wait_ends line[WAIT_LINES_MAX];
    uint32_t weight[WAIT_LINES_MAX];
};

static inline uint8_t wait_line(uint8_t share, uint8_t class)
{
    return (uint8_t)(share * CLASS_MAX + class);
}

/* A set of lines: all of one class, and all of one share. */
uint64_t wait_class_lines(enum policy_class class);
uint64_t wait_share_lines(unsigned share);

/* Memory is the caller's, 64-byte aligned, of that many bytes; nothing to free but the memory. */
size_t wait_pool_bytes(uint32_t max);
struct wait_pool *wait_pool_init(void *memory, uint32_t max);

/* An empty queue; every line has weight 1. */
void wait_queue_init(struct wait_queue *queue);

/* How many waiters a line may send in one turn, 1 or more. From its next turn on. */
void wait_set_weight(struct wait_queue *queue, unsigned line, uint32_t weight);

/* A waiter's number in the pool, for whoever must find it again, and back. */
static inline uint32_t wait_index(const struct wait_pool *pool, const struct waiter *waiter)
{
    return (uint32_t)(waiter - pool->waiters);
}

static inline struct waiter *wait_at(struct wait_pool *pool, uint32_t index)
{
    return &pool->waiters[index];
}

/* Adds a copy of `proto` to the line of its share and class. NULL: the pool is full. After a change
 * of order, those who wait keep their places; it is in force once they are gone. */
struct waiter *wait_add(struct wait_pool *pool, struct wait_queue *queue,
                        const struct waiter *proto, enum policy_order order);

/* Takes out a waiter, for whatever cause: released, expired, displaced, cancelled. Its contents may
 * be read until the next wait_add(). */
void wait_remove(struct wait_pool *pool, struct wait_queue *queue, struct waiter *waiter);

/* Who has waited longest, for expiry by age; NULL: nobody waits. */
struct waiter *wait_oldest(struct wait_pool *pool, const struct wait_queue *queue);

/*
 * Who is next among the lines in `allowed`, and NULL if nobody. Changes nothing: once the slot is
 * taken, wait_taken(), then wait_remove(); if there is none for him, ask again without his line.
 * `overloaded` as wait_sojourn says, for ORDER_ADAPTIVE.
 */
struct waiter *wait_next(struct wait_pool *pool, const struct wait_queue *queue,
                         enum policy_order order, bool overloaded, uint64_t allowed);
void wait_taken(struct wait_queue *queue, const struct waiter *waiter);

/*
 * Of the lines in `allowed` that wait, those whose share holds the fewest slots for its weight: for
 * wait_next(), so that lent slots are shared by the time they are held. Turns alone would give the
 * same number of slots to everybody, and so ten times the service to work that takes ten times as
 * long. `shares` and `rules` as of share_acquire(); without shares, all that is allowed.
 */
uint64_t wait_neediest(const struct wait_queue *queue, const struct window *shares,
                       const struct share_rules *rules, unsigned n_shares, uint64_t allowed);

/* Who has to go for one of `class`: of the lowest class that waits the newest, who has least to
 * lose. NULL: nobody of a lower class waits here. */
struct waiter *wait_newest_of(struct wait_pool *pool, const struct wait_queue *queue,
                              enum policy_class class);

/* How many wait and since when the oldest does (UINT64_MAX: nobody). Any thread, values of a
 * moment. */
static inline uint64_t wait_length(const struct wait_queue *queue)
{
    return __atomic_load_n(&queue->length, __ATOMIC_RELAXED);
}

static inline uint64_t wait_oldest_since_ns(const struct wait_queue *queue)
{
    return __atomic_load_n(&queue->oldest_since_ns, __ATOMIC_RELAXED);
}

/*
 * Does a queue merely absorb bursts, or does it stand? The rule of CoDel (RFC 8289): it stands once
 * the shortest stay has been above a target for an interval, and no longer once one was not.
 *
 * What is noted is the age of the oldest waiter whenever one is let in, and 0 whenever an attempt
 * enters without waiting: with the newest first, the stay of those let in says nothing any more.
 */
#define WAIT_TARGET_NS   5000000ull
#define WAIT_INTERVAL_NS 100000000ull

struct wait_sojourn {
    uint64_t above_since_ns;
    bool above; /* the target, ever since then */
    bool overloaded;
};

static inline void wait_sojourn_note(struct wait_sojourn *s, uint64_t sojourn_ns, uint64_t now_ns)
{
    if (sojourn_ns <= WAIT_TARGET_NS) {
        s->above = false;
        s->overloaded = false;
    } else if (!s->above) {
        s->above = true;
        s->above_since_ns = now_ns;
    } else if (now_ns - s->above_since_ns >= WAIT_INTERVAL_NS) {
        s->overloaded = true;
    }
}

#endif
