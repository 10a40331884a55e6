/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tenants do to each other before the real core: shares of the window, quotas in erlangs, and
 * the wait queue, on two workers. One floods, one sends heavy work; six must not notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/fairness.h"
#include "tests/unit/core.h"

#define FAIR_WORKERS 2
#define PLACES       320u
#define WAITERS      PLACES
#define WAIT_AGE_NS  (100 * CORE_MS)
#define NOT_BUSY     UINT64_MAX

/* What each tenant has: guaranteed slots, at most so many, and on average. */
struct terms {
    uint32_t guaranteed, ceiling, milli_erlangs;
};

struct job {
    uint32_t worker;
    struct slot slot;
    uint64_t done_ns, takes_ns;
};

struct counter {
    struct core_crew crew;
    struct fairness fairness;
    struct job jobs[SLOTS]; /* that run; done_ns NOT_BUSY: free */
    uint64_t now_ns, seed, flows;
    bool noted; /* else it is still warming up */
};

static void adopt_terms(struct counter *c, const struct terms *terms)
{
    struct address address = core_address("10.9.0.10");
    struct policy_ports ports = {80, 80};
    struct policy_tenant tenants[TENANTS + 1];
    struct policy_share shares[TENANTS];
    struct policy_service service = core_service(0, &address, &ports);
    const struct policy_spec spec = {
        .tenants = tenants, .services = &service, .n_tenants = TENANTS + 1, .n_services = 1};

    for (uint32_t i = 0; i <= TENANTS; i++) {
        tenants[i] = core_tenant(i);
        tenants[i].milli_erlangs = i ? terms->milli_erlangs : POLICY_ERLANGS_UNLIMITED;
        if (i)
            shares[i - 1] = (struct policy_share){i, terms->guaranteed, terms->ceiling, 1};
    }
    service.window = SLOTS;
    service.wait = (struct policy_wait){.places = PLACES, .age_ns = WAIT_AGE_NS};
    service.shares = shares;
    service.n_shares = terms->ceiling ? TENANTS : 0;
    core_crew_adopt(&c->crew, &spec, c->now_ns);
}

static void counter_start(struct counter *c, const struct terms *terms)
{
    const struct admission_size size = {
        .n_tenants = TENANTS + 1, .n_services = 1, .n_workers = FAIR_WORKERS, .n_waiters = WAITERS};

    *c = (struct counter){.now_ns = CORE_S, .seed = 4};
    for (unsigned i = 0; i < SLOTS; i++)
        c->jobs[i].done_ns = NOT_BUSY;
    core_crew_start(&c->crew, &size);
    adopt_terms(c, terms);
}

static void begin(struct counter *c, uint32_t worker, const struct slot *slot, uint64_t takes_ns,
                  uint64_t waited_ns)
{
    unsigned i = 0;

    while (c->jobs[i].done_ns != NOT_BUSY)
        i++;
    c->jobs[i] = (struct job){worker, *slot, c->now_ns + takes_ns, takes_ns};
    if (c->noted)
        fairness_note(&c->fairness, slot->tenant, takes_ns, waited_ns + takes_ns);
}

static void poll_workers(struct counter *c)
{
    struct released r;

    for (uint32_t i = 0; i < FAIR_WORKERS; i++) {
        uint32_t w = (uint32_t)((c->flows + i) % FAIR_WORKERS);

        while (admission_poll(c->crew.workers[w], c->now_ns, &r, 1))
            if (r.decision.verdict == VERDICT_ADMIT)
                begin(c, w, &r.slot, r.cookie, r.waited_ns);
    }
}

static void advance(struct counter *c, uint64_t until_ns)
{
    for (;;) {
        unsigned first = 0;

        for (unsigned i = 1; i < SLOTS; i++)
            if (c->jobs[i].done_ns < c->jobs[first].done_ns)
                first = i;
        if (c->jobs[first].done_ns > until_ns)
            break;
        c->now_ns = c->jobs[first].done_ns;
        c->jobs[first].done_ns = NOT_BUSY;
        admission_complete(c->crew.workers[c->jobs[first].worker], &c->jobs[first].slot,
                           &(struct ending){.held_ns = c->jobs[first].takes_ns}, c->now_ns);
        poll_workers(c);
    }
    c->now_ns = until_ns;
}

static void arrive(struct counter *c, const struct fairness_work *work, bool shares)
{
    uint32_t worker = (uint32_t)random_below(&c->seed, FAIR_WORKERS);
    const struct attempt attempt = {.tenant = work->tenant,
                                    .ip_bytes = 60,
                                    .share = shares ? (uint8_t)work->tenant : 0,
                                    .client = ++c->flows * 0x9e3779b97f4a7c15ull,
                                    .flow = c->flows * 0xbf58476d1ce4e5b9ull,
                                    .cookie = work->takes_ns};
    struct decision d;

    advance(c, c->now_ns + work->after_ns);
    d = admission_offer(c->crew.workers[worker], &attempt, c->now_ns);
    if (d.verdict == VERDICT_ADMIT)
        begin(c, worker, &(struct slot){work->tenant, 0, attempt.share, d.held}, work->takes_ns, 0);
    poll_workers(c);
}

/* SECONDS, after as many to use up what quotas have saved. */
static void play(const char *what, const struct terms *terms, bool calm, struct fairness *f)
{
    static struct counter c;

    counter_start(&c, terms);
    while (c.now_ns < CORE_S + 2 * SECONDS * CORE_S) {
        const struct fairness_work work = fairness_next(&c.fairness, calm, &c.seed);

        if (!c.noted && c.now_ns >= CORE_S + SECONDS * CORE_S) {
            c.noted = true;
            c.fairness = (struct fairness){0};
        }
        arrive(&c, &work, terms->ceiling > 0);
    }
    advance(&c, c.now_ns + 100 * CORE_S);
    assert_int_equal(window_used(admission_service_window(c.crew.shared, 0)), 0);
    *f = c.fairness;
    print_message("# %s: p99 of the six %.1f ms\n", what, fairness_p99_ms(f));
    core_crew_stop(&c.crew);
}

static double play_jain(const char *what, const struct terms *terms)
{
    static struct fairness f;
    double index;

    play(what, terms, false, &f);
    index = fairness_jain(&f, SLOTS_EACH);
    print_message("# %s: index %.4f\n", what, index);
    return index;
}

static void assert_served(const struct fairness *f)
{
    for (unsigned i = 1; i < FLOODER; i++)
        assert_near(f->served_s[i], f->demand_s[i], .01);
}

/* The six are served all they ask for, and stay as long as if all eight were alike. */
static void check_victims(const char *what, const struct terms *terms)
{
    static struct fairness calm, rough;

    play("calm", terms, true, &calm);
    play(what, terms, false, &rough);
    assert_near(fairness_p99_ms(&rough), fairness_p99_ms(&calm), .1);
    assert_served(&rough);
}

static const struct terms guarantees = {SLOTS_EACH, SLOTS, POLICY_ERLANGS_UNLIMITED};
/* Half of the slots are lent, and nobody has more than its part of them for long. */
static const struct terms quotas = {SLOTS_EACH / 2, SLOTS, 1000 * SLOTS_EACH};

static void guaranteed_shares_are_fair(void **state)
{
    (void)state;
    assert_true(play_jain("guarantees", &guarantees) >= .99);
    check_victims("guarantees", &guarantees);
}

/* Half of the slots are lent, and nothing but who holds the fewest says to whom: that is enough for
 * the six, and what they leave goes to the other two, so the index stays below 1. In turns heavy
 * work takes four times its part, and the index is .55. */
static void lent_slots_are_shared_by_need(void **state)
{
    const struct terms lent = {SLOTS_EACH / 2, SLOTS, POLICY_ERLANGS_UNLIMITED};
    static struct fairness f;

    (void)state;
    play("half of them lent", &lent, false, &f);
    assert_served(&f);
    assert_true(fairness_jain(&f, SLOTS_EACH) >= .9);
}

static void quotas_in_erlangs_are_fair(void **state)
{
    (void)state;
    assert_true(play_jain("erlangs", &quotas) >= .99);
    check_victims("erlangs", &quotas);
}

static void without_either_it_is_unfair(void **state)
{
    const struct terms none = {.milli_erlangs = POLICY_ERLANGS_UNLIMITED};

    (void)state;
    assert_true(play_jain("neither", &none) < .7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guaranteed_shares_are_fair),
        cmocka_unit_test(lent_slots_are_shared_by_need),
        cmocka_unit_test(quotas_in_erlangs_are_fair),
        cmocka_unit_test(without_either_it_is_unfair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
