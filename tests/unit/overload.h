/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decision core of one or more workers in virtual time, for tests of overload: three tenants, one
 * of each class, and two services, without limits: a test sets its own and adopts them, which fills
 * what has tokens. One thread plays all workers and the control thread. At the end of every test
 * the attempts must add up.
 */
#ifndef SLUICE_TESTS_OVERLOAD_H
#define SLUICE_TESTS_OVERLOAD_H

#include "dataplane/admission/admission_control.h"
#include "dataplane/admission/state.h"
#include "tests/unit/core.h"

enum { BULK, NORMAL, CRITICAL, TENANTS }; /* tenants, named after their classes */
enum { WEB, API, SERVICES };

#define GATE_WAITERS 64
#ifndef GATE_ANSWERED
#define GATE_ANSWERED 256
#define GATE_DEMAND   4096
#endif

struct gate {
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES];
    struct policy_ports ports;
    struct policy_network probes;
    struct policy_share shares[TENANTS];
    struct core_crew crew;
    struct admission_control *control; /* NULL before the first gate_steer() */
    uint64_t now_ns, cookies, keys;
    int64_t unstarted; /* connections without a first request */
};

static inline void gate_adopt(struct gate *g)
{
    struct policy_spec spec = {.tenants = g->tenants,
                               .services = g->services,
                               .n_tenants = TENANTS,
                               .n_services = SERVICES};

    core_crew_adopt(&g->crew, &spec, g->now_ns);
}

static inline void gate_start(struct gate *g, uint32_t n_workers)
{
    const struct admission_size size = {.n_tenants = TENANTS,
                                        .n_services = SERVICES,
                                        .n_workers = n_workers,
                                        .n_waiters = GATE_WAITERS,
                                        .n_answered = GATE_ANSWERED,
                                        .n_demand = GATE_DEMAND};

    *g = (struct gate){.ports = {80, 80}, .now_ns = 100 * CORE_S};
    core_crew_start(&g->crew, &size);
    for (uint32_t i = 0; i < TENANTS; i++) {
        g->tenants[i] = core_tenant(i);
        g->tenants[i].class = (enum policy_class)i;
    }
    for (uint32_t i = 0; i < SERVICES; i++) {
        g->addresses[i] = core_address(i == WEB ? "10.9.0.10" : "10.9.0.11");
        g->services[i] = core_service(i, &g->addresses[i], &g->ports);
    }
}

static inline uint32_t gate_used(const struct gate *g, uint32_t service)
{
    return window_used(admission_service_window(g->crew.shared, service));
}

static inline uint32_t gate_share_used(const struct gate *g, uint32_t tenant)
{
    return window_used(admission_tenant_window(g->crew.shared, tenant));
}

static inline uint32_t gate_waiting(const struct gate *g, uint32_t service)
{
    return window_used(&g->crew.shared->services[service].waiting);
}

static inline uint64_t gate_tokens(const struct gate *g, uint32_t tenant)
{
    return admission_attempt_tokens(g->crew.shared, &g->tenants[tenant], g->now_ns);
}

/* Of a service over all workers. */
static inline struct admission_service_counters gate_counts(const struct gate *g, uint32_t service)
{
    struct admission_service_counters sum = {0};

    for (uint32_t w = 0; w < g->crew.n; w++) {
        const uint64_t *from =
            (const uint64_t *)admission_service_counters(g->crew.workers[w], service);

        for (size_t i = 0; i < sizeof(sum) / sizeof(uint64_t); i++)
            ((uint64_t *)&sum)[i] += from[i];
    }
    return sum;
}

static inline uint64_t gate_refused(const struct gate *g, uint32_t service)
{
    struct admission_service_counters sum = gate_counts(g, service);
    uint64_t n = 0;

    for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
        n += sum.refused[r];
    return n;
}

static inline void gate_check(const struct gate *g)
{
    uint64_t waiting = 0, unstarted = 0;

    for (uint32_t i = 0; i < SERVICES; i++) {
        struct admission_service_counters sum = gate_counts(g, i);

        waiting += gate_waiting(g, i);
        unstarted += sum.attempts - sum.admitted - gate_refused(g, i) - sum.cancelled;
        assert_int_equal(sum.refused[REASON_NONE], 0);
    }
    assert_int_equal(unstarted, waiting + g->unstarted);
}

static inline void gate_stop(struct gate *g)
{
    gate_check(g);
    core_crew_stop(&g->crew);
    free(g->control);
}

/* A new client's attempt to begin new work. */
static inline struct attempt gate_attempt(struct gate *g, uint32_t tenant, uint32_t service)
{
    return (struct attempt){.tenant = tenant,
                            .service = service,
                            .ip_bytes = 60,
                            .client = ++g->keys * 0x9e3779b97f4a7c15ull,
                            .flow = g->keys * 0xbf58476d1ce4e5b9ull,
                            .cookie = ++g->cookies};
}

static inline struct decision gate_offer(struct gate *g, uint32_t worker, const struct attempt *a)
{
    struct decision d = admission_offer(g->crew.workers[worker], a, g->now_ns);

    assert_int_equal(d.verdict == VERDICT_REFUSE, d.reason != REASON_NONE);
    return d;
}

/* A new client's attempt on worker 0; how it ends. */
static inline struct decision gate_ask(struct gate *g, uint32_t tenant)
{
    struct attempt a = gate_attempt(g, tenant, WEB);

    return gate_offer(g, 0, &a);
}

/* That many of a tenant are admitted. */
static inline void gate_fill(struct gate *g, uint32_t tenant, unsigned n)
{
    while (n--)
        assert_int_equal(gate_ask(g, tenant).verdict, VERDICT_ADMIT);
}

/* One slot of a tenant's on worker 0 is freed, its work done. */
static inline void gate_done(struct gate *g, uint32_t tenant, uint8_t held)
{
    const struct slot slot = {.tenant = tenant, .service = WEB, .held = held};

    admission_complete(g->crew.workers[0], &slot, &(struct ending){.held_ns = CORE_MS}, g->now_ns);
}

/* The next decision about a waiter of a worker; false when there is none. */
static inline bool gate_poll(struct gate *g, uint32_t worker, struct released *released)
{
    return admission_poll(g->crew.workers[worker], g->now_ns, released, 1) == 1;
}

/* One period of the control thread, with a gateway that has nothing to do. */
static inline void gate_steer(struct gate *g)
{
    const struct gateway_sample idle = {0};

    if (!g->control)
        g->control =
            admission_control_init(core_memory(admission_control_bytes(&g->crew.shared->size)),
                                   g->crew.shared, g->crew.workers);
    admission_control_step(g->control, g->crew.policy, &idle, g->now_ns);
}

/* Setup and teardown of a test with one worker, and with four. */
static inline int gate_open(void **state)
{
    struct gate *g = malloc(sizeof(*g));

    gate_start(g, 1);
    *state = g;
    return 0;
}

static inline int gate_open_four(void **state)
{
    struct gate *g = malloc(sizeof(*g));

    gate_start(g, 4);
    *state = g;
    return 0;
}

static inline int gate_close(void **state)
{
    gate_stop(*state);
    free(*state);
    return 0;
}

/* With one worker, and with four. */
#define OVERLOAD_TEST(test)      cmocka_unit_test_setup_teardown(test, gate_open, gate_close)
#define OVERLOAD_TEST_FOUR(test) cmocka_unit_test_setup_teardown(test, gate_open_four, gate_close)

/* Its client leaves; false: it does not wait any more. */
static inline bool gate_cancel(struct gate *g, uint32_t worker, uint32_t waiter,
                               const struct attempt *a)
{
    uint64_t cookie;
    bool waited = admission_cancel(g->crew.workers[worker], waiter, a->flow, &cookie);

    if (waited)
        assert_int_equal(cookie, a->cookie);
    return waited;
}

#endif
