/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policies swapped under load. Worth most under ThreadSanitizer and AddressSanitizer, which see
 * what an assertion cannot: a policy that is read while it is freed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/worker/publication.h"
#include "tests/unit/core.h"

#define WORKERS  2
#define POLICIES 10000
#define TENANTS  3
#define WINDOW   4

/* Policy number `epoch`: rates, windows and, in odd ones, a third tenant change with it. */
static struct policy *policy_number(uint64_t epoch)
{
    struct policy_tenant tenants[TENANTS] = {core_tenant(0), core_tenant(1), core_tenant(2)};
    struct address address = core_address("10.9.0.10");
    struct policy_ports ports = {80, 80};
    struct policy_service service = core_service(0, &address, &ports);
    struct policy_prefix prefixes[] = {core_prefix("10.1.0.0", 16, 1)};
    const struct policy_spec spec = {.tenants = tenants,
                                     .services = &service,
                                     .prefixes = prefixes,
                                     .n_tenants = epoch % 2 ? TENANTS : TENANTS - 1,
                                     .n_services = 1,
                                     .n_prefixes = 1,
                                     .epoch = epoch};
    struct policy *policy;

    tenants[0].window = WINDOW;
    tenants[1].attempts = core_rate(1000 + epoch % 7 * 1000, epoch % 3 ? 1 : 60, epoch % 5 * 10);
    tenants[1].packets = core_rate(100000 + epoch, 1, 64);
    tenants[1].bits = core_rate(8000000 + epoch * 8, 1, 9000);
    tenants[2].attempts = core_rate(epoch, 1, 9);
    service.refuse_rate = core_rate(1 + epoch % 11, 1, 3);
    if (policy_create(&spec, &policy) != 0)
        abort();
    return policy;
}

/* -- one thread -- */

static void nothing_is_freed_while_it_is_held(void **state)
{
    struct publication pub;
    struct policy *spare = policy_number(99);
    const struct policy *held;
    uint64_t epoch = 1;

    (void)state;
    assert_int_equal(publication_init(&pub, policy_number(0), 2), 0);
    publication_join(&pub, 0);
    publication_quiescent(&pub, 0);
    held = publication_read(&pub);
    for (; epoch <= PUBLICATION_RETIRED_MAX; epoch++) {
        assert_int_equal(publication_publish(&pub, policy_number(epoch)), 0);
        assert_int_equal(policy_epoch(publication_read(&pub)), epoch);
        assert_int_equal(pub.n_retired, epoch);
    }
    /* The old ones are bounded; a refused policy stays the caller's, and nothing has changed. */
    assert_int_equal(publication_publish(&pub, spare), -EBUSY);
    assert_int_equal(pub.n_retired, PUBLICATION_RETIRED_MAX);
    assert_int_equal(policy_epoch(publication_read(&pub)), epoch - 1);
    publication_reclaim(&pub);
    assert_int_equal(pub.n_retired, PUBLICATION_RETIRED_MAX);
    assert_int_equal(policy_epoch(held), 0);
    assert_string_equal(policy_tenant(held, 1)->name, "tenant-1");

    publication_quiescent(&pub, 0);
    publication_reclaim(&pub);
    assert_int_equal(pub.n_retired, 0);
    assert_int_equal(publication_publish(&pub, spare), 0);
    assert_int_equal(policy_epoch(publication_read(&pub)), 99);
    publication_leave(&pub, 0);
    publication_destroy(&pub);
}

/* A sleeping reader holds nothing, and neither does one that has left. */
static void sleepers_hold_nothing_back(void **state)
{
    struct publication pub;

    (void)state;
    assert_int_equal(publication_init(&pub, policy_number(0), 2), 0);
    publication_join(&pub, 0);
    publication_join(&pub, 1);
    publication_sleep(&pub, 0);
    publication_leave(&pub, 1);
    assert_int_equal(publication_publish(&pub, policy_number(1)), 0);
    publication_reclaim(&pub);
    assert_int_equal(pub.n_retired, 0);

    publication_wake(&pub, 0);
    assert_int_equal(policy_epoch(publication_read(&pub)), 1);
    assert_int_equal(publication_publish(&pub, policy_number(2)), 0);
    publication_reclaim(&pub);
    assert_int_equal(pub.n_retired, 1); /* awake again, it may hold the old one */
    publication_leave(&pub, 0);
    publication_destroy(&pub);
}

/* -- many threads -- */

struct load {
    struct publication pub;
    struct admission_shared *shared;
    struct admission *adm[WORKERS];
    uint64_t epoch[WORKERS];  /* of the policy each worker uses; atomic */
    uint64_t now_ns[WORKERS]; /* each worker's clock; atomic */
    uint64_t listings;
    bool stop; /* atomic */
};

struct worker_arg {
    struct load *load;
    uint32_t id;
};

static bool stopped(struct load *l)
{
    return __atomic_load_n(&l->stop, __ATOMIC_RELAXED);
}

/* Looks into everything a policy owns. Returns the tenant's id. */
static uint32_t classify(const struct policy *policy, unsigned round)
{
    struct address client = core_address(round % 2 ? "10.1.2.3" : "10.2.2.3");
    struct address front = core_address("10.9.0.10");
    uint32_t service = policy_find_service(policy, &front, PROTOCOL_TCP, 80);
    uint32_t tenant = policy_find_tenant(policy, &client, service);

    if (service != 0 || tenant != round % 2 || policy_service(policy, service)->ports[0].last != 80)
        abort();
    return policy_tenant(policy, tenant)->id;
}

/* As a worker does: quiescent, take the policy, work, sleep now and then. */
static void *work(void *arg)
{
    struct load *l = ((struct worker_arg *)arg)->load;
    uint32_t id = ((struct worker_arg *)arg)->id, held = 0;
    struct admission *adm = l->adm[id];
    uint64_t now_ns = 1, epoch = UINT64_MAX;
    const struct slot slot = {.tenant = 0, .service = 0};

    publication_join(&l->pub, id);
    for (unsigned round = 0; !stopped(l); round++) {
        const struct policy *policy = publication_read(&l->pub);
        struct attempt attempt = {.ip_bytes = 60};

        now_ns += 10000;
        __atomic_store_n(&l->now_ns[id], now_ns, __ATOMIC_RELAXED);
        if (policy_epoch(policy) != epoch) {
            admission_adopt(adm, policy, now_ns);
            epoch = policy_epoch(policy);
            __atomic_store_n(&l->epoch[id], epoch, __ATOMIC_RELAXED);
        }
        attempt.tenant = classify(policy, round);
        if (attempt.tenant == 1)
            attempt.service = ADMISSION_NO_SERVICE;
        if (admission_offer(adm, &attempt, now_ns).verdict == VERDICT_ADMIT)
            held += attempt.tenant == 0;
        admission_charge(adm, 1, 1500, now_ns);
        admission_may_answer(adm, 0, now_ns);
        admission_tidy(adm, now_ns);
        if (held > round % WINDOW) {
            core_complete(adm, &slot, OUTCOME_FINISHED);
            held--;
        }
        publication_quiescent(&l->pub, id);
        if (round % 256 == 0) {
            publication_sleep(&l->pub, id);
            sched_yield();
            publication_wake(&l->pub, id);
        }
    }
    for (; held; held--)
        core_complete(adm, &slot, OUTCOME_FINISHED);
    publication_leave(&l->pub, id);
    return NULL;
}

/* As the control thread does for `sluicectl tenants`, also for a tenant no worker has met yet. */
static void *list(void *arg)
{
    struct load *l = arg;

    while (!stopped(l)) {
        for (uint32_t w = 0; w < WORKERS; w++)
            for (uint32_t t = 0; t < TENANTS; t++) {
                const struct admission_tenant_counters *c = admission_tenant_counters(l->adm[w], t);
                struct policy_tenant tenant = core_tenant(t);

                tenant.attempts = core_rate(1000, 1, 10);

                if (__atomic_load_n(&c->admitted, __ATOMIC_RELAXED) == UINT64_MAX ||
                    admission_attempt_tokens(l->shared, &tenant, l->listings * 1000) > 11)
                    abort();
            }
        if (window_peak(admission_tenant_window(l->shared, 0)) > WINDOW)
            abort();
        l->listings++;
        sched_yield();
    }
    return NULL;
}

/* The control thread's clock: that of the worker furthest on. */
static uint64_t latest_ns(struct load *l)
{
    uint64_t latest = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        uint64_t now_ns = __atomic_load_n(&l->now_ns[w], __ATOMIC_RELAXED);

        latest = now_ns > latest ? now_ns : latest;
    }
    return latest;
}

static void wait_for_workers(struct load *l, uint64_t epoch)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        while (__atomic_load_n(&l->epoch[w], __ATOMIC_RELAXED) != epoch)
            sched_yield();
}

/* Publishes every policy, waiting only where too many old ones are still held, and now and then so
 * that on few cores the workers see more than the first and the last. */
static void publish_all(struct load *l)
{
    for (uint64_t epoch = 1; epoch <= POLICIES; epoch++) {
        struct policy *policy = policy_number(epoch);

        while (!publication_has_room(&l->pub))
            sched_yield();
        admission_shared_adopt(l->shared, policy, latest_ns(l));
        assert_int_equal(publication_publish(&l->pub, policy), 0);
        assert_true(l->pub.n_retired <= PUBLICATION_RETIRED_MAX);
        if (epoch % 50 == 0)
            wait_for_workers(l, epoch);
    }
}

static void check_sums(const struct admission *adm)
{
    for (uint32_t t = 0; t < TENANTS; t++) {
        const struct admission_tenant_counters *c = admission_tenant_counters(adm, t);
        uint64_t sum = c->admitted;

        for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
            sum += c->refused[r];
        assert_int_equal(c->attempts, sum);
    }
}

/* Both tenants were served, by whichever worker, and the limited one refused. */
static void check_load(const struct load *l)
{
    uint64_t admitted[TENANTS] = {0}, refused = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        for (uint32_t t = 0; t < TENANTS; t++)
            admitted[t] += admission_tenant_counters(l->adm[w], t)->admitted;
        refused += admission_tenant_counters(l->adm[w], 1)->refused[REASON_RATE];
    }
    assert_true(admitted[0] > 0 && admitted[1] > 0 && refused > 0);
}

static void policies_are_swapped_under_load(void **state)
{
    static struct load l;
    const struct admission_size size = {
        .n_tenants = TENANTS, .n_services = 1, .n_workers = WORKERS};
    struct worker_arg args[WORKERS];
    pthread_t workers[WORKERS], lister;

    (void)state;
    assert_int_equal(publication_init(&l.pub, policy_number(0), WORKERS), 0);
    l.shared = admission_shared_init(core_memory(admission_shared_bytes(&size)), &size);
    admission_shared_adopt(l.shared, publication_read(&l.pub), 0);
    for (uint32_t w = 0; w < WORKERS; w++) {
        l.adm[w] = admission_init(core_memory(admission_bytes(&size)), l.shared, w);
        args[w] = (struct worker_arg){&l, w};
        assert_int_equal(pthread_create(&workers[w], NULL, work, &args[w]), 0);
    }
    assert_int_equal(pthread_create(&lister, NULL, list, &l), 0);
    publish_all(&l);
    __atomic_store_n(&l.stop, true, __ATOMIC_RELAXED);
    for (uint32_t w = 0; w < WORKERS; w++)
        pthread_join(workers[w], NULL);
    pthread_join(lister, NULL);

    publication_reclaim(&l.pub);
    assert_int_equal(l.pub.n_retired, 0);
    assert_int_equal(policy_epoch(publication_read(&l.pub)), POLICIES);
    assert_int_equal(window_used(admission_tenant_window(l.shared, 0)), 0);
    assert_int_equal(window_used(admission_service_window(l.shared, 0)), 0);
    check_load(&l);
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_int_equal(l.epoch[w], POLICIES);
        check_sums(l.adm[w]);
        free(l.adm[w]);
    }
    assert_true(l.listings > 0);
    free(l.shared);
    publication_destroy(&l.pub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_freed_while_it_is_held),
        cmocka_unit_test(sleepers_hold_nothing_back),
        cmocka_unit_test(policies_are_swapped_under_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
