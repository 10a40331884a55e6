/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/stall.h"

#include <rte_ethdev.h>
#include <time.h>

#include "dataplane/worker/eal.h"
#include "tests/unit/core.h"

enum order { GO, STOP };

static uint32_t order, stopped; /* atomic */
static bool (*stop_when)(void); /* set before the order */
static unsigned stall_lcore;
static eth_rx_burst_t receive;

static bool must_stop(void)
{
    return __atomic_load_n(&order, __ATOMIC_ACQUIRE) == STOP && (!stop_when || stop_when());
}

/* In place of the driver's: a worker comes by in the middle of its loop. */
static uint16_t receive_or_stop(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    if (rte_lcore_id() == stall_lcore && must_stop()) {
        __atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&order, __ATOMIC_ACQUIRE) != GO)
            nanosleep(&(struct timespec){.tv_nsec = CORE_MS}, NULL);
        __atomic_store_n(&stopped, 0, __ATOMIC_RELEASE);
    }
    return receive(queue, mbufs, n);
}

void stall_prepare(uint32_t worker)
{
    stall_lcore = EAL_WORKER_LCORE(worker);
    receive = rte_eth_fp_ops[gate.dp->ports[0].id].rx_pkt_burst;
    for (unsigned port = 0; port < 2; port++)
        rte_eth_fp_ops[gate.dp->ports[port].id].rx_pkt_burst = receive_or_stop;
}

void stall_begin(bool (*due)(void))
{
    stop_when = due;
    __atomic_store_n(&order, STOP, __ATOMIC_RELEASE);
}

void stall_end(void)
{
    __atomic_store_n(&order, GO, __ATOMIC_RELEASE);
}

bool stall_is_on(void)
{
    return __atomic_load_n(&stopped, __ATOMIC_ACQUIRE);
}
