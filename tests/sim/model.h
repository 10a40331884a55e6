/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenarios of a test's own, without a file: one source, one kind, one stage and a gate of one
 * service, which a test changes to what it is about. What must hold after every run is checked
 * after every run.
 */
#ifndef SLUICE_TESTS_MODEL_H
#define SLUICE_TESTS_MODEL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "tests/unit/core.h"
#include "tools/sim/engine.h"

#define MODEL_MOST 4

struct model {
    struct scenario scenario;
    struct scenario_arrivals arrivals[MODEL_MOST];
    struct scenario_kind kinds[MODEL_MOST];
    struct scenario_stage stages[MODEL_MOST];
    struct scenario_event events[MODEL_MOST];
    struct settings settings;
    struct policy_tenant tenant;
    struct policy_service service;
    struct address address;
    struct policy_ports ports;
    uint64_t given_up_opening; /* connections without a first request, as there should be */
    struct record record;      /* of the last run */
    /* Of the gate, in it. */
    uint32_t slots_most;
    struct admission_service_counters counters;
};

static inline struct draw model_fixed(double s)
{
    return (struct draw){.kind = DRAW_FIXED, .mean_s = s, .rate_per_s = 1 / s};
}

static inline struct draw model_exponential(double mean_s)
{
    return (struct draw){.kind = DRAW_EXPONENTIAL, .mean_s = mean_s, .rate_per_s = 1 / mean_s};
}

static inline void model_step(struct model *m, uint32_t kind, uint32_t stage, struct draw time)
{
    struct scenario_kind *k = &m->kinds[kind];

    k->steps[k->n_steps++] =
        (struct scenario_step){.stage = stage, .time = time, .tries = 1, .budget = -1};
    k->reply_after = k->n_steps;
}

/* Evenly spaced arrivals of one kind for `duration_s` at one stage of `servers`, no gate. A model
 * is static: zeros before its first use, and used again without being stopped. */
static inline void model_start(struct model *m, double rate_per_s, double duration_s,
                               uint32_t servers)
{
    record_free(&m->record);
    *m = (struct model){.ports = {80, 80}};
    for (unsigned i = 0; i < MODEL_MOST; i++) {
        m->arrivals[i] = (struct scenario_arrivals){.name = "",
                                                    .tenant = "tenant-0",
                                                    .service = "",
                                                    .rate_per_s = rate_per_s,
                                                    .factor = 1,
                                                    .stop_s = duration_s,
                                                    .population = 1000000,
                                                    .n_kinds = 1};
        m->kinds[i] = (struct scenario_kind){.name = "plain", .weight = 1};
        m->stages[i] = (struct scenario_stage){
            .name = "stage", .instances = 1, .servers = servers, .places = SCENARIO_NONE};
    }
    m->scenario = (struct scenario){.seed = 42,
                                    .duration_s = duration_s,
                                    .interval_s = 1,
                                    .workers = 1,
                                    .n_arrivals = 1,
                                    .n_kinds = 1,
                                    .n_stages = 1,
                                    .arrivals = m->arrivals,
                                    .kinds = m->kinds,
                                    .stages = m->stages,
                                    .events = m->events,
                                    .clients = {.tries = 1}};
}

/* A gate of one service in front of it. */
static inline void model_gate(struct model *m, uint32_t window, uint32_t places, uint64_t age_ns)
{
    m->tenant = core_tenant(0);
    m->address = core_address("10.9.0.10");
    m->service = core_service(0, &m->address, &m->ports);
    m->service.window = window;
    m->service.wait = (struct policy_wait){.places = places, .age_ns = age_ns};
    m->settings = (struct settings){
        .dataplane = {.flows_max = 65536, .waiting_max = 1024},
        .control = {.period_ns = 50 * CORE_MS},
        .policy = {.tenants = &m->tenant, .services = &m->service, .n_tenants = 1, .n_services = 1},
    };
    m->scenario.gate = &m->settings;
}

/* The gate has counted what the record has. */
static inline void model_check_gate(struct model *m, const struct engine *e)
{
    struct admission_service_counters *sum = &m->counters;
    uint64_t waiting_or_opening;

    *sum = (struct admission_service_counters){0};
    for (uint32_t w = 0; w < e->gate->n_workers; w++) {
        const uint64_t *from = (const uint64_t *)admission_service_counters(e->gate->workers[w], 0);

        for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
            ((uint64_t *)sum)[i] += from[i];
    }
    waiting_or_opening = sum->attempts - sum->admitted - sum->cancelled;
    for (unsigned i = 0; i < REASON_ATTEMPT_MAX; i++) {
        assert_int_equal(sum->refused[i], m->record.sum.refused[i]);
        waiting_or_opening -= sum->refused[i];
    }
    assert_int_equal(sum->attempts, m->record.sum.attempts);
    assert_int_equal(sum->admitted, m->record.sum.admitted);
    m->slots_most = window_peak(admission_service_window(e->gate->shared, 0));
    assert_true(m->slots_most <= m->service.window);
    if (m->scenario.cut)
        return;
    assert_int_equal(waiting_or_opening, m->given_up_opening);
    assert_int_equal(window_used(admission_service_window(e->gate->shared, 0)), 0);
    assert_int_equal(e->gate->waiting_total, 0);
}

static inline void model_check(struct model *m, struct engine *e)
{
    const struct record_counts *sum = &m->record.sum;
    uint64_t ended = 0;

    for (unsigned i = 0; i < END_MAX; i++)
        ended += sum->ends[i];
    assert_int_equal(sum->offered, ended + e->open);
    if (!m->scenario.cut)
        assert_int_equal(e->open + e->live + e->queued, 0);
    if (e->gate)
        model_check_gate(m, e);
}

static inline void model_play(struct model *m)
{
    struct engine e;

    record_free(&m->record);
    assert_int_equal(record_init(&m->record, &m->scenario), 0);
    assert_int_equal(engine_start(&e, &m->scenario, &m->record), 0);
    engine_play(&e);
    assert_false(e.failed);
    model_check(m, &e);
    engine_stop(&e);
}

static inline void model_stop(struct model *m)
{
    record_free(&m->record);
}

static inline double model_metric(struct model *m, const char *name)
{
    double value;

    assert_true(record_metric(&m->record, name, &value));
    return value;
}

/* A metric, in whole units of `unit`, rounded. */
static inline void assert_metric(struct model *m, const char *name, double unit, int64_t expected)
{
    double value = model_metric(m, name);

    if (llround(value / unit) != expected)
        print_error("%s is %.17g\n", name, value);
    assert_int_equal(llround(value / unit), expected);
}

#endif
