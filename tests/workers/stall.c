/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <time.h>

#include "dataplane/admission/state.h"
#include "dataplane/worker/eal.h"
#include "tests/unit/core.h"
#include "tests/workers/traffic.h"

#define PATIENCE_NS (20 * CORE_S)

enum order { GO, STOP };

static uint32_t order, stopped; /* atomic */
static bool (*stop_when)(void); /* set before the order */
static uint32_t stall_worker;
static eth_rx_burst_t receive;

static bool must_stop(void)
{
    return __atomic_load_n(&order, __ATOMIC_ACQUIRE) == STOP && (!stop_when || stop_when());
}

/* In place of the driver's: a worker comes by in the middle of its loop. */
static uint16_t receive_or_stop(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    if (rte_lcore_id() == EAL_WORKER_LCORE(stall_worker) && must_stop()) {
        __atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&order, __ATOMIC_ACQUIRE) != GO)
            nanosleep(&(struct timespec){.tv_nsec = CORE_MS}, NULL);
        __atomic_store_n(&stopped, 0, __ATOMIC_RELEASE);
    }
    return receive(queue, mbufs, n);
}

void stall_prepare(uint32_t worker)
{
    stall_worker = worker;
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

bool stall_is_dead(void)
{
    return dataplane_silence_ns(gate.dp, stall_worker) > DATAPLANE_DEAD_NS;
}

bool stall_others_adopted(void)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        if (!(w == stall_worker && stall_is_on()) &&
            view.policy_epoch != policy_epoch(dataplane_policy(gate.dp)))
            return false;
    }
    return true;
}

bool stall_all_is_still(void)
{
    bool still = traffic_under_way() == 0;

    for (uint32_t w = 0; w < WORKERS; w++)
        still = still && gate_balanced(w);
    return still;
}

unsigned stall_wait_for(bool (*done)(void))
{
    uint64_t start_ns = dataplane_now_ns(gate.dp);
    unsigned discarded = 0, n;

    while (!done()) {
        if (dataplane_now_ns(gate.dp) - start_ns > PATIENCE_NS)
            fail_msg("in vain: %u wait, %u under way",
                     window_used(&gate.dp->shared->services[0].waiting), traffic_under_way());
        if ((n = traffic_discard()) == 0)
            sched_yield();
        discarded += n;
    }
    return discarded;
}
