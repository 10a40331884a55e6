/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time from the packets themselves (net_pcap), so that a trace gives the same verdicts whenever and
 * however fast it is played. Packets of all lanes are taken one by one in the order of their
 * timestamps, and the clock stands at the packet in hand. Owner thread only.
 */
#ifndef SLUICE_WORKER_REPLAY_H
#define SLUICE_WORKER_REPLAY_H

#include <rte_mbuf.h>
#include <stdint.h>

#include "dataplane/worker/settings.h"

#define REPLAY_LANES_MAX (2 * DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX)

struct lane;

struct replay {
    struct rte_mbuf *heads[REPLAY_LANES_MAX]; /* the next packet of each lane, NULL: none yet */
    int timestamp_offset;
};

/* 0, or -errno when no driver provides timestamps. */
int replay_init(struct replay *replay);

/* The earliest waiting packet: sets *mbuf and its time, returns its lane; NULL when none waits. */
struct lane *replay_next(struct replay *replay, struct lane *lanes, uint32_t n_lanes,
                         struct rte_mbuf **mbuf, uint64_t *now_ns);

#endif
