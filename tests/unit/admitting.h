/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker's decision core in virtual time, which begins at 0: two tenants and two services
 * without limits; a test sets its own and adopts them.
 */
#ifndef SLUICE_TESTS_ADMITTING_H
#define SLUICE_TESTS_ADMITTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/core.h"

enum { ACME, OTHER, TENANTS };
enum { WEB, API, SERVICES };

struct gate {
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES];
    struct policy_ports ports;
    struct admission_shared *shared;
    struct admission *adm;
    uint64_t now_ns;
};

static inline void adopt(struct gate *g)
{
    struct policy_spec spec = {.tenants = g->tenants,
                               .services = g->services,
                               .n_tenants = TENANTS,
                               .n_services = SERVICES};
    struct policy *policy;

    assert_int_equal(policy_create(&spec, &policy), 0);
    admission_shared_adopt(g->shared, policy, g->now_ns);
    admission_adopt(g->adm, policy, g->now_ns);
    policy_free(policy); /* it is not kept */
}

static inline int open_gate(void **state)
{
    const struct admission_size size = {
        .n_tenants = TENANTS, .n_services = SERVICES, .n_workers = 1};
    struct gate *g = calloc(1, sizeof(*g));

    g->ports = (struct policy_ports){80, 80};
    g->addresses[WEB] = core_address("10.9.0.10");
    g->addresses[API] = core_address("10.9.0.11");
    for (uint32_t i = 0; i < TENANTS; i++)
        g->tenants[i] = core_tenant(i);
    for (uint32_t i = 0; i < SERVICES; i++)
        g->services[i] = core_service(i, &g->addresses[i], &g->ports);
    g->shared = admission_shared_init(core_memory(admission_shared_bytes(&size)), &size);
    g->adm = admission_init(core_memory(admission_bytes(&size)), g->shared, 0);
    *state = g;
    return 0;
}

/* Attempts add up at the end of every test, whatever it did. */
static inline int close_gate(void **state)
{
    struct gate *g = *state;

    for (uint32_t i = 0; i < TENANTS; i++) {
        const struct admission_tenant_counters *t = admission_tenant_counters(g->adm, i);
        uint64_t sum = t->admitted;

        for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
            sum += t->refused[r];
        assert_int_equal(t->attempts, sum);
        assert_int_equal(t->refused[REASON_NONE], 0);
    }
    for (uint32_t i = 0; i < SERVICES; i++) {
        const struct admission_service_counters *s = admission_service_counters(g->adm, i);
        uint64_t sum = s->admitted;

        for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
            sum += s->refused[r];
        assert_int_equal(s->attempts, sum);
    }
    free(g->adm);
    free(g->shared);
    free(g);
    return 0;
}

static inline enum reason offer(struct gate *g, uint32_t tenant, uint32_t service,
                                uint32_t ip_bytes)
{
    struct attempt attempt = {.tenant = tenant, .service = service, .ip_bytes = ip_bytes};
    struct decision d = admission_offer(g->adm, &attempt, g->now_ns);

    assert_int_equal(d.verdict, d.reason ? VERDICT_REFUSE : VERDICT_ADMIT);
    return d.reason;
}

static inline uint32_t share_used(const struct gate *g, uint32_t tenant)
{
    return window_used(admission_tenant_window(g->shared, tenant));
}

static inline uint32_t capacity_used(const struct gate *g, uint32_t service)
{
    return window_used(admission_service_window(g->shared, service));
}

static inline uint64_t tokens(const struct gate *g, uint32_t tenant)
{
    return admission_attempt_tokens(g->shared, &g->tenants[tenant], g->now_ns);
}

static inline void complete(struct gate *g, uint32_t tenant, uint32_t service)
{
    core_complete(g->adm, &(struct slot){.tenant = tenant, .service = service}, OUTCOME_FINISHED);
}

#define gate_test(f) cmocka_unit_test_setup_teardown(f, open_gate, close_gate)

#endif
