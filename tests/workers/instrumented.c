/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/instrumented.h"

#include <rte_launch.h>
#include <rte_lcore.h>

int __real_rte_eal_remote_launch(lcore_function_t *run, void *argument, unsigned lcore);
int __wrap_rte_eal_remote_launch(lcore_function_t *run, void *argument, unsigned lcore);
int __real_rte_eal_wait_lcore(unsigned lcore);
int __wrap_rte_eal_wait_lcore(unsigned lcore);

#ifdef __SANITIZE_THREAD__

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <stdio.h>

/* -- queues -- */

static uint16_t receive(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    return (uint16_t)rte_ring_sc_dequeue_burst(queue, (void **)mbufs, n, NULL);
}

static uint16_t transmit(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    return (uint16_t)rte_ring_sp_enqueue_burst(queue, (void **)mbufs, n, NULL);
}

void instrumented_port(uint16_t port_id, struct device_rings *rings)
{
    struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port_id];

    ops->rx_pkt_burst = receive;
    ops->tx_pkt_burst = transmit;
    ops->rxq.data = (void **)rings->receive;
    ops->txq.data = (void **)rings->transmit;
}

/* -- buffers -- */

static int pool_alloc(struct rte_mempool *pool)
{
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof(name), "pool_%.20s", pool->name);
    pool->pool_data = rte_ring_create(name, rte_align32pow2(pool->size + 1), pool->socket_id, 0);
    return pool->pool_data ? 0 : -ENOMEM;
}

static void pool_free(struct rte_mempool *pool)
{
    rte_ring_free(pool->pool_data);
}

static int pool_enqueue(struct rte_mempool *pool, void *const *objects, unsigned n)
{
    return rte_ring_mp_enqueue_bulk(pool->pool_data, objects, n, NULL) ? 0 : -ENOBUFS;
}

static int pool_dequeue(struct rte_mempool *pool, void **objects, unsigned n)
{
    return rte_ring_mc_dequeue_bulk(pool->pool_data, objects, n, NULL) ? 0 : -ENOBUFS;
}

/* Of a moment, as in DPDK, but without a race. */
static unsigned pool_count(const struct rte_mempool *pool)
{
    const struct rte_ring *ring = pool->pool_data;
    uint32_t taken = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);

    return (__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) - taken) & ring->mask;
}

static const struct rte_mempool_ops pool_ops = {
    .name = INSTRUMENTED_POOL,
    .alloc = pool_alloc,
    .free = pool_free,
    .enqueue = pool_enqueue,
    .dequeue = pool_dequeue,
    .get_count = pool_count,
};
RTE_MEMPOOL_REGISTER_OPS(pool_ops)

/* -- threads -- */

static struct launch {
    lcore_function_t *run;
    void *argument;
    uint32_t begun, ended; /* atomic */
} launches[RTE_MAX_LCORE];

static int run_launch(void *argument)
{
    struct launch *launch = argument;
    int result;

    __atomic_load_n(&launch->begun, __ATOMIC_ACQUIRE);
    result = launch->run(launch->argument);
    __atomic_store_n(&launch->ended, 1, __ATOMIC_RELEASE);
    return result;
}

int __wrap_rte_eal_remote_launch(lcore_function_t *run, void *argument, unsigned lcore)
{
    struct launch *launch = &launches[lcore];

    *launch = (struct launch){.run = run, .argument = argument};
    __atomic_store_n(&launch->begun, 1, __ATOMIC_RELEASE);
    return __real_rte_eal_remote_launch(run_launch, launch, lcore);
}

int __wrap_rte_eal_wait_lcore(unsigned lcore)
{
    int result = __real_rte_eal_wait_lcore(lcore);

    __atomic_load_n(&launches[lcore].ended, __ATOMIC_ACQUIRE);
    return result;
}

#else

int __wrap_rte_eal_remote_launch(lcore_function_t *run, void *argument, unsigned lcore)
{
    return __real_rte_eal_remote_launch(run, argument, lcore);
}

int __wrap_rte_eal_wait_lcore(unsigned lcore)
{
    return __real_rte_eal_wait_lcore(lcore);
}

void instrumented_port(uint16_t port_id, struct device_rings *rings)
{
    (void)port_id;
    (void)rings;
}

#endif
