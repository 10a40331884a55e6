/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cases to measure: each row with each number of flows and of tenants and each order that the
 * options name; where they name none of the three, those of the default run.
 */
#ifndef SLUICE_BENCH_CASES_H
#define SLUICE_BENCH_CASES_H

#include "tools/bench/options.h"
#include "tools/bench/order.h"
#include "tools/bench/rows.h"

#define CASES_MAX (OPTIONS_LIST_MAX * OPTIONS_LIST_MAX * OPTIONS_LIST_MAX * ORDERS)

struct bench_case {
    const struct row *row;
    uint32_t flows;
    uint32_t tenants; /* never more than flows; in a decision row each flow is a tenant */
    enum order order;
};

struct cases {
    uint32_t n;
    struct bench_case at[CASES_MAX];
};

/* What comes to the same case stands there once. A row of newcomers has no order but the random
 * one, and a line to stderr says so when Zipf was named. */
void cases_plan(const struct options *options, struct cases *cases);

#endif
