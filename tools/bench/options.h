/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sluice-bench is asked to measure.
 */
#ifndef SLUICE_BENCH_OPTIONS_H
#define SLUICE_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/worker/settings.h"
#include "tools/bench/order.h"

#define OPTIONS_DEFAULT_TENANTS 100u

#define OPTIONS_LIST_MAX    64
#define OPTIONS_FLOWS_MAX   10000000u
#define OPTIONS_PACKETS_MAX 1000000000ull
#define OPTIONS_RUNS_MAX    101u

struct options {
    bool json;
    enum memory_mode memory;
    uint32_t cpu;
    uint32_t runs;
    uint64_t packets; /* in a run */
    uint64_t seed;    /* of the flow hash and the order of visits */
    bool default_run; /* flows, tenants and order were not named: they are the defaults */
    uint32_t n_flows;
    uint32_t flows[OPTIONS_LIST_MAX];
    uint32_t n_tenants;
    uint32_t tenants[OPTIONS_LIST_MAX]; /* of a journey */
    uint32_t n_orders;
    enum order orders[ORDERS];
    uint32_t n_rows;
    const struct row *rows[OPTIONS_LIST_MAX];
};

/* 0, 1 when the help was asked for and printed, -EINVAL after a line to stderr. */
int options_parse(struct options *options, int argc, char **argv);

#endif
