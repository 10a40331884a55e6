/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/handover.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include <stdio.h>

int hand_mark_register(void)
{
    static const struct rte_mbuf_dynfield field = {
        .name = "sluice_hand_mark",
        .size = sizeof(struct hand_mark),
        .align = __alignof__(struct hand_mark),
    };

    int offset = rte_mbuf_dynfield_register(&field);

    return offset < 0 ? -rte_errno : offset;
}

static struct rte_ring *create(const char *kind, uint32_t worker, uint32_t size, int numa_node)
{
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof(name), "sluice_%s_%u", kind, worker);
    return rte_ring_create(name, size, numa_node, RING_F_SC_DEQ);
}

int inbox_create(struct inbox *inbox, uint32_t worker, uint32_t size, int numa_node)
{
    int err;

    inbox->judge = create("judge", worker, size, numa_node);
    inbox->send = create("send", worker, size, numa_node);
    if (inbox->judge && inbox->send)
        return 0;
    err = -rte_errno;
    inbox_destroy(inbox);
    return err;
}

static void destroy(struct rte_ring *ring)
{
    void *mbuf;

    if (!ring)
        return;
    while (rte_ring_dequeue(ring, &mbuf) == 0)
        rte_pktmbuf_free(mbuf);
    rte_ring_free(ring);
}

void inbox_destroy(struct inbox *inbox)
{
    destroy(inbox->judge);
    destroy(inbox->send);
    *inbox = (struct inbox){NULL, NULL};
}
