/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate's program with a policy in its maps, and the service that the frames here ask for.
 * Functions return 0 or -errno.
 */
#ifndef SLUICE_BENCH_GATE_SCENE_H
#define SLUICE_BENCH_GATE_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/bucket.h"
#include "dataplane/admission/verdict.h"
#include "dataplane/policy/service.h"

struct gate;

/* IPv4 networks first, first + step ..., addresses in host byte order. */
struct gate_networks {
    uint32_t first, step, n;
    uint8_t bits; /* 0 .. 32 */
};

struct gate_scene {
    struct gate_networks tenants; /* each of a tenant: of the first, the second ... the first ... */
    uint32_t n_tenants;           /* beside the default one */
    struct gate_networks denied;
    struct bucket_rate attempts; /* of every tenant, the default one too */
    bool spent;                  /* there is no token left in any bucket */
    bool coarse;                 /* the coarse clock will do for it */
    bool guards;                 /* a worker is there: a socket and its heartbeat */
};

int gate_scene_open(const struct gate_scene *scene, struct gate **gate);

/* What the program has done to packets so far. */
enum gate_fate { GATE_DROPPED /* for `reason` */, GATE_PASSED, GATE_TO_SOCKET };
int gate_scene_count(const struct gate *gate, enum gate_fate fate, enum reason reason,
                     uint64_t *packets);

#endif
