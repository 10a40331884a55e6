/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time from the packets themselves (net_pcap), so that a trace gives the same verdicts whenever,
 * however fast and on however many workers it is played.
 *
 * The first worker is the player: it takes the packets of all lanes one by one in the order of
 * their timestamps, sets the time, waits until every worker has aged its flows up to it, and lets
 * the next packet go only when this one is through, whichever workers it was handed to. The counts
 * and times are atomic; everything else belongs to the player.
 */
#ifndef SLUICE_WORKER_REPLAY_H
#define SLUICE_WORKER_REPLAY_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/worker/settings.h"

#define REPLAY_LANES_MAX 1024

struct lane;
struct worker;

struct replay {
    struct rte_mbuf *heads[REPLAY_LANES_MAX]; /* the next packet of each lane, NULL: none yet */
    int timestamp_offset;
    const struct worker *const *workers;
    struct lane *waiting_lane; /* the packet whose time has been set */
    struct rte_mbuf *waiting;
    uint64_t now_ns;  /* atomic */
    uint32_t in_hand; /* atomic: packets between workers */
};

/* 0, or -errno when no driver provides timestamps. */
int replay_init(struct replay *replay, const struct worker *const *workers);

/* The earliest waiting packet: sets *mbuf and its time, returns its lane; NULL when none waits. */
struct lane *replay_next(struct replay *replay, struct lane *lanes, uint32_t n_lanes,
                         struct rte_mbuf **mbuf, uint64_t *now_ns);

static inline uint64_t replay_now_ns(const struct replay *replay)
{
    return __atomic_load_n(&replay->now_ns, __ATOMIC_ACQUIRE);
}

static inline void replay_set_now(struct replay *replay, uint64_t now_ns)
{
    __atomic_store_n(&replay->now_ns, now_ns, __ATOMIC_RELEASE);
}

static inline void replay_hand(struct replay *replay, unsigned n)
{
    __atomic_fetch_add(&replay->in_hand, n, __ATOMIC_ACQ_REL);
}

static inline void replay_done(struct replay *replay, unsigned n)
{
    __atomic_fetch_sub(&replay->in_hand, n, __ATOMIC_ACQ_REL);
}

static inline bool replay_is_quiet(const struct replay *replay)
{
    return __atomic_load_n(&replay->in_hand, __ATOMIC_ACQUIRE) == 0;
}

#endif
