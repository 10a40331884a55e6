/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a random walk through the decision core: lists of who holds what and who waits, and
 * what must be true of the core's counts at any moment.
 */
#ifndef SLUICE_TESTS_WALK_H
#define SLUICE_TESTS_WALK_H

#include "tests/property/random.h"
#include "tests/unit/overload.h"

#define LIVE_MAX    256
#define TOKENS      50000
#define WAIT_AGE    (20 * CORE_MS)
#define SHARES_MOST 3

struct live {
    uint32_t worker;
    struct slot slot;
    uint64_t client, since_ns;
    bool resulted;
};

struct queued {
    uint32_t worker, index;
    struct attempt attempt;
};

struct walk {
    struct gate g;
    uint64_t seed;
    struct live slots[LIVE_MAX], connections[LIVE_MAX];
    struct queued queued[LIVE_MAX];
    uint32_t n_slots, n_connections, n_queued;
    bool reclaimed[CORE_WORKERS_MAX];
    /* Of the slots. */
    uint32_t of_service[SERVICES], of_tenant[TENANTS], of_share[SERVICES][SHARES_MOST];
    uint32_t opening[SERVICES], reserved[SERVICES], connected[SERVICES];
    uint64_t spent; /* attempt tokens of BULK */
};

static inline uint64_t below(struct walk *w, uint64_t n)
{
    return random_below(&w->seed, n);
}

static inline struct admission *worker_of(struct walk *w, uint32_t worker)
{
    return w->g.crew.workers[worker];
}

static inline const struct service_rules *rules_of(struct walk *w, uint32_t worker,
                                                   uint32_t service)
{
    return &worker_of(w, worker)->services[service].rules;
}

/* -- the model -- */

static inline void count_slot(struct walk *w, const struct slot *slot, uint32_t n)
{
    if (slot->held & SLOT_RESERVED) {
        w->reserved[slot->service] += n;
        return;
    }
    w->of_service[slot->service] += n;
    w->of_tenant[slot->tenant] += n;
    if (slot->held & SLOT_SHARED)
        w->of_share[slot->service][slot->share] += n;
    if (slot->held & SLOT_OPENING)
        w->opening[slot->service] += n;
}

static inline void add_slot(struct walk *w, uint32_t worker, const struct slot *slot,
                            uint64_t client)
{
    assert_true(w->n_slots < LIVE_MAX);
    w->slots[w->n_slots++] = (struct live){worker, *slot, client, w->g.now_ns, false};
    count_slot(w, slot, 1);
}

/* Nobody enters a full window, but for who has a slot of his own. */
static inline void check_admitted(struct walk *w, uint32_t worker, const struct slot *slot)
{
    const struct policy_tenant *t = &w->g.tenants[slot->tenant];

    if (slot->held & SLOT_RESERVED)
        return;
    assert_true(w->of_service[slot->service] <
                rules_of(w, worker, slot->service)->window[t->class]);
    assert_true(w->of_tenant[slot->tenant] < t->window);
}

static inline void check_counts(struct walk *w)
{
    const struct admission_shared *shared = w->g.crew.shared;

    for (uint32_t s = 0; s < SERVICES; s++) {
        const struct service_shared *service = &shared->services[s];

        assert_int_equal(window_used(&service->window), w->of_service[s]);
        assert_int_equal(window_opening(&service->window), w->opening[s]);
        assert_int_equal(window_used(&service->health), w->reserved[s]);
        assert_int_equal(window_used(&service->connections), w->connected[s]);
        for (unsigned i = 0; i < SHARES_MOST; i++)
            assert_int_equal(window_used(&service->shares[i]), w->of_share[s][i]);
    }
    for (uint32_t t = 0; t < TENANTS; t++) {
        assert_int_equal(gate_share_used(&w->g, t), w->of_tenant[t]);
        assert_true(retry_tenths(&shared->tenants[t].retries) <= RETRY_CAP);
    }
    assert_int_equal(gate_tokens(&w->g, BULK), TOKENS - w->spent);
}

static inline void check_queues(struct walk *w)
{
    uint32_t places[SERVICES] = {0}, queued = 0;

    for (uint32_t i = 0; i < w->g.crew.n; i++) {
        const struct admission *adm = worker_of(w, i);
        uint64_t length = 0;

        for (uint32_t s = 0; s < SERVICES; s++) {
            const struct service_state *state = &adm->services[s];

            length += wait_length(&state->queue);
            uint32_t held = 0;

            for (unsigned share = 0; share <= SHARES_MAX + 1; share++)
                held += state->places[share];
            places[s] += held;
            assert_true(held <= wait_length(&state->queue));
            assert_true(w->reclaimed[i] || held == wait_length(&state->queue));
        }
        assert_int_equal(adm->waiters->used, length);
        assert_true(length <= GATE_WAITERS);
        queued += (uint32_t)length + adm->n_displaced;
    }
    assert_int_equal(queued, w->n_queued);
    for (uint32_t s = 0; s < SERVICES; s++)
        assert_int_equal(gate_waiting(&w->g, s), places[s]);
}

/* attempts = admitted + refused + cancelled + waiting + connections without a first request. */
static inline void check_attempts(struct walk *w)
{
    uint64_t open = 0;

    for (uint32_t s = 0; s < SERVICES; s++) {
        struct admission_service_counters c = gate_counts(&w->g, s);

        open += c.attempts - c.admitted - c.cancelled - gate_refused(&w->g, s);
        assert_true(c.offered <= c.attempts);
        assert_true(c.attempts <= c.attempt_packets);
    }
    assert_int_equal(open, w->n_queued + (uint64_t)w->g.unstarted);
}

#endif
