/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One quota on four threads whose clocks differ: what they admitted, put together in the order of
 * their own times, conforms to the one bucket. Worth most under ThreadSanitizer; the corners that a
 * scheduler seldom shows are in prop_lease_races.c.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "tests/property/gcra.h"
#include "tests/property/random.h"
#include "tests/unit/core.h"

#define WORKERS   4
#define CLOCKS_NS 50000 /* spread */
#define RUN_US    250000
#define LOG_MAX   400000

struct entry {
    uint64_t at_ns;
    uint32_t n;
};

struct worker {
    struct match *match;
    struct admission *admission;
    pthread_t thread;
    uint64_t offset_ns, seed;
    uint64_t longest_ns; /* that a call took, by the worker's clock */
    uint64_t offered;
    struct entry *log;
    size_t n_log;
};

/* All against one tenant's quota. */
struct match {
    struct core_crew crew;
    struct policy_tenant tenant;
    struct worker workers[WORKERS];
    const struct policy *policy; /* atomic */
    pthread_barrier_t ready;
    bool stop;            /* atomic */
    uint32_t frame_bytes; /* largest charged; 0: attempts are offered */
};

static uint64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CORE_S + (uint64_t)now.tv_nsec;
}

/* As a worker's loop does: adopts what is new, asks, tidies up. */
static uint32_t ask(struct worker *w, const struct policy **adopted, uint64_t now_ns)
{
    const struct policy *policy = __atomic_load_n(&w->match->policy, __ATOMIC_ACQUIRE);
    const struct attempt attempt = {.tenant = 0, .service = ADMISSION_NO_SERVICE, .ip_bytes = 60};
    uint32_t n = w->match->frame_bytes;
    struct decision d;

    if (policy != *adopted)
        admission_adopt(w->admission, policy, now_ns);
    *adopted = policy;
    if (n) {
        n = 40 + (uint32_t)random_below(&w->seed, n - 39);
        d = admission_charge(w->admission, 0, n, now_ns);
    } else {
        n = 1;
        d = admission_offer(w->admission, &attempt, now_ns);
    }
    admission_tidy(w->admission, now_ns);
    return d.verdict == VERDICT_ADMIT ? n : 0;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct policy *adopted = NULL;
    uint64_t now_ns, then_ns;
    uint32_t n;

    pthread_barrier_wait(&w->match->ready);
    now_ns = clock_now_ns() + w->offset_ns;
    do {
        then_ns = now_ns;
        n = ask(w, &adopted, now_ns);
        w->offered++;
        if (n && w->n_log < LOG_MAX)
            w->log[w->n_log++] = (struct entry){now_ns, n};
        now_ns = clock_now_ns() + w->offset_ns;
        if (now_ns - then_ns > w->longest_ns)
            w->longest_ns = now_ns - then_ns;
    } while (!__atomic_load_n(&w->match->stop, __ATOMIC_RELAXED));
    return NULL;
}

/* -- the match -- */

static void publish(struct match *m)
{
    const struct policy_spec spec = {.tenants = &m->tenant, .n_tenants = 1};
    struct policy *policy;

    assert_int_equal(policy_create(&spec, &policy), 0);
    admission_shared_adopt(m->crew.shared, policy, clock_now_ns());
    __atomic_store_n(&m->policy, policy, __ATOMIC_RELEASE);
}

static void start(struct match *m, const struct quota_rate *attempts, const struct quota_rate *bits)
{
    const struct admission_size size = {.n_tenants = 1, .n_services = 0, .n_workers = WORKERS};

    core_crew_start(&m->crew, &size);
    m->tenant = core_tenant(0);
    m->tenant.attempts = *attempts;
    m->tenant.bits = *bits;
    publish(m);
    m->stop = false;
    assert_int_equal(pthread_barrier_init(&m->ready, NULL, WORKERS + 1), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &m->workers[i];

        *w = (struct worker){.match = m,
                             .admission = m->crew.workers[i],
                             .offset_ns = i * CLOCKS_NS / (WORKERS - 1),
                             .seed = i,
                             .log = calloc(LOG_MAX, sizeof(*w->log))};
        assert_non_null(w->log);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&m->workers[i].thread, NULL, work, &m->workers[i]), 0);
    pthread_barrier_wait(&m->ready);
}

static void join(struct match *m)
{
    __atomic_store_n(&m->stop, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(m->workers[i].thread, NULL);
}

static void stop(struct match *m)
{
    for (unsigned i = 0; i < WORKERS; i++)
        free(m->workers[i].log);
    pthread_barrier_destroy(&m->ready);
    core_crew_stop(&m->crew);
}

/* The worker whose next entry is the oldest, or NULL; each log is in order. */
static struct worker *oldest(struct match *m, const size_t next[WORKERS])
{
    struct worker *found = NULL;
    uint64_t at_ns = UINT64_MAX;

    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &m->workers[i];

        if (next[i] < w->n_log && w->log[next[i]].at_ns < at_ns) {
            at_ns = w->log[next[i]].at_ns;
            found = w;
        }
    }
    return found;
}

static void assert_conforms(struct match *m, uint64_t rate, uint64_t depth)
{
    uint64_t held_ns = 0, admitted = 0, excess = 0, offered = 0, first_ns;
    size_t next[WORKERS] = {0};
    struct worker *w = oldest(m, next);
    struct gcra meter;

    assert_non_null(w);
    first_ns = w->log[0].at_ns;
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_true(m->workers[i].n_log < LOG_MAX);
        offered += m->workers[i].offered;
        if (m->workers[i].longest_ns > held_ns)
            held_ns = m->workers[i].longest_ns;
    }
    meter = gcra_start(rate, CORE_S, depth, first_ns);
    meter.depth += (__int128_t)rate * (CLOCKS_NS + held_ns);
    for (; w; w = oldest(m, next)) {
        const struct entry *e = &w->log[next[w - m->workers]++];

        excess += !gcra_conforms(&meter, e->n, e->at_ns);
        admitted += e->n;
    }
    print_message("# %" PRIu64 " asked, %" PRIu64 " tokens admitted, a call took up to %" PRIu64
                  " us\n",
                  offered, admitted, held_ns / 1000);
    assert_int_equal(excess, 0);
    /* How much more than the burst depends on what else the machine does. */
    assert_true(admitted >= depth);
}

static void assert_returned(struct match *m)
{
    for (unsigned i = 0; i < WORKERS; i++)
        admission_tidy(m->crew.workers[i], clock_now_ns() + CORE_S);
    for (unsigned p = 0; p < PERIOD_MAX; p++)
        assert_int_equal(m->crew.shared->tenants[0].attempts[p].outstanding, 0);
    assert_int_equal(m->crew.shared->tenants[0].bits.outstanding, 0);
}

static const struct quota_rate unlimited = {.unlimited = true};

static void attempts_on_four_threads(void **state)
{
    static const struct quota_rate rates[] = {{1000000, 2000, 1, false}, {1000, 100, 1, false}};
    static struct match m;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        m.frame_bytes = 0;
        start(&m, &rates[i], &unlimited);
        usleep(RUN_US);
        join(&m);
        assert_conforms(&m, rates[i].amount, rates[i].burst + 1);
        assert_returned(&m);
        policy_free((struct policy *)m.policy);
        stop(&m);
    }
}

static void bytes_on_four_threads(void **state)
{
    static const struct quota_rate rates[] = {{1000000000, 1000000, 1, false},
                                              {8000000, 9000, 1, false}};
    static struct match m;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        m.frame_bytes = 1500;
        start(&m, &unlimited, &rates[i]);
        usleep(RUN_US);
        join(&m);
        assert_conforms(&m, rates[i].amount / 8, rates[i].burst);
        assert_returned(&m);
        policy_free((struct policy *)m.policy);
        stop(&m);
    }
}

/* The control thread meanwhile reclaims from workers that are alive, and changes rates and periods.
 */
static void reclaims_and_policies_meanwhile(void **state)
{
    static const struct quota_rate rates[] = {{1000000, 2000, 1, false},
                                              {90000000, 1000, 60, false},
                                              {0, 0, 1, false},
                                              {.unlimited = true}};
    static struct match m;
    struct policy *used[64];
    unsigned n = 0;
    bool to_other_pools = false;

    (void)state;
    m.frame_bytes = 0;
    start(&m, &rates[0], &unlimited);
    used[n++] = (struct policy *)m.policy;
    while (n < 64) {
        m.tenant.attempts = rates[n % 4];
        publish(&m);
        used[n++] = (struct policy *)m.policy;
        admission_reclaim(m.crew.workers[n % WORKERS]);
        usleep(1000);
    }
    join(&m);
    for (unsigned p = 0; p < PERIOD_MAX; p++) {
        const struct pool *pool = &m.crew.shared->tenants[0].attempts[p];

        assert_true(pool->outstanding >= 0); /* a lease may stay counted; never the reverse */
        assert_true(pool->outstanding <= WORKERS * LEASE_EVENTS_MAX);
        to_other_pools |= p > 0 && pool->last_ns > 0;
    }
    assert_true(to_other_pools);
    while (n-- > 0)
        policy_free(used[n]);
    stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_on_four_threads),
        cmocka_unit_test(bytes_on_four_threads),
        cmocka_unit_test(reclaims_and_policies_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
