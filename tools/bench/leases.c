/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a quota on many workers costs: an attempt's decision by lease, and how often the word that
 * all workers share is touched for it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/bench/lease_atomics.h"
#include "tools/bench/rows.h"

/* What a row keeps in its scene. */
struct lease_row {
    struct crew crew;
    double atomics_per_packet;
};

static bool set_up(struct scene *scene)
{
    const struct crew_shape *shape = scene->shape;
    struct lease_row *row = scene->own = calloc(1, sizeof(*row));

    if (!row)
        return false;
    row->atomics_per_packet = lease_atomics_per_packet(scene, shape);
    return crew_start(&row->crew, shape, scene->plan.tenants) && row->atomics_per_packet >= 0;
}

static void tear_down(struct scene *scene)
{
    struct lease_row *row = scene->own;

    if (row)
        crew_free(&row->crew);
    free(row);
}

static void run(struct scene *scene, unsigned n)
{
    struct lease_row *row = scene->own;

    crew_run(&row->crew, scene->batch_attempts, n);
}

/* Every decision, while together the workers admit no more than the quotas, and of what the quotas
 * leave all but a thousandth and what leases may miss (dataplane/admission/lease.h). */
static uint64_t claimed(const struct scene *scene)
{
    const struct crew *crew = &((const struct lease_row *)scene->own)->crew;
    uint64_t ns = crew->time >> CREW_TIME_BITS;
    uint64_t earned = crew->tenants * (ns * crew->shape.rate / BUCKET_NS_PER_S + 1);
    uint64_t full = (uint64_t)crew->tenants * (CREW_BURST + 1);
    uint64_t quota = crew->shape.load > 1 ? earned : earned + full;
    uint64_t due = RTE_MIN(quota, crew->decided), missed = due / 1000 + full / 8;

    if (crew->admitted > quota || crew->admitted + (crew->shape.load > 1 ? missed : 0) < due)
        return 0;
    return crew->decided;
}

static void add_fields(const struct scene *scene, FILE *out)
{
    const struct lease_row *row = scene->own;

    fprintf(out,
            ",\"workers\":%" PRIu32 ",\"rate\":%" PRIu32 ",\"load\":%" PRIu32
            ",\"atomics_per_packet\":%.4f",
            row->crew.shape.workers, row->crew.shape.rate, row->crew.shape.load,
            row->atomics_per_packet);
}

#define ROW(NAME, WORKERS, RATE, LOAD)                                                             \
    {                                                                                              \
        .name = NAME "_w" #WORKERS, .decision = true, .on_request = true,                          \
        .shape = &(const struct crew_shape){WORKERS, RATE, LOAD}, .set_up = set_up,                \
        .tear_down = tear_down, .run = run, .claimed = claimed, .add_fields = add_fields           \
    }
#define CREWS(NAME, RATE, LOAD)                                                                    \
    ROW(NAME, 1, RATE, LOAD), ROW(NAME, 2, RATE, LOAD), ROW(NAME, 4, RATE, LOAD),                  \
        ROW(NAME, 8, RATE, LOAD), ROW(NAME, 16, RATE, LOAD)

const struct row rows_leases[ROWS_LEASES] = {
    CREWS("leases_1M_1x", 1000000, 1),
    CREWS("leases_1M_5x", 1000000, 5),
    CREWS("leases_10M_1x", 10000000, 1),
    CREWS("leases_10M_5x", 10000000, 5),
};
