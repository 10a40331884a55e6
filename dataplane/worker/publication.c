/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/publication.h"

#include <errno.h>
#include <stdlib.h>

int publication_init(struct publication *pub, struct policy *policy, uint32_t readers)
{
    size_t bytes = RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(readers), RTE_CACHE_LINE_SIZE);

    *pub = (struct publication){.rcu = aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)};
    if (!pub->rcu || rte_rcu_qsbr_init(pub->rcu, readers) != 0) {
        free(pub->rcu);
        return -ENOMEM;
    }
    __atomic_store_n(&pub->current, policy, __ATOMIC_RELEASE);
    return 0;
}

void publication_destroy(struct publication *pub)
{
    for (uint32_t i = 0; i < pub->n_retired; i++)
        policy_free(pub->retired[i].policy);
    policy_free((struct policy *)pub->current);
    free(pub->rcu);
}

bool publication_has_room(struct publication *pub)
{
    publication_reclaim(pub);
    return pub->n_retired < PUBLICATION_RETIRED_MAX;
}

int publication_publish(struct publication *pub, struct policy *policy)
{
    struct policy *old = (struct policy *)pub->current;

    if (!publication_has_room(pub))
        return -EBUSY;
    __atomic_store_n(&pub->current, policy, __ATOMIC_RELEASE);
    pub->retired[pub->n_retired].policy = old;
    pub->retired[pub->n_retired++].token = rte_rcu_qsbr_start(pub->rcu);
    return 0;
}

void publication_reclaim(struct publication *pub)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < pub->n_retired; i++) {
        if (rte_rcu_qsbr_check(pub->rcu, pub->retired[i].token, false) == 1)
            policy_free(pub->retired[i].policy);
        else
            pub->retired[kept++] = pub->retired[i];
    }
    pub->n_retired = kept;
}

void publication_join(struct publication *pub, uint32_t reader)
{
    rte_rcu_qsbr_thread_register(pub->rcu, reader);
    rte_rcu_qsbr_thread_online(pub->rcu, reader);
}

void publication_leave(struct publication *pub, uint32_t reader)
{
    rte_rcu_qsbr_thread_offline(pub->rcu, reader);
    rte_rcu_qsbr_thread_unregister(pub->rcu, reader);
}
