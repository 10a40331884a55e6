/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/replay.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include "dataplane/worker/burst.h"

#define NS_PER_US 1000u /* net_pcap stamps in microseconds */

int replay_init(struct replay *replay, const struct worker *const *workers)
{
    *replay = (struct replay){.timestamp_offset = -1, .workers = workers};
    if (rte_mbuf_dyn_rx_timestamp_register(&replay->timestamp_offset, NULL) < 0)
        return -rte_errno;
    return 0;
}

static uint64_t stamp_ns(const struct replay *replay, const struct rte_mbuf *mbuf)
{
    return *RTE_MBUF_DYNFIELD(mbuf, replay->timestamp_offset, const rte_mbuf_timestamp_t *) *
           NS_PER_US;
}

struct lane *replay_next(struct replay *replay, struct lane *lanes, uint32_t n_lanes,
                         struct rte_mbuf **mbuf, uint64_t *now_ns)
{
    struct rte_mbuf **earliest = NULL;

    for (uint32_t i = 0; i < n_lanes; i++) {
        struct rte_mbuf **head = &replay->heads[i];

        if (!*head && rte_eth_rx_burst(lanes[i].port_id, lanes[i].queue, head, 1) == 0)
            *head = NULL;
        if (*head && (!earliest || stamp_ns(replay, *head) < stamp_ns(replay, *earliest)))
            earliest = head;
    }
    if (!earliest)
        return NULL;
    *mbuf = *earliest;
    *now_ns = stamp_ns(replay, *mbuf);
    *earliest = NULL;
    return &lanes[earliest - replay->heads];
}
