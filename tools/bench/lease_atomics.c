/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>

/* A lease's `granted`, which is exchanged, lies on a line of its worker's own and is not counted.
 * A macro is not expanded within itself. */
static uint64_t atomics;
#define __atomic_fetch_add(p, v, o) (atomics++, __atomic_fetch_add(p, v, o))
#define __atomic_fetch_sub(p, v, o) (atomics++, __atomic_fetch_sub(p, v, o))
#define __atomic_compare_exchange_n(p, e, v, w, s, f)                                              \
    (atomics++, __atomic_compare_exchange_n(p, e, v, w, s, f))

#include "dataplane/admission/lease.h"

#undef __atomic_fetch_add
#undef __atomic_fetch_sub
#undef __atomic_compare_exchange_n

#include "tools/bench/lease_atomics.h"

#define ATTEMPTS        500000u /* at least, */
#define TENANT_ATTEMPTS 500u    /* and so many of each tenant */

double lease_atomics_per_packet(struct scene *scene, const struct crew_shape *shape)
{
    uint64_t attempts = (uint64_t)TENANT_ATTEMPTS * scene->plan.tenants;
    double each = -1;
    struct crew crew;

    attempts = RTE_MAX(attempts, (uint64_t)ATTEMPTS);
    if (crew_start(&crew, shape, scene->plan.tenants)) {
        atomics = 0;
        while (crew.decided < attempts) {
            scene_visit(scene, RINGS_BATCH, 0);
            crew_run(&crew, scene->batch_attempts, RINGS_BATCH);
        }
        each = (double)atomics / (double)crew.decided;
    }
    crew_free(&crew);
    return each;
}
