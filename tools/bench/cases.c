/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/cases.h"

#include <stdio.h>

#include "dataplane/policy/policy.h"

/* Beside OPTIONS_DEFAULT_FLOWS and _TENANTS in random order: what many tenants cost a journey, and
 * what it gains from flows that come often. */
static const uint32_t more_tenants[] = {1, 1000, 10000};
static const uint32_t more_tenants_flows = 10000;
static const uint32_t zipf_flows[] = {10000, 1000000};

static bool has_case(const struct cases *cases, const struct bench_case *wanted)
{
    for (uint32_t i = 0; i < cases->n; i++) {
        const struct bench_case *c = &cases->at[i];

        if (c->row == wanted->row && c->flows == wanted->flows && c->tenants == wanted->tenants &&
            c->order == wanted->order)
            return true;
    }
    return false;
}

static void add_case(struct cases *cases, struct bench_case wanted)
{
    uint32_t most = wanted.row->decision ? (uint32_t)POLICY_TENANTS_MAX : wanted.tenants;

    wanted.tenants = RTE_MIN(wanted.flows, most);
    if (!has_case(cases, &wanted))
        cases->at[cases->n++] = wanted;
}

static void add_order(const struct options *options, const struct row *row, enum order order,
                      struct cases *cases)
{
    if (order == ORDER_ZIPF && row->newcomers) {
        fprintf(stderr, "sluice-bench: row %s is left out with order zipf: no flow is new twice\n",
                row->name);
        return;
    }
    for (uint32_t f = 0; f < options->n_flows; f++)
        for (uint32_t t = 0; t < options->n_tenants; t++)
            add_case(cases,
                     (struct bench_case){row, options->flows[f], options->tenants[t], order});
}

static void add_more_of_default_run(const struct row *row, struct cases *cases)
{
    if (row->decision)
        return;
    for (uint32_t i = 0; i < RTE_DIM(more_tenants); i++)
        add_case(cases,
                 (struct bench_case){row, more_tenants_flows, more_tenants[i], ORDER_RANDOM});
    for (uint32_t i = 0; i < RTE_DIM(zipf_flows) && !row->newcomers; i++)
        add_case(cases,
                 (struct bench_case){row, zipf_flows[i], OPTIONS_DEFAULT_TENANTS, ORDER_ZIPF});
}

void cases_plan(const struct options *options, struct cases *cases)
{
    cases->n = 0;
    for (uint32_t r = 0; r < options->n_rows; r++) {
        for (uint32_t o = 0; o < options->n_orders; o++)
            add_order(options, options->rows[r], options->orders[o], cases);
        if (options->default_run)
            add_more_of_default_run(options->rows[r], cases);
    }
}
