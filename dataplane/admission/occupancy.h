/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A quota in erlangs: slot-seconds per second, over all work of a tenant. It holds a tenant to its
 * share that keeps its rate and sends heavier work.
 *
 * A bucket that is debited when a slot is freed, with the time the slot was held. What work costs
 * is known only then, so the level may fall below zero; while it is there (or at zero) new attempts
 * are refused. Work admitted before is never cut short, so in any interval t occupancy debited <=
 * rate * (OCCUPANCY_BURST + t) + of what was in flight when the level fell to zero for the last
 * time.
 *
 * Levels are in slot-picoseconds: a rate in milli-erlangs earns that many each nanosecond. With a
 * rate <= OCCUPANCY_RATE_MAX and a time held <= OCCUPANCY_HELD_MAX_NS nothing overflows:
 *   capacity = rate * 10^10 ns  <= 6.6e17
 *   debt     <= OCCUPANCY_DEBT_MAX = 4e18, so the level is always within [-4e18, 6.6e17];
 *   a debit  <= 2^52 * 1000 < 4.6e18, so level - debit > -8.7e18 > -2^63;
 *   what time earns is cut at the room below the capacity, <= 4.7e18, and a product beyond 2^64 is
 *   above any room.
 *
 * Shared by all workers: atomics, nothing waits. Attempts only read; a completion costs one atomic
 * for the time that has passed (whoever wins it) and one for what that earned and the debit. A
 * worker that reads between those of another sees less than there is, never more. Times are
 * monotonic ns; one before `last_ns` earns nothing. As with a pool (lease.h), clocks that differ by
 * e may add rate * e to the bound; a worker that is held up inside a call works with an old time.
 * `unlimited` (nobody asks) and 0 (all is refused) are the caller's business.
 */
#ifndef SLUICE_ADMISSION_OCCUPANCY_H
#define SLUICE_ADMISSION_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#define OCCUPANCY_RATE_MAX    65536000u      /* milli-erlangs; at least 1 */
#define OCCUPANCY_BURST_NS    10000000000ull /* capacity: 10 s of the rate */
#define OCCUPANCY_HELD_MAX_NS (1ull << 52)   /* 52 days; longer counts as that */
#define OCCUPANCY_PS_PER_NS   1000           /* slot-picoseconds */
#define OCCUPANCY_PS_PER_MS   1000000000     /* slot-picoseconds */

/* A debt is an hour of the rate at most, and the rest is forgiven: an incident that kept every slot
 * for long must not lock a tenant out for a day. */
#define OCCUPANCY_DEBT_NS 3600000000000ull
#define OCCUPANCY_DEBT_MAX                                                                         \
    4000000000000000000ll /* slot-ps: less than the hour above 1111 erlangs */

/* One cache line of its own; all fields atomic. */
struct occupancy {
    int64_t level;    /* slot-ps at last_ns */
    uint64_t last_ns; /* of the last refill; never moves back */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct occupancy) == 64, "occupancies share no cache line");

static inline int64_t occupancy_most(uint32_t rate)
{
    return (int64_t)(rate * OCCUPANCY_BURST_NS);
}

static inline int64_t occupancy_least(uint32_t rate)
{
    return rate <= OCCUPANCY_DEBT_MAX / OCCUPANCY_DEBT_NS ? -(int64_t)(rate * OCCUPANCY_DEBT_NS)
                                                          : -OCCUPANCY_DEBT_MAX;
}

/* What is earned between two times, at most `room`. */
static inline int64_t occupancy_earned(uint32_t rate, uint64_t last_ns, uint64_t now_ns,
                                       int64_t room)
{
    uint64_t earned;

    if (now_ns <= last_ns || room <= 0)
        return 0;
    if (__builtin_mul_overflow(now_ns - last_ns, rate, &earned) || earned > (uint64_t)room)
        return room;
    return (int64_t)earned;
}

/* Within what the rate allows. */
static inline int64_t occupancy_within(uint32_t rate, int64_t level)
{
    int64_t least = occupancy_least(rate), most = occupancy_most(rate);

    return level < least ? least : level > most ? most : level;
}

/* Adds what was earned to the level, if anything was, and then takes from it. */
static inline void occupancy_book(struct occupancy *o, uint32_t rate, int64_t earned, int64_t spent)
{
    int64_t level = __atomic_load_n(&o->level, __ATOMIC_RELAXED), sum;

    do {
        sum = earned ? occupancy_within(rate, level + earned) : level;
        sum = occupancy_within(rate, sum - spent);
    } while (!__atomic_compare_exchange_n(&o->level, &level, sum, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
}

/* What time has earned, for the caller to book. One worker wins each span of time; the others do
 * not wait for it. */
static inline int64_t occupancy_win(struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    uint64_t last_ns = __atomic_load_n(&o->last_ns, __ATOMIC_ACQUIRE);
    int64_t earned;

    if (now_ns <= last_ns)
        return 0;
    /* The room is that before the span is won: what a full bucket could not hold is not found again
     * by a winner that is held up here while others debit. */
    earned = occupancy_earned(rate, last_ns, now_ns,
                              occupancy_most(rate) - __atomic_load_n(&o->level, __ATOMIC_ACQUIRE));
    return __atomic_compare_exchange_n(&o->last_ns, &last_ns, now_ns, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED)
               ? earned
               : 0;
}

/* A new name's starts full. Control thread, as the next. */
static inline void occupancy_set(struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    __atomic_store_n(&o->last_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&o->level, occupancy_most(rate), __ATOMIC_RELEASE);
}

/* Carries the level from one rate to another: what was earned and what is owed are kept, within the
 * new limits, and nothing is filled up. `from` is 0 if there was no limit: that time earned
 * nothing, so a round trip through `unlimited` buys no burst; zeroed memory starts empty. */
static inline void occupancy_change(struct occupancy *o, uint32_t from, uint32_t to,
                                    uint64_t now_ns)
{
    int64_t earned = occupancy_win(o, from, now_ns);

    if (earned) /* at no rate at all the limits would leave nothing */
        occupancy_book(o, from, earned, 0);
    occupancy_book(o, to, 0, 0);
}

/* Slot-ps at `now_ns`, changing nothing. The level is read before the time it belongs to: in
 * between a refill may only make it look smaller. */
static inline int64_t occupancy_level(const struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    int64_t level = __atomic_load_n(&o->level, __ATOMIC_ACQUIRE);
    uint64_t last_ns = __atomic_load_n(&o->last_ns, __ATOMIC_ACQUIRE);

    return level + occupancy_earned(rate, last_ns, now_ns, occupancy_most(rate) - level);
}

/* May new work start? Spends nothing. */
static inline bool occupancy_allows(const struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    return occupancy_level(o, rate, now_ns) > 0;
}

/* Nanoseconds until new work may start; UINT64_MAX if never. For Retry-After, not for attempts. */
static inline uint64_t occupancy_wait_ns(const struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    int64_t level;

    if (rate == 0)
        return UINT64_MAX;
    level = occupancy_level(o, rate, now_ns);
    return level > 0 ? 0 : (uint64_t)-level / rate + 1;
}

/* Work has ended that held a slot for `held_ns`. Once per slot. */
static inline void occupancy_debit(struct occupancy *o, uint32_t rate, uint64_t held_ns,
                                   uint64_t now_ns)
{
    if (held_ns > OCCUPANCY_HELD_MAX_NS)
        held_ns = OCCUPANCY_HELD_MAX_NS;
    occupancy_book(o, rate, occupancy_win(o, rate, now_ns),
                   (int64_t)(held_ns * OCCUPANCY_PS_PER_NS));
}

/* Slot-milliseconds, for listings; below zero: owed. */
static inline int64_t occupancy_level_ms(const struct occupancy *o, uint32_t rate, uint64_t now_ns)
{
    return occupancy_level(o, rate, now_ns) / OCCUPANCY_PS_PER_MS;
}

#endif
