/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission on a random walk of offers, completions, adoptions and new policies, against a model
 * of plain counts: slots and counters add up after every step, and nobody enters a full window.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/gcra.h"
#include "tests/property/random.h"
#include "tests/unit/core.h"

#define TENANTS  4
#define SERVICES 3
#define STEPS    300000

struct model {
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES];
    struct policy_ports ports;
    struct gcra rates[TENANTS];
    uint32_t held[TENANTS][SERVICES]; /* slots */
    uint64_t attempts[TENANTS], admitted[TENANTS], refused[TENANTS][REASON_ATTEMPT_MAX];
    struct admission_shared *shared;
    struct admission *adm;
    uint64_t seed, now_ns;
};

static uint32_t used_by(const struct model *m, uint32_t tenant)
{
    uint32_t used = 0;

    for (uint32_t s = 0; s < SERVICES; s++)
        used += m->held[tenant][s];
    return used;
}

static uint32_t used_of(const struct model *m, uint32_t service)
{
    uint32_t used = 0;

    for (uint32_t t = 0; t < TENANTS; t++)
        used += m->held[t][service];
    return used;
}

static void adopt(struct model *m)
{
    const struct policy_spec spec = {.tenants = m->tenants,
                                     .services = m->services,
                                     .n_tenants = TENANTS,
                                     .n_services = SERVICES};
    struct policy *policy;

    assert_int_equal(policy_create(&spec, &policy), 0);
    admission_shared_adopt(m->shared, policy, m->now_ns);
    admission_adopt(m->adm, policy, m->now_ns);
    policy_free(policy);
}

/* Rates stay, so that the GCRA beside each tenant must go on agreeing; windows change. */
static void new_windows(struct model *m)
{
    for (uint32_t t = 0; t < TENANTS; t++)
        m->tenants[t].window = (uint32_t)random_below(&m->seed, 12);
    for (uint32_t s = 0; s < SERVICES; s++)
        m->services[s].window = (uint32_t)random_below(&m->seed, 20);
    adopt(m);
}

static void start(struct model *m)
{
    const struct admission_size size = {
        .n_tenants = TENANTS, .n_services = SERVICES, .n_workers = 1};

    *m = (struct model){.seed = 42, .ports = {80, 80}};
    m->shared = admission_shared_init(core_memory(admission_shared_bytes(&size)), &size);
    m->adm = admission_init(core_memory(admission_bytes(&size)), m->shared, 0);
    for (uint32_t t = 0; t < TENANTS; t++) {
        uint64_t rate = t * 30, burst = t * 5; /* tenant 0 is blocked */

        m->tenants[t] = core_tenant(t);
        m->tenants[t].attempts = core_rate(rate, 1, burst);
        m->rates[t] = gcra_start(rate, CORE_S, burst + 1, 0);
    }
    for (uint32_t s = 0; s < SERVICES; s++) {
        m->addresses[s] = address_from_v4(s);
        m->services[s] = core_service(s, &m->addresses[s], &m->ports);
    }
    new_windows(m);
}

/* What the order of decisions says; the last check is the rate's, for only then it is debited. */
static enum reason expected_reason(struct model *m, uint32_t tenant, uint32_t service)
{
    struct gcra before = m->rates[tenant];

    if (!gcra_conforms(&m->rates[tenant], 1, m->now_ns))
        return REASON_RATE;
    if (service == ADMISSION_NO_SERVICE)
        return REASON_NONE;
    if (used_by(m, tenant) < m->tenants[tenant].window &&
        used_of(m, service) < m->services[service].window)
        return REASON_NONE;
    m->rates[tenant] = before;
    return used_by(m, tenant) < m->tenants[tenant].window ? REASON_CAPACITY : REASON_SHARE;
}

static void offer(struct model *m)
{
    uint32_t tenant = (uint32_t)random_below(&m->seed, TENANTS);
    uint32_t service = (uint32_t)random_below(&m->seed, SERVICES + 1);
    struct attempt attempt = {.tenant = tenant,
                              .service = service < SERVICES ? service : ADMISSION_NO_SERVICE,
                              .ip_bytes = 60};
    enum reason expected = expected_reason(m, tenant, attempt.service);
    struct decision d = admission_offer(m->adm, &attempt, m->now_ns);

    assert_int_equal(d.reason, expected);
    m->attempts[tenant]++;
    if (expected)
        m->refused[tenant][expected]++;
    else
        m->admitted[tenant]++;
    if (!expected && service < SERVICES)
        m->held[tenant][service]++;
}

static void end_one(struct model *m)
{
    uint32_t tenant = (uint32_t)random_below(&m->seed, TENANTS);
    uint32_t service = (uint32_t)random_below(&m->seed, SERVICES);

    if (m->held[tenant][service] == 0)
        return;
    m->held[tenant][service]--;
    core_complete(m->adm, &(struct slot){.tenant = tenant, .service = service},
                  (enum outcome)random_below(&m->seed, OUTCOME_MAX));
}

static void adopt_one(struct model *m)
{
    struct slot slot = {.tenant = (uint32_t)random_below(&m->seed, TENANTS),
                        .service = (uint32_t)random_below(&m->seed, SERVICES)};

    admission_adopt_flow(m->adm, &slot);
    m->held[slot.tenant][slot.service]++;
}

static void check(const struct model *m)
{
    for (uint32_t t = 0; t < TENANTS; t++) {
        const struct admission_tenant_counters *c = admission_tenant_counters(m->adm, t);
        const struct window *w = admission_tenant_window(m->shared, t);
        uint64_t sum = c->admitted;

        assert_int_equal(window_used(w), used_by(m, t));
        assert_true(window_debt(w, m->tenants[t].window) <= window_used(w));
        assert_int_equal(c->attempts, m->attempts[t]);
        assert_int_equal(c->admitted, m->admitted[t]);
        for (unsigned r = 1; r < REASON_ATTEMPT_MAX; r++) {
            assert_int_equal(c->refused[r], m->refused[t][r]);
            sum += c->refused[r];
        }
        assert_int_equal(c->attempts, sum);
        assert_true(admission_attempt_tokens(m->shared, &m->tenants[t], m->now_ns) <=
                    (t ? m->tenants[t].attempts.burst + 1 : 0));
    }
    for (uint32_t s = 0; s < SERVICES; s++)
        assert_int_equal(window_used(admission_service_window(m->shared, s)), used_of(m, s));
}

static void slots_and_counters_add_up(void **state)
{
    static struct model m;

    (void)state;
    start(&m);
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t r = random_below(&m.seed, 1000);

        m.now_ns += random_below(&m.seed, 1500000);
        if (r < 550)
            offer(&m);
        else if (r < 990)
            end_one(&m);
        else if (r < 995)
            adopt_one(&m);
        else
            new_windows(&m);
        check(&m);
    }
    /* The walk has been everywhere: each tenant but the blocked one met each answer often. */
    for (uint32_t t = 1; t < TENANTS; t++) {
        assert_true(m.admitted[t] > STEPS / 100);
        assert_true(m.refused[t][REASON_SHARE] > STEPS / 2000);
        assert_true(m.refused[t][REASON_CAPACITY] > STEPS / 2000);
        assert_true(m.refused[t][REASON_RATE] > STEPS / 2000);
    }
    assert_int_equal(m.admitted[0], 0);
    /* Drained, everything is back at zero. */
    for (uint32_t t = 0; t < TENANTS; t++)
        for (uint32_t s = 0; s < SERVICES; s++)
            for (; m.held[t][s]; m.held[t][s]--)
                core_complete(m.adm, &(struct slot){.tenant = t, .service = s}, OUTCOME_FINISHED);
    check(&m);
    free(m.adm);
    free(m.shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_and_counters_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
