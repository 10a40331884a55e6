/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decision core on a random walk of everything that can happen to it, on one to four workers,
 * against a model that keeps lists of who holds what. After every step all that is counted adds up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/walk.h"

#define WALKS 60
#define STEPS 20000

/* -- what can happen -- */

/* Who pays with a token of BULK's: work when it enters, an exchange when it connects. */
static void pay(struct walk *w, const struct attempt *a, int n)
{
    if (a->tenant == BULK)
        w->spent += (uint64_t)(int64_t)n;
}

static struct attempt any_attempt(struct walk *w)
{
    const uint32_t service = (uint32_t)below(w, SERVICES);
    const bool exchange = w->g.services[service].unit == UNIT_EXCHANGE;
    struct attempt a = {
        .tenant = (uint32_t)below(w, TENANTS),
        .service = service,
        .ip_bytes = 60,
        .kind = exchange && below(w, 2) ? ATTEMPT_CONNECT : ATTEMPT_WORK,
        .flags = (uint8_t)((below(w, 2) ? ATTEMPT_SYN : 0) | (below(w, 8) ? 0 : ATTEMPT_HEALTH)),
        .client = (1 + below(w, 100)) * 0x9e3779b97f4a7c15ull,
        .flow = (1 + below(w, 500)) * 0xbf58476d1ce4e5b9ull,
        .cookie = ++w->g.cookies,
    };

    if (w->g.services[service].n_shares && a.tenant != CRITICAL)
        a.share = (uint8_t)(a.tenant + 1);
    return a;
}

static void let_in(struct walk *w, uint32_t worker, const struct attempt *a, uint8_t held)
{
    const struct slot slot = {a->tenant, a->service, a->share, held};

    if (a->kind == ATTEMPT_CONNECT) {
        w->connections[w->n_connections++] =
            (struct live){worker, slot, a->client, w->g.now_ns, false};
        w->connected[a->service]++;
        w->g.unstarted++;
        return;
    }
    check_admitted(w, worker, &slot);
    add_slot(w, worker, &slot, a->client);
}

/* A flow whose packet waits asks for nothing more. */
static bool waits_already(const struct walk *w, uint32_t worker, const struct attempt *a)
{
    for (uint32_t i = 0; i < w->n_queued; i++)
        if (w->queued[i].worker == worker && w->queued[i].attempt.flow == a->flow)
            return true;
    return false;
}

static void offer(struct walk *w, uint32_t worker, const struct attempt *a)
{
    const uint32_t waiting = gate_waiting(&w->g, a->service);
    struct decision d;

    if (a->kind == ATTEMPT_WORK && waits_already(w, worker, a))
        return;
    if (w->n_slots + w->n_queued >= LIVE_MAX - 1 || w->n_connections == LIVE_MAX)
        return;
    d = gate_offer(&w->g, worker, a);
    if (a->kind == ATTEMPT_FIRST) {
        w->g.unstarted--;
        pay(w, a, d.verdict == VERDICT_REFUSE && !(a->held & SLOT_HEALTH) ? -1 : 0);
    } else {
        pay(w, a, d.verdict != VERDICT_REFUSE && !(d.held & SLOT_HEALTH));
    }
    if (d.verdict == VERDICT_ADMIT) {
        let_in(w, worker, a, d.held);
    } else if (d.verdict == VERDICT_WAIT) {
        /* A place of its own, or that of one it displaced. */
        assert_true(gate_waiting(&w->g, a->service) == waiting ||
                    waiting <
                        rules_of(w, worker, a->service)->places[w->g.tenants[a->tenant].class]);
        w->queued[w->n_queued++] = (struct queued){worker, d.waiter, *a};
    }
}

/* The first request of a connection, which then is one no more for this model: only its place among
 * connections is left, and goes at once. */
static void first_request(struct walk *w)
{
    struct live c;
    struct attempt a;

    if (!w->n_connections || w->n_slots + w->n_queued >= LIVE_MAX - 1)
        return;
    c = w->connections[--w->n_connections];
    admission_disconnect(worker_of(w, c.worker), &c.slot);
    w->connected[c.slot.service]--;
    if (!below(w, 4)) /* it closes without one, and stays counted */
        return;
    a = (struct attempt){.tenant = c.slot.tenant,
                         .service = c.slot.service,
                         .share = c.slot.share,
                         .ip_bytes = 60,
                         .kind = ATTEMPT_FIRST,
                         .held = c.slot.held,
                         .client = c.client,
                         .cookie = ++w->g.cookies};
    a.flow = a.cookie;           /* a connection of its own */
    if (!(a.held & SLOT_HEALTH)) /* nobody's packets are limited */
        assert_int_equal(
            admission_meter(worker_of(w, c.worker), a.tenant, a.ip_bytes, w->g.now_ns).reason,
            REASON_NONE);
    offer(w, c.worker, &a);
}

static void hear_of(struct walk *w, struct live *l)
{
    struct admission *adm = worker_of(w, l->worker);

    if (l->slot.held & SLOT_OPENING && below(w, 2)) {
        count_slot(w, &l->slot, UINT32_MAX);
        admission_confirmed(adm, &l->slot);
        count_slot(w, &l->slot, 1);
    } else if (!l->resulted) {
        l->resulted = true;
        if (below(w, 3))
            admission_first_byte(adm, &l->slot, w->g.now_ns);
        else
            admission_no_answer(adm, &l->slot, (uint32_t)below(w, 1ull << 32), w->g.now_ns);
    }
}

static void complete(struct walk *w)
{
    uint32_t i = (uint32_t)below(w, w->n_slots ? w->n_slots : 1);
    struct live *l = &w->slots[i];
    struct ending ending = {.outcome = (enum outcome)below(w, OUTCOME_MAX),
                            .failed = !below(w, 8),
                            .client = l->client,
                            .held_ns = w->g.now_ns - l->since_ns};

    if (!w->n_slots)
        return;
    if (below(w, 2)) {
        hear_of(w, l);
        return;
    }
    ending.latency_ns = ending.held_ns;
    count_slot(w, &l->slot, UINT32_MAX);
    admission_complete(worker_of(w, l->worker), &l->slot, &ending, w->g.now_ns);
    w->slots[i] = w->slots[--w->n_slots];
}

static struct queued take_queued(struct walk *w, uint32_t worker, uint64_t cookie)
{
    for (uint32_t i = 0; i < w->n_queued; i++)
        if (w->queued[i].attempt.cookie == cookie) {
            struct queued q = w->queued[i];

            assert_int_equal(q.worker, worker);
            w->queued[i] = w->queued[--w->n_queued];
            return q;
        }
    fail_msg("nobody waits with cookie %llu", (unsigned long long)cookie);
    return w->queued[0];
}

static void told(struct walk *w, uint32_t worker, const struct released *r)
{
    const struct queued q = take_queued(w, worker, r->cookie);

    assert_int_equal(r->slot.tenant, q.attempt.tenant);
    assert_int_equal(r->slot.service, q.attempt.service);
    if (r->decision.verdict == VERDICT_ADMIT)
        let_in(w, worker, &q.attempt, r->slot.held);
    else
        pay(w, &q.attempt, -1);
}

static void poll(struct walk *w, uint32_t worker)
{
    struct admission *adm = worker_of(w, worker);
    struct released r;

    while (gate_poll(&w->g, worker, &r))
        told(w, worker, &r);
    for (uint32_t s = 0; s < SERVICES; s++) {
        uint64_t since_ns = wait_oldest_since_ns(&adm->services[s].queue);

        assert_true(since_ns == UINT64_MAX || w->g.now_ns - since_ns < WAIT_AGE);
    }
    assert_int_equal(adm->n_displaced, 0);
}

static void dismiss(struct walk *w, uint32_t worker)
{
    struct released r;

    while (admission_dismiss(worker_of(w, worker), w->g.now_ns, &r, 1) == 1) {
        assert_true(r.decision.reason == REASON_GATEWAY ||
                    r.decision.reason == REASON_CAPACITY); /* the displaced */
        told(w, worker, &r);
    }
}

static void cancel(struct walk *w)
{
    struct queued q;

    if (!w->n_queued)
        return;
    q = w->queued[below(w, w->n_queued)];
    assert_true(gate_cancel(&w->g, q.worker, q.index, &q.attempt));
    assert_false(gate_cancel(&w->g, q.worker, q.index, &q.attempt));
    take_queued(w, q.worker, q.attempt.cookie);
    pay(w, &q.attempt, -1);
}

static void adopt_flow(struct walk *w, uint32_t worker)
{
    const struct attempt a = any_attempt(w);
    struct slot slot = {a.tenant, a.service, a.share, 0};

    if (w->n_slots > 16)
        return;
    admission_adopt_flow(worker_of(w, worker), &slot);
    add_slot(w, worker, &slot, a.client);
}

/* Every slot of a worker is found: nothing may be given back. */
static void survey(struct walk *w, uint32_t worker)
{
    for (uint32_t i = 0; i < w->n_slots; i++)
        if (w->slots[i].worker == worker)
            admission_survey_slot(worker_of(w, worker), &w->slots[i].slot,
                                  w->g.now_ns - w->slots[i].since_ns);
    admission_survey_end(worker_of(w, worker));
}

static void new_limits(struct walk *w)
{
    struct gate *g = &w->g;

    for (uint32_t s = 0; s < SERVICES; s++) {
        struct policy_service *service = &g->services[s];

        service->window = (uint32_t)below(w, 13);
        service->connections = (uint32_t)below(w, 20);
        service->wait = (struct policy_wait){(uint32_t)below(w, 9), WAIT_AGE,
                                             (enum policy_order)below(w, ORDER_DEADLINE + 1)};
        service->reserve[CLASS_CRITICAL] =
            (struct policy_reserve){(uint32_t)below(w, 3), (uint32_t)below(w, 3)};
        service->shares = g->shares;
        service->n_shares = below(w, 2) ? 2 : 0;
        service->unit = s == WEB ? UNIT_CONNECTION : UNIT_EXCHANGE;
        service->breaker.failures = below(w, 2) ? 3 : 0;
        service->breaker.open_ns = 100 * CORE_MS;
        service->deadline_ns = below(w, 2) ? 50 * CORE_MS : 0;
        service->capacity = core_rate(20, 1, 0);
        service->shed = (struct policy_shed){below(w, 4) ? 0 : 980000, core_rate(2, 1, 0)};
        service->probes = (struct policy_probes){&g->probes, 1, core_rate(100, 1, 9)};
    }
    g->shares[0] = (struct policy_share){BULK, (uint32_t)below(w, 3), 1 + (uint32_t)below(w, 6), 1};
    g->shares[1] = (struct policy_share){NORMAL, (uint32_t)below(w, 3), POLICY_WINDOW_MAX, 2};
    for (uint32_t t = 0; t < TENANTS; t++)
        g->tenants[t].window = (uint32_t)below(w, 16);
    gate_adopt(g);
}

static void step(struct walk *w)
{
    uint32_t worker = (uint32_t)below(w, w->g.crew.n);
    struct attempt a = any_attempt(w);
    uint64_t dice = below(w, 1000);

    w->g.now_ns += below(w, CORE_MS);
    if (dice < 400)
        offer(w, worker, &a);
    else if (dice < 700)
        complete(w);
    else if (dice < 850)
        poll(w, worker);
    else if (dice < 900)
        first_request(w);
    else if (dice < 940)
        cancel(w);
    else if (dice < 955)
        adopt_flow(w, worker);
    else if (dice < 980)
        survey(w, worker);
    else if (dice < 985)
        gate_steer(&w->g);
    else if (dice < 992)
        new_limits(w);
    else if (dice < 994)
        w->g.now_ns += 50 * CORE_MS;
    else if (dice < 996)
        dismiss(w, worker);
    else if (dice < 998)
        admission_tidy(worker_of(w, worker), w->g.now_ns);
    else {
        admission_reclaim(worker_of(w, worker));
        w->reclaimed[worker] = true;
    }
}

/* What the walks have met with; a walk that never comes to a place proves nothing about it. */
static void sum_up(struct walk *w, struct admission_service_counters *sum)
{
    for (uint32_t s = 0; s < SERVICES; s++) {
        struct admission_service_counters c = gate_counts(&w->g, s);

        for (size_t i = 0; i < sizeof(c) / sizeof(uint64_t); i++)
            ((uint64_t *)sum)[i] += ((const uint64_t *)&c)[i];
    }
}

static void everything_adds_up(void **state)
{
    static const enum reason met[] = {REASON_SHARE,       REASON_ERLANGS, REASON_RETRIES,
                                      REASON_CAPACITY,    REASON_SHED,    REASON_DEADLINE,
                                      REASON_CONNECTIONS, REASON_BREAKER, REASON_GATEWAY};
    struct admission_service_counters sum = {0};
    static struct walk w;

    (void)state;
    for (uint64_t seed = 1; seed <= WALKS; seed++) {
        w = (struct walk){.seed = seed};
        gate_start(&w.g, 1 + (uint32_t)(seed % 4));
        w.g.tenants[BULK].attempts = core_rate(1, 86400, TOKENS - 1);
        w.g.tenants[NORMAL].milli_erlangs = 100;
        new_limits(&w);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&w);
            check_counts(&w);
            check_queues(&w);
            check_attempts(&w);
        }
        for (uint32_t i = 0; i < w.g.crew.n; i++)
            dismiss(&w, i);
        check_queues(&w);
        sum_up(&w, &sum);
        gate_stop(&w.g);
    }
    for (unsigned i = 0; i < sizeof(met) / sizeof(met[0]); i++)
        assert_true(sum.refused[met[i]] >= 100);
    assert_true(sum.cancelled >= 1000 && sum.waited >= 10000 && sum.admitted >= 50000);
    assert_true(sum.served_late >= 1000 && sum.connected >= 1000 && sum.health >= 1000);
    assert_int_equal(sum.reclaimed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_adds_up)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
