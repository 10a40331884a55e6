/* SPDX-License-Identifier: BSD-3-Clause */
/* From a scenario to an engine, and back to nothing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "control/config/config.h"
#include "tools/sim/engine.h"

static int build_source(struct engine *e, uint32_t i)
{
    struct source *s = &e->sources[i];
    uint32_t tenant, service;

    s->arrivals = &e->scenario->arrivals[i];
    if (!e->gate)
        return 0;
    tenant = gate_find_tenant(e->gate, s->arrivals->tenant);
    service = gate_find_service(e->gate, s->arrivals->service);
    if (tenant == POLICY_NONE || service == POLICY_NONE)
        return -EINVAL;
    s->tenant = policy_tenant_id(e->gate->policy, tenant);
    s->service = policy_service_id(e->gate->policy, service);
    s->share = (uint8_t)policy_share_of(e->gate->policy, service, tenant);
    s->unit = (uint8_t)policy_service(e->gate->policy, service)->unit;
    return 0;
}

static uint32_t instances_of(const struct scenario *scenario, uint32_t stage)
{
    const struct scenario_scaler *scaler = &scenario->scaler;
    uint32_t n = scenario->stages[stage].instances;

    return scaler->every_s > 0 && scaler->stage == stage && scaler->max > n ? scaler->max : n;
}

static void build_stage(struct engine *e, uint32_t i, uint32_t first)
{
    struct stage *stage = &e->stages[i];

    *stage = (struct stage){.s = &e->scenario->stages[i],
                            .first = first,
                            .n = instances_of(e->scenario, i),
                            .factor = 1,
                            .blocked = {POOL_NONE, POOL_NONE}};
    for (uint32_t k = 0; k < stage->n; k++)
        e->instances[first + k] = (struct instance){
            .stage = i,
            .state = k < stage->s->instances ? INSTANCE_UP : INSTANCE_GONE,
            .queue = {POOL_NONE, POOL_NONE},
            .served = {POOL_NONE, POOL_NONE},
            .check = POOL_NONE,
        };
}

static int build_stages(struct engine *e)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < e->scenario->n_stages; i++)
        e->n_instances += instances_of(e->scenario, i);
    e->stages = calloc(e->scenario->n_stages + 1, sizeof(*e->stages));
    e->instances = calloc(e->n_instances + 1, sizeof(*e->instances));
    if (!e->stages || !e->instances)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->scenario->n_stages; i++) {
        build_stage(e, i, first);
        first += e->stages[i].n;
    }
    return 0;
}

static int build_steps(struct engine *e)
{
    for (uint32_t i = 0; i < e->scenario->n_kinds; i++) {
        const struct scenario_kind *kind = &e->scenario->kinds[i];

        if (kind->n_steps > e->steps)
            e->steps = kind->n_steps;
        for (uint32_t k = 0; k < kind->n_steps; k++)
            e->holds |= kind->steps[k].holds;
    }
    e->budgets = calloc((size_t)e->scenario->n_kinds * e->steps + 1, sizeof(*e->budgets));
    if (!e->budgets)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->scenario->n_kinds; i++)
        for (uint32_t k = 0; k < e->scenario->kinds[i].n_steps; k++)
            e->budgets[i * e->steps + k].tokens =
                llround(e->scenario->kinds[i].steps[k].reserve * MILLIONTHS);
    return 0;
}

static int build_gate(struct engine *e)
{
    int err;

    if (!e->scenario->gate)
        return 0;
    e->gate = &e->its_gate;
    err = gate_open(e->gate, e->scenario);
    if (err)
        return err;
    e->first_slot = malloc(e->gate->n_workers * sizeof(*e->first_slot));
    if (!e->first_slot)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->gate->n_workers; i++)
        e->first_slot[i] = POOL_NONE;
    engine_put(e, e->gate->period_s, DUE_CONTROL, 0, 0);
    if (gate_looks_at_ages(e->gate))
        engine_put(e, GATE_SURVEY_S, DUE_SURVEY, 0, 0);
    return 0;
}

static int build(struct engine *e)
{
    int err = build_gate(e);

    if (!err)
        err = build_stages(e);
    if (!err)
        err = build_steps(e);
    if (err)
        return err;
    e->sources = calloc(e->scenario->n_arrivals + 1, sizeof(*e->sources));
    if (!e->sources || pool_init(&e->pieces, sizeof(struct piece)) ||
        pool_init(&e->tries, sizeof(struct try) + e->steps * sizeof(struct call)))
        return -ENOMEM;
    for (uint32_t i = 0; !err && i < e->scenario->n_arrivals; i++)
        err = build_source(e, i);
    return err;
}

int engine_start(struct engine *e, const struct scenario *scenario, struct record *record)
{
    int err;

    *e = (struct engine){
        .scenario = scenario, .record = record, .key = scenario->seed * 0x9e3779b97f4a7c15ull};
    random_seed(&e->random, scenario->seed);
    err = build(e);
    if (err)
        return err;
    if (scenario->interval_s > 0)
        engine_plan_interval(e);
    fleet_start(e);
    clients_start(e);
    return e->failed ? -ENOMEM : 0;
}

void engine_stop(struct engine *e)
{
    agenda_free(&e->agenda);
    pool_destroy(&e->pieces);
    pool_destroy(&e->tries);
    free(e->sources);
    free(e->stages);
    free(e->instances);
    free(e->budgets);
    free(e->first_slot);
    if (e->gate)
        gate_close(e->gate);
}
