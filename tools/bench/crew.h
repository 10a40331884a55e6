/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * N workers that share the quotas of tenants by leases, in one thread and in virtual time: a burst
 * on one worker, the next on another. Included twice: by what takes the time of it, and by what
 * counts the atomic operations (lease_atomics.c).
 */
#ifndef SLUICE_BENCH_CREW_H
#define SLUICE_BENCH_CREW_H

#include <stdlib.h>
#include <string.h>

#include "dataplane/admission/lease.h"
#include "tools/bench/scene.h"

#define CREW_START_NS  1000000000ull
#define CREW_BURST     20000u
#define CREW_TIME_BITS 20 /* time is counted in 2^-20 ns: packets come faster than one a ns */

struct crew_shape {
    uint32_t workers;
    uint32_t rate; /* attempts a second of each tenant */
    uint32_t load; /* attempts offered, in times the rate */
};

struct crew {
    struct crew_shape shape;
    struct pool *pools;   /* of each tenant */
    struct lease *leases; /* of each tenant, worker after worker */
    uint64_t time, step;  /* since CREW_START_NS; between two packets */
    uint64_t decided, admitted;
    uint32_t tenants, turn;
};

static inline void crew_free(struct crew *crew)
{
    free(crew->pools);
    free(crew->leases);
}

/* Overload has lasted for ever: its pools are empty. Where all is admitted they are full. */
static inline bool crew_start(struct crew *crew, const struct crew_shape *shape, uint32_t tenants)
{
    size_t leases = (size_t)tenants * shape->workers;
    struct bucket_rate rate;
    struct lot lot;

    *crew = (struct crew){.shape = *shape,
                          .tenants = tenants,
                          .pools = aligned_alloc(64, tenants * sizeof(*crew->pools)),
                          .leases = aligned_alloc(64, leases * sizeof(*crew->leases)),
                          .step = (BUCKET_NS_PER_S << CREW_TIME_BITS) / shape->rate / shape->load /
                                  tenants};
    if (!crew->pools || !crew->leases || !bucket_rate_events(&rate, shape->rate, 1, CREW_BURST))
        return false;
    lot = lease_lot_events(&rate, shape->workers);
    memset(crew->pools, 0, tenants * sizeof(*crew->pools));
    for (uint32_t i = 0; i < tenants; i++)
        pool_set(&crew->pools[i], shape->load > 1 ? 0 : rate.cap, CREW_START_NS);
    for (size_t i = 0; i < leases; i++)
        crew->leases[i] = (struct lease){.rate = rate, .lot = lot};
    return true;
}

static inline void crew_burst(struct crew *crew, const struct attempt *attempts, unsigned n)
{
    struct lease *leases = &crew->leases[(size_t)crew->turn * crew->tenants];
    uint64_t now_ns = CREW_START_NS + (crew->time >> CREW_TIME_BITS);

    for (unsigned i = 0; i < n; i++) {
        uint32_t tenant = attempts[i].tenant;

        crew->admitted += lease_take(&leases[tenant], &crew->pools[tenant], 1, 0, now_ns);
    }
    crew->decided += n;
    crew->time += n * crew->step;
    crew->turn = crew->turn + 1 < crew->shape.workers ? crew->turn + 1 : 0;
}

static inline void crew_run(struct crew *crew, const struct attempt *attempts, unsigned n)
{
    for (unsigned at = 0; at < n; at += BURST_MAX)
        crew_burst(crew, &attempts[at], RTE_MIN(n - at, (unsigned)BURST_MAX));
}

#endif
