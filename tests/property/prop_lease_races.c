/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission's shared state between any two of its atomic operations: workers and the control thread
 * are coroutines that may be stopped before each of them, for a moment or for long, in an order
 * that a seed repeats. What a scheduler of a busy machine does once a year happens here thousands
 * of times a second.
 *
 * The code under test is compiled in, so that its atomics can be wrapped. (A macro is not expanded
 * within itself.)
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include <cmocka.h>

static void step(void);
#define __atomic_load_n(p, o)        (step(), __atomic_load_n(p, o))
#define __atomic_store_n(p, v, o)    (step(), __atomic_store_n(p, v, o))
#define __atomic_fetch_add(p, v, o)  (step(), __atomic_fetch_add(p, v, o))
#define __atomic_fetch_sub(p, v, o)  (step(), __atomic_fetch_sub(p, v, o))
#define __atomic_exchange_n(p, v, o) (step(), __atomic_exchange_n(p, v, o))
#define __atomic_compare_exchange_n(p, e, v, w, s, f)                                              \
    (step(), __atomic_compare_exchange_n(p, e, v, w, s, f))

#include "dataplane/admission/admission.c"
#include "dataplane/admission/limits.c"
#include "tests/property/gcra.h"
#include "tests/property/random.h"
#include "tests/unit/core.h"

#define WORKERS      4
#define CONTROL      WORKERS
#define COROUTINES   (WORKERS + 1)
#define NOBODY       COROUTINES
#define STACK_BYTES  65536
#define POLICIES_MAX 4096

/* A step takes up to 16 ns; now and then, up to 100 us. */
#define STEP_NS  16
#define PAUSE_NS 100000
#define HELD_NS  (5 * PAUSE_NS) /* the longest any call may take; checked */

struct coroutine {
    ucontext_t context;
    uint64_t wake_ns; /* not before */
    uint64_t calls;   /* still to make */
    unsigned epoch;   /* of the policy a worker has taken over */
    bool inside;      /* a call */
    char stack[STACK_BYTES] __attribute__((aligned(64)));
};

/* What one series of runs is about. */
struct scenario {
    struct quota_rate attempts, bits;
    uint32_t frame_bytes; /* largest charged; 0: attempts are offered */
    bool reclaims, policies;
};

struct world {
    struct scenario scenario;
    struct coroutine all[COROUTINES];
    ucontext_t home;            /* the scheduler */
    unsigned running, startled; /* coroutines */
    unsigned startle_steps;     /* after which the latter is held up; 0: not */
    uint64_t seed, now_ns, longest_ns;
    struct core_crew crew;
    struct policy_tenant tenant;
    struct gcra meter;
    uint64_t admitted, excess;             /* under a limit */
    struct policy *policies[POLICIES_MAX]; /* kept: somebody may be held up in adopting any */
    unsigned epoch;                        /* policies so far; the last is in force */
};

static struct world world;

/* While policies change: what is in the pools and what was admitted is what was earned, in at most
 * two pools at once, since the first limit started empty. No policy brings a burst. */
static void check_earned(struct world *w)
{
    static const uint64_t period_s[PERIOD_MAX] = {1, 60, 3600, 86400};
    uint64_t tokens = w->admitted;

    for (unsigned p = 0; p < PERIOD_MAX; p++) {
        int64_t level = w->crew.shared->tenants[0].attempts[p].level;

        tokens += level > 0 ? (uint64_t)level / (period_s[p] * CORE_S) : 0;
    }
    w->excess += tokens > 2 * 200000 * w->now_ns / CORE_S + 1;
}

/* Before every atomic operation. Outside of coroutines, nothing. */
static void step(void)
{
    struct world *w = &world;
    struct coroutine *c;

    if (w->running == NOBODY)
        return;
    c = &w->all[w->running];
    w->now_ns += random_below(&w->seed, STEP_NS + 1);
    if (w->scenario.policies)
        check_earned(w);
    if (w->startled == w->running && w->startle_steps > 0 && --w->startle_steps == 0)
        c->wake_ns = w->now_ns + PAUSE_NS;
    else if (random_below(&w->seed, 6))
        return;
    else if (random_below(&w->seed, 500) == 0)
        c->wake_ns = w->now_ns + random_below(&w->seed, PAUSE_NS);
    swapcontext(&c->context, &w->home);
}

static void publish(struct world *w)
{
    const struct policy_spec spec = {.tenants = &w->tenant, .n_tenants = 1};

    assert_true(w->epoch < POLICIES_MAX);
    assert_int_equal(policy_create(&spec, &w->policies[w->epoch]), 0);
    admission_shared_adopt(w->crew.shared, w->policies[w->epoch], w->now_ns);
    w->epoch++;
}

/* -- what the coroutines do, one call at a time -- */

static void note_admitted(struct world *w, uint32_t n)
{
    w->admitted += n;
    if (!w->scenario.policies)
        w->excess += !gcra_conforms(&w->meter, n, w->now_ns);
}

static void work_once(struct world *w, unsigned self)
{
    struct admission *adm = w->crew.workers[self];
    uint64_t now_ns = w->now_ns;
    struct attempt attempt = {.tenant = 0, .service = ADMISSION_NO_SERVICE, .ip_bytes = 60};
    uint32_t n = w->scenario.frame_bytes;

    /* Not at once, so that workers with old policies, and some that missed one, are common. */
    if (w->all[self].epoch != w->epoch && random_below(&w->seed, 200) == 0) {
        w->all[self].epoch = w->epoch;
        admission_adopt(adm, w->policies[w->epoch - 1], now_ns);
    }
    if (n) {
        n = 40 + (uint32_t)random_below(&w->seed, n - 39);
        if (admission_charge(adm, 0, n, now_ns).verdict == VERDICT_ADMIT)
            note_admitted(w, n);
    } else if (admission_offer(adm, &attempt, now_ns).verdict == VERDICT_ADMIT &&
               adm->tenants[0].attempts.rate.cost) {
        note_admitted(w, 1);
    }
    admission_tidy(adm, now_ns);
    if (w->now_ns - now_ns > w->longest_ns)
        w->longest_ns = w->now_ns - now_ns;
}

static void control_once(struct world *w)
{
    static const struct quota_rate rates[] = {
        {200000, 600, 1, false}, {3000000, 500, 60, false}, {100000, 100, 1, false},
        {0, 0, 1, false},        {.unlimited = true},       {200000, 600, 1, false},
    };

    if (w->scenario.reclaims)
        admission_reclaim(w->crew.workers[random_below(&w->seed, WORKERS)]);
    if (w->scenario.policies) {
        w->tenant.attempts = rates[random_below(&w->seed, 6)];
        publish(w);
    }
    /* The control thread comes round rarely. */
    w->all[CONTROL].wake_ns = w->now_ns + random_below(&w->seed, PAUSE_NS / 2);
}

static void coroutine(void)
{
    struct world *w = &world;
    unsigned self = w->running;
    struct coroutine *c = &w->all[self];

    for (;;) {
        c->inside = true;
        if (self == CONTROL)
            control_once(w);
        else
            work_once(w, self);
        c->inside = false;
        c->calls--;
        swapcontext(&c->context, &w->home);
    }
}

/* -- the scheduler -- */

static void resume(struct world *w, unsigned who)
{
    w->running = who;
    swapcontext(&w->home, &w->all[who].context);
    w->running = NOBODY;
}

/* A coroutine that is awake and has something to do; time passes until there is one. */
static unsigned next_coroutine(struct world *w)
{
    unsigned ready[COROUTINES], n = 0;
    uint64_t first_ns = UINT64_MAX;

    for (unsigned i = 0; i < COROUTINES; i++) {
        if (w->all[i].calls == 0)
            continue;
        if (w->all[i].wake_ns <= w->now_ns)
            ready[n++] = i;
        else if (w->all[i].wake_ns < first_ns)
            first_ns = w->all[i].wake_ns;
    }
    if (n > 0)
        return ready[random_below(&w->seed, n)];
    w->now_ns = first_ns;
    return next_coroutine(w);
}

static bool is_busy(const struct world *w)
{
    for (unsigned i = 0; i < WORKERS; i++)
        if (w->all[i].calls > 0)
            return true;
    return false;
}

/* Until the workers have made `calls` calls each, and nobody is inside one: then what is counted
 * must be what is held. */
static void run_round(struct world *w, uint64_t calls)
{
    for (unsigned i = 0; i < WORKERS; i++)
        w->all[i].calls = calls;
    w->all[CONTROL].calls = w->scenario.reclaims || w->scenario.policies ? UINT64_MAX : 0;
    while (is_busy(w))
        resume(w, next_coroutine(w));
    while (w->all[CONTROL].inside)
        resume(w, CONTROL);
}

static int64_t granted_from(const struct world *w, const struct pool *pool)
{
    int64_t granted = 0;

    for (unsigned i = 0; i < WORKERS; i++) {
        const struct tenant_state *t = &w->crew.workers[i]->tenants[0];

        granted += t->attempts_pool == pool ? t->attempts.granted : 0;
        granted += t->bits_pool == pool ? t->bits.granted : 0;
    }
    return granted;
}

static void check_counted(const struct world *w)
{
    const struct tenant_shared *pools = &w->crew.shared->tenants[0];

    for (unsigned p = 0; p < PERIOD_MAX; p++)
        assert_int_equal(pools->attempts[p].outstanding, granted_from(w, &pools->attempts[p]));
    assert_int_equal(pools->bits.outstanding, granted_from(w, &pools->bits));
}

/* Nothing is held any more once nobody has used it for a while. */
static void check_all_returns(struct world *w)
{
    w->now_ns += 2 * LEASE_IDLE_NS;
    for (unsigned i = 0; i < WORKERS; i++)
        admission_tidy(w->crew.workers[i], w->now_ns);
    for (unsigned p = 0; p < PERIOD_MAX; p++)
        assert_int_equal(w->crew.shared->tenants[0].attempts[p].outstanding, 0);
    assert_int_equal(w->crew.shared->tenants[0].bits.outstanding, 0);
}

static void start(struct world *w, const struct scenario *scenario, uint64_t seed)
{
    const struct admission_size size = {.n_tenants = 1, .n_services = 0, .n_workers = WORKERS};
    struct bucket_rate rate = scenario->frame_bytes ? quota_rate_of_bits(&scenario->bits)
                                                    : quota_rate_of_events(&scenario->attempts);

    *w = (struct world){.scenario = *scenario, .seed = seed, .now_ns = 1, .running = NOBODY};
    core_crew_start(&w->crew, &size);
    w->tenant = core_tenant(0);
    w->tenant.attempts = scenario->attempts;
    w->tenant.bits = scenario->bits;
    publish(w);
    w->meter = gcra_start(rate.rate, rate.cost, rate.cost ? rate.cap / rate.cost : 0, 0);
    /* What a worker has taken and not yet come back with, and the time it may be held up. */
    w->meter.depth += (__int128_t)rate.cost * WORKERS * (scenario->frame_bytes | 1) +
                      (__int128_t)rate.rate * HELD_NS;
    for (unsigned i = 0; i < COROUTINES; i++) {
        if (i < WORKERS)
            admission_adopt(w->crew.workers[i], w->policies[0], w->now_ns);
        w->all[i].epoch = w->epoch;
        getcontext(&w->all[i].context);
        w->all[i].context.uc_stack.ss_sp = w->all[i].stack;
        w->all[i].context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&w->all[i].context, coroutine, 0);
    }
}

static void play_once(struct world *w)
{
    for (unsigned round = 0; round < 16; round++) {
        /* After a short round the bucket is nearly full, and its last refill long ago when the next
         * begins: then somebody is held up where a whole burst may hang on it. */
        w->startled = (unsigned)random_below(&w->seed, WORKERS);
        w->startle_steps = 1 + (unsigned)random_below(&w->seed, 8);
        run_round(w, round % 2 ? 350 : 1);
        check_counted(w);
        assert_int_equal(w->excess, 0);
        if (!w->scenario.policies)
            w->now_ns += random_below(&w->seed, 8000000); /* fills it, or not quite */
    }
    assert_true(w->longest_ns < HELD_NS);
    check_all_returns(w);
}

static void play(const struct scenario *scenario, unsigned seeds)
{
    uint64_t admitted = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        start(&world, scenario, seed);
        play_once(&world);
        admitted += world.admitted;
        core_crew_stop(&world.crew);
        while (world.epoch > 0)
            policy_free(world.policies[--world.epoch]);
    }
    print_message("# %" PRIu64 " admitted\n", admitted);
    assert_true(admitted > 0);
}

/* -- scenarios -- */

static const struct quota_rate limited = {200000, 600, 1, false};
static const struct quota_rate bytes = {800000000, 200000, 1, false};
#define UNLIMITED                                                                                  \
    {                                                                                              \
        .unlimited = true                                                                          \
    }

static void attempts_in_any_order(void **state)
{
    (void)state;
    play(&(struct scenario){.attempts = limited, .bits = UNLIMITED}, 10);
}

/* Frames larger than a lot, too. */
static void bytes_in_any_order(void **state)
{
    (void)state;
    play(&(struct scenario){.attempts = UNLIMITED, .bits = bytes, .frame_bytes = 9000}, 6);
}

/* Lots of 1: the pool alone. */
static void small_quotas_in_any_order(void **state)
{
    (void)state;
    play(&(struct scenario){.attempts = {20000, 50, 1, false}, .bits = UNLIMITED}, 10);
}

static void leases_reclaimed_at_any_moment(void **state)
{
    struct scenario scenario = {.attempts = limited, .bits = UNLIMITED, .reclaims = true};

    (void)state;
    play(&scenario, 10);
    scenario = (struct scenario){
        .attempts = UNLIMITED, .bits = bytes, .frame_bytes = 1500, .reclaims = true};
    play(&scenario, 4);
}

static void policies_at_any_moment(void **state)
{
    (void)state;
    play(&(struct scenario){.attempts = UNLIMITED, .bits = UNLIMITED, .policies = true}, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_in_any_order),          cmocka_unit_test(bytes_in_any_order),
        cmocka_unit_test(small_quotas_in_any_order),      cmocka_unit_test(policies_at_any_moment),
        cmocka_unit_test(leases_reclaimed_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
