/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One policy for many readers: swapped by pointer, freed when nobody can hold the old one.
 *
 * Quiescent-state RCU (rte_rcu_qsbr): a worker reports once per loop, outside of any use of the
 * policy, and is offline while it sleeps. The control thread starts a grace period when it
 * publishes and asks later whether it is over; it never waits.
 */
#ifndef SLUICE_WORKER_PUBLICATION_H
#define SLUICE_WORKER_PUBLICATION_H

#include <rte_rcu_qsbr.h>
#include <stdint.h>

#include "dataplane/policy/policy.h"

#define PUBLICATION_RETIRED_MAX 8

struct publication {
    const struct policy *current; /* atomic */
    struct rte_rcu_qsbr *rcu;
    struct {
        struct policy *policy;
        uint64_t token;
    } retired[PUBLICATION_RETIRED_MAX];
    uint32_t n_retired;
};

/* Takes `policy` over. 0 or -ENOMEM. Control thread. */
int publication_init(struct publication *pub, struct policy *policy, uint32_t readers);
/* Frees every policy; no reader may be left. */
void publication_destroy(struct publication *pub);

/* 0 and `policy` is taken over, or -EBUSY while too many old ones wait. Control thread. */
int publication_publish(struct publication *pub, struct policy *policy);
/* Would publication_publish() take a policy now? Control thread. */
bool publication_has_room(struct publication *pub);
/* Frees old policies whose grace period is over. Control thread. */
void publication_reclaim(struct publication *pub);

/* Readers. A policy may be used from publication_read() to the next publication_quiescent(). */
void publication_join(struct publication *pub, uint32_t reader);
void publication_leave(struct publication *pub, uint32_t reader);

static inline const struct policy *publication_read(const struct publication *pub)
{
    return __atomic_load_n(&pub->current, __ATOMIC_ACQUIRE);
}

static inline void publication_quiescent(struct publication *pub, uint32_t reader)
{
    rte_rcu_qsbr_quiescent(pub->rcu, reader);
}

static inline void publication_sleep(struct publication *pub, uint32_t reader)
{
    rte_rcu_qsbr_thread_offline(pub->rcu, reader);
}

static inline void publication_wake(struct publication *pub, uint32_t reader)
{
    rte_rcu_qsbr_thread_online(pub->rcu, reader);
}

#endif
