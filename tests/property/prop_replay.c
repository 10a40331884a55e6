/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same trace of attempts, packets and completions through one worker and through many, each
 * flow on its owner: where quotas are spent from the pool (lots of 1), every single decision is the
 * same. And clocks at their ends: a year at once, and an age clock that wraps.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/lease.h"
#include "dataplane/flow/lifecycle.h"
#include "tests/property/gcra.h"
#include "tests/property/random.h"
#include "tests/unit/core.h"
#include "tests/unit/flows.h"

#define TENANTS  4
#define SERVICES 2
#define FLOWS    512
#define EVENTS   200000
#define YEAR_NS  (365 * 86400 * CORE_S)

/* A step of the trace: it does not depend on who handles it. */
struct event {
    uint64_t gap_ns;
    uint32_t flow, ip_bytes;
    bool charge; /* a packet; else an attempt, or, of an admitted flow, its completion */
};

struct player {
    struct core_crew crew;
    struct flow_table *hash; /* chooses owners */
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES];
    struct policy_ports ports;
    uint64_t now_ns, admitted, refused;
    bool held[FLOWS];
    uint8_t decisions[EVENTS]; /* enum reason; UINT8_MAX: a completion */
};

static void set_limits(struct player *p)
{
    for (uint32_t t = 0; t < TENANTS; t++) {
        p->tenants[t] = core_tenant(t);
        p->tenants[t].attempts = core_rate(500 * (t + 1), 1, 20 * t);
        p->tenants[t].window = 10 + 20 * t;
    }
    p->tenants[1].attempts = core_rate(10000, 60, 5);
    p->tenants[2].packets = core_rate(2000, 1, 30);
    p->tenants[2].bits = core_rate(8000000, 1, 9000);
    for (uint32_t s = 0; s < SERVICES; s++) {
        p->addresses[s] = address_from_v4(s);
        p->services[s] = core_service(s, &p->addresses[s], &p->ports);
        p->services[s].window = 60;
    }
}

static void start_player(struct player *p, uint32_t workers)
{
    const struct admission_size size = {
        .n_tenants = TENANTS, .n_services = SERVICES, .n_workers = workers};
    const struct policy_spec spec = {.tenants = p->tenants,
                                     .services = p->services,
                                     .n_tenants = TENANTS,
                                     .n_services = SERVICES};

    *p = (struct player){.ports = {80, 80}, .now_ns = 1, .hash = flows_start(16)};
    core_crew_start(&p->crew, &size);
    set_limits(p);
    core_crew_adopt(&p->crew, &spec, p->now_ns);
}

static void stop_player(struct player *p)
{
    free(p->hash);
    core_crew_stop(&p->crew);
}

static uint8_t play(struct player *p, const struct event *event)
{
    struct flow_key key = flows_key(event->flow);
    struct admission *owner = p->crew.workers[flow_hash(p->hash, &key) % p->crew.n];
    struct slot slot = {.tenant = event->flow % TENANTS,
                        .service = event->flow / TENANTS % SERVICES};
    struct attempt attempt = {
        .tenant = slot.tenant, .service = slot.service, .ip_bytes = event->ip_bytes};
    struct decision d;

    p->now_ns += event->gap_ns;
    for (uint32_t w = 0; w < p->crew.n; w++)
        admission_tidy(p->crew.workers[w], p->now_ns);
    if (event->charge) {
        d = admission_charge(owner, slot.tenant, event->ip_bytes, p->now_ns);
    } else if (p->held[event->flow]) {
        p->held[event->flow] = false;
        core_complete(owner, &slot, OUTCOME_FINISHED);
        return UINT8_MAX;
    } else {
        d = admission_offer(owner, &attempt, p->now_ns);
        p->held[event->flow] = d.reason == REASON_NONE;
    }
    p->admitted += d.reason == REASON_NONE;
    p->refused += d.reason != REASON_NONE;
    return (uint8_t)d.reason;
}

/* Rare events among many, and once in a trace a whole year of silence. */
static void make_trace(struct event *trace, uint64_t seed)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        trace[i] = (struct event){
            .gap_ns = random_below(&seed, 100) ? random_below(&seed, 200000) : 5 * CORE_MS,
            .flow = (uint32_t)random_below(&seed, FLOWS),
            .ip_bytes = 40 + (uint32_t)random_below(&seed, 1461),
            .charge = random_below(&seed, 3) == 0,
        };
    trace[EVENTS / 2].gap_ns = YEAR_NS;
}

static void many_workers_decide_as_one(void **state)
{
    static struct event trace[EVENTS];
    static struct player one, many;
    static const uint32_t crews[] = {2, 4, 16};

    (void)state;
    make_trace(trace, 11);
    start_player(&one, 1);
    for (uint32_t i = 0; i < EVENTS; i++)
        one.decisions[i] = play(&one, &trace[i]);
    print_message("# %" PRIu64 " admitted, %" PRIu64 " refused\n", one.admitted, one.refused);
    assert_true(one.admitted > EVENTS / 4 && one.refused > EVENTS / 20);
    for (size_t c = 0; c < 3; c++) {
        start_player(&many, crews[c]);
        for (uint32_t i = 0; i < EVENTS; i++)
            if (play(&many, &trace[i]) != one.decisions[i])
                fail_msg("event %u with %u workers", i, crews[c]);
        stop_player(&many);
    }
    stop_player(&one);
}

/* -- a year at once -- */

/* After it a bucket is full, and not more than full, whatever its rate and its lots. */
static void a_year_gives_one_burst(void **state)
{
    static const struct quota_rate rates[] = {
        {1, 3, 86400, false}, {1, 0, 60, false}, {1000, 100, 1, false}, {10000000, 9999, 1, false}};
    static struct player p;

    (void)state;
    for (size_t r = 0; r < 4; r++) {
        const struct policy_spec spec = {.tenants = p.tenants, .n_tenants = 1};
        const struct attempt attempt = {
            .tenant = 0, .service = ADMISSION_NO_SERVICE, .ip_bytes = 60};
        uint64_t admitted = 0, lots = 0;

        start_player(&p, 4);
        p.tenants[0] = core_tenant(0);
        p.tenants[0].attempts = CORE_UNLIMITED;
        core_crew_adopt(&p.crew, &spec, p.now_ns);
        p.tenants[0].attempts = rates[r]; /* from `unlimited`: starts empty */
        core_crew_adopt(&p.crew, &spec, p.now_ns);
        assert_int_equal(admission_offer(p.crew.workers[0], &attempt, p.now_ns).reason,
                         REASON_RATE);
        p.now_ns += YEAR_NS;
        for (uint32_t i = 0; i < 4 * (rates[r].burst + 10); i++)
            admitted += admission_offer(p.crew.workers[i % 4], &attempt, p.now_ns).reason == 0;
        lots = r == 3 ? 4 * LEASE_EVENTS_MAX : 0;
        assert_in_range(admitted, rates[r].burst + 1 - lots, rates[r].burst + 1);
        stop_player(&p);
    }
}

/* -- an age clock that wraps -- */

struct ended {
    const struct flow_timeouts *timeouts;
    uint32_t n, at_ms;
};

static void end_silent(struct flow_table *table, struct flow *flow, void *context)
{
    struct ended *ended = context;
    enum outcome outcome;

    if (!flow_expired(flow, ended->timeouts, flow_table_now_ms(table), &outcome))
        return;
    assert_int_equal(outcome, OUTCOME_AGED);
    ended->n++;
    ended->at_ms = flow_table_now_ms(table);
    flow_remove(table, flow);
}

/* 49.7 days of uptime, second by second, then flows on either side of the wrap. */
static void flows_age_across_the_wrap(void **state)
{
    static const struct flow_timeouts timeouts = {3000, 60000, 30000, 2000, 1000, 300000};
    struct flow_table *table = flows_start(1024);
    struct ended ended = {.timeouts = &timeouts};
    uint64_t now_ns = 1;

    (void)state;
    flow_table_tick(table, now_ns);
    for (uint32_t s = 0; s < UINT32_MAX / 1000; s++)
        flow_table_tick(table, now_ns += CORE_S);
    assert_int_equal(flow_table_now_ms(table), UINT32_MAX / 1000 * 1000);
    for (uint32_t n = 0; n < 100; n++)
        flows_insert(table, n)->heard_ms = flow_table_now_ms(table);
    for (uint32_t ms = 0; ms < 2999; ms++) {
        flow_table_tick(table, now_ns += CORE_MS);
        flow_table_sweep(table, end_silent, &ended);
    }
    assert_true(flow_table_now_ms(table) < 3000); /* it has wrapped */
    assert_int_equal(ended.n, 0);
    for (uint32_t ms = 0; ms < 1 + FLOW_SWEEP_MS; ms++) {
        flow_table_tick(table, now_ns += CORE_MS);
        flow_table_sweep(table, end_silent, &ended);
    }
    assert_int_equal(ended.n, 100);
    assert_int_equal(flow_table_used(table), 0);
    free(table);
}

/* -- the pool against GCRA -- */

#define DECISIONS 10000000u

/* Ten million decisions of a pool that four workers spend from one by one. */
static void pool_decides_as_gcra(void **state)
{
    static const struct quota_rate rates[] = {{1, 3, 86400, false},     {7, 2, 3600, false},
                                              {1000, 100, 60, false},   {5, 10, 1, false},
                                              {19999, 1000, 1, false},  {20000, 1000000, 1, false},
                                              {1000000000, 5, 1, false}};
    uint64_t seed = 5, admitted = 0;

    (void)state;
    for (size_t r = 0; r < 7; r++) {
        struct lease leases[4];
        struct pool pool = {0};
        struct bucket_rate rate;
        uint64_t now_ns = 1, interval_ns;
        struct gcra gcra =
            gcra_start(rates[r].amount, rates[r].period_s * CORE_S, rates[r].burst + 1, now_ns);

        assert_true(bucket_rate_events(&rate, rates[r].amount, rates[r].period_s, rates[r].burst));
        assert_int_equal(lease_lot_events(&rate, 4).tokens, 1);
        interval_ns = rate.cost / rate.rate;
        pool_set(&pool, rate.cap, now_ns);
        for (unsigned w = 0; w < 4; w++)
            leases[w] = (struct lease){.rate = rate, .lot = {.tokens = 1}};
        for (unsigned i = 0; i < DECISIONS / 7 + 1; i++) {
            bool expected;

            /* Mostly near the interval, where a verdict hangs on a nanosecond. */
            now_ns += random_below(&seed, 4) ? random_below(&seed, interval_ns + 2)
                                             : interval_ns + random_below(&seed, 3) - 1;
            expected = gcra_conforms(&gcra, 1, now_ns);
            if (lease_take(&leases[random_below(&seed, 4)], &pool, 1, 0, now_ns) != expected)
                fail_msg("rate %zu, decision %u: GCRA says %d", r, i, expected);
            admitted += expected;
        }
    }
    assert_true(admitted > DECISIONS / 4 && admitted < DECISIONS / 10 * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_workers_decide_as_one),
        cmocka_unit_test(a_year_gives_one_burst),
        cmocka_unit_test(flows_age_across_the_wrap),
        cmocka_unit_test(pool_decides_as_gcra),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
