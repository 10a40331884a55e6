/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of the bench. A row says which work is measured and proves by the gateway's own counters
 * that this work was done.
 */
#ifndef SLUICE_BENCH_ROWS_H
#define SLUICE_BENCH_ROWS_H

#include "tools/bench/scene.h"

struct row {
    const char *name;
    uint8_t tcp_flags; /* of the packets; the base forwards the same ones */
    bool decision;     /* the decision alone, no packets; every flow has a tenant of its own */
    bool newcomers;    /* each packet opens its flow: no flow twice, until all are forgotten */
    bool spent;        /* the tenants' attempts are used up */
    bool answered;     /* the packets come back out of the port they came from */

    /* Brings the scene into the state that the row speaks of; NULL: it is. False: it could not. */
    bool (*set_up)(struct scene *scene);
    /* What is measured: the batch of `n` that scene_visit() chose, its packets in the ring. */
    void (*run)(struct scene *scene, unsigned n);
    /* How often so far that came to pass which the row claims. */
    uint64_t (*claimed)(const struct scene *scene);
};

extern const struct row *const rows_all[]; /* NULL at the end */

extern const struct row row_admit, row_charge, row_refuse; /* decisions.c */
extern const struct row row_known, row_new, row_refused;   /* journeys.c */

#endif
