/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of the bench. A row says which work is measured and proves by the gateway's own counters
 * that this work was done.
 */
#ifndef SLUICE_BENCH_ROWS_H
#define SLUICE_BENCH_ROWS_H

#include <stdio.h>

#include "tools/bench/scene.h"

struct row {
    const char *name;
    uint8_t tcp_flags; /* of the packets; the base forwards the same ones */
    bool decision;     /* the decision alone, no packets; every flow has a tenant of its own */
    enum scene_service service;
    bool newcomers;  /* each packet opens its flow: no flow twice, until all are forgotten */
    bool spent;      /* the tenants' attempts are used up */
    bool answered;   /* the packets come back out of the port they came from */
    bool on_request; /* measured only when it is named */
    uint32_t eal_mib, eal_flow_bytes; /* of DPDK's memory, beside the buffers; for each flow */
    const void *shape;                /* for its own functions: scene->shape */

    /* Brings the scene into the state that the row speaks of; NULL: it is. False: it could not. */
    bool (*set_up)(struct scene *scene);
    /* Frees what set_up() left in scene->own, all or in part; NULL: nothing. */
    void (*tear_down)(struct scene *scene);
    /* Reads what the batch needs, outside of the measurement; NULL: nothing. */
    void (*prepare)(struct scene *scene, unsigned n);
    /* What is measured: the batch of `n` that scene_visit() chose, its packets in the ring. */
    void (*run)(struct scene *scene, unsigned n);
    /* How often so far that came to pass which the row claims. */
    uint64_t (*claimed)(const struct scene *scene);
    /* Writes more of a JSON object, a comma first; NULL: nothing. */
    void (*add_fields)(const struct scene *scene, FILE *out);
};

extern const struct row *const rows_all[]; /* NULL at the end */

extern const struct row row_admit, row_charge, row_refuse; /* decisions.c */
extern const struct row row_known, row_new, row_refused;   /* journeys.c */
extern const struct row row_known_exchange;

#define ROWS_FULL 5
extern const struct row rows_full[ROWS_FULL]; /* full_decisions.c */

#define ROWS_LOOKUPS 11
#define ROWS_LEASES  20
extern const struct row rows_lookups[ROWS_LOOKUPS]; /* lookups.c */
extern const struct row rows_leases[ROWS_LEASES];   /* leases.c */
/* lookup_flows.c */
extern const struct row row_lookup_flow, row_lookup_flow_crc, row_lookup_flow_jhash;

#endif
