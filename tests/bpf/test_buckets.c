/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bucket that all CPUs share admits burst + 1 + rate x time, however many ask at once; and whose
 * burst allows it is timed by the coarse clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bpf/corpus.h"
#include "tests/bpf/kernel.h"
#include "tests/bpf/site.h"

#define THREADS 2
#define ROUNDS  200u
#define REPEATS 2000u /* of a packet in a round, on each CPU */
#define RATE    700u
#define BURST   99u
#define TOKENS  100000u /* more than a race takes */

static struct site site;
static struct policy *policy;
static struct kernel kernel;
static struct frame frame;

static struct xdp_tenant *acme(void)
{
    return &kernel.arrays.tenants[site_tenant_id(SITE_ACME)];
}

static uint64_t admitted(void)
{
    return kernel_tenant(&kernel, site_tenant_id(SITE_ACME)).admitted;
}

/* -- many CPUs -- */

static uint64_t round_now_ns;
static pthread_barrier_t barrier;

static void *ask_on_a_cpu(void *number)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)(uintptr_t)number, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        kernel_repeat(&kernel, frame.bytes, frame.length, REPEATS,
                      __atomic_load_n(&round_now_ns, __ATOMIC_RELAXED));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static bool is_alone(void)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) >= THREADS)
        return false;
    print_message("one CPU only: nobody to race with\n");
    return true;
}

/* Time stands still within a round, and all CPUs take what a round has earned; `look` sees it. */
static void race(void (*look)(unsigned round))
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, ask_on_a_cpu, (void *)t), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        round_now_ns = 1000 * CORE_S + round * CORE_S / 10;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        look(round);
    }
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(kernel_port(&kernel).received, (uint64_t)THREADS * ROUNDS * REPEATS);
    assert_true(kernel_balanced(&kernel));
}

static void look_at_admitted(unsigned round)
{
    assert_int_equal(admitted(), BURST + 1 + round * RATE / 10);
}

static void many_cpus_admit_exactly_burst_and_rate(void **state)
{
    (void)state;
    if (is_alone())
        skip();
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy});
    assert_true(bucket_rate_events(&acme()->attempts, RATE, 1, BURST));
    race(look_at_admitted);
    kernel_close(&kernel);
}

/* A tenant whose tokens never come back has exactly those fewer that it was admitted with. */
static void look_at_tokens(unsigned round)
{
    const struct xdp_tenant_state state = kernel_tenant_state(&kernel, site_tenant_id(SITE_ACME));

    assert_int_equal(admitted(), BURST + 1 + round * RATE / 10);
    assert_int_equal(bucket_tokens(&state.attempts, &acme()->attempts, round_now_ns),
                     TOKENS - admitted());
}

/* Two CPUs may both find the last place, and one of them has paid by then. */
static void what_the_capacity_refuses_in_a_race_is_paid_back(void **state)
{
    (void)state;
    if (is_alone())
        skip();
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy});
    assert_true(bucket_rate_events(&acme()->attempts, 1, 86400, TOKENS - 1));
    assert_true(
        bucket_rate_events(&kernel.arrays.advice[site_service_id(SITE_WEB)].cap, RATE, 1, BURST));
    race(look_at_tokens);
    kernel_close(&kernel);
}

/* The same where a limit of packets lets one of them in: each has a lock of its own. */
static void what_packets_refuse_in_a_race_is_paid_back(void **state)
{
    (void)state;
    if (is_alone())
        skip();
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy});
    assert_true(bucket_rate_events(&acme()->attempts, 1, 86400, TOKENS - 1));
    acme()->volume = 1;
    assert_true(bucket_rate_events(&kernel.arrays.tenant_volumes[site_tenant_id(SITE_ACME)].packets,
                                   RATE, 1, BURST));
    race(look_at_tokens);
    kernel_close(&kernel);
}

/* -- which clock -- */

/* The clock that a bucket was last debited by: the coarse one has the time of its last tick. */
static uint64_t debited_ns(void)
{
    return kernel_tenant_state(&kernel, site_tenant_id(SITE_ACME)).attempts.last_ns;
}

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CORE_S + (uint64_t)now.tv_nsec;
}

/* The coarse time is that of a tick, the other one is not. On a busy machine several ticks may pass
 * around a packet: then nothing is learnt, and the next one is looked at. */
static void the_coarse_clock_is_used_where_bursts_bear_it(void **state)
{
    struct timespec tick;
    uint64_t tick_ns;

    (void)state;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    tick_ns = (uint64_t)tick.tv_nsec;
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy, .untimed = true});
    assert_true(bucket_rate_events(&acme()->attempts, 1000000, 1, 1000000));
    for (unsigned fine = 0; fine < 2; fine++) { /* the other way round the bucket is ahead */
        unsigned of_ticks = 0;

        acme()->coarse = !fine;
        for (unsigned i = 0; i < 50;) {
            uint64_t before_ns, after_ns;

            usleep(300);
            before_ns = clock_now_ns(CLOCK_MONOTONIC_COARSE);
            kernel_repeat(&kernel, frame.bytes, frame.length, 1, 0);
            after_ns = clock_now_ns(CLOCK_MONOTONIC_COARSE);
            if (after_ns - before_ns > tick_ns + tick_ns / 2)
                continue;
            i++;
            of_ticks += debited_ns() == before_ns || debited_ns() == after_ns;
        }
        assert_int_equal(of_ticks, fine ? 0 : 50);
    }
    kernel_close(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_cpus_admit_exactly_burst_and_rate),
        cmocka_unit_test(what_the_capacity_refuses_in_a_race_is_paid_back),
        cmocka_unit_test(what_packets_refuse_in_a_race_is_paid_back),
        cmocka_unit_test(the_coarse_clock_is_used_where_bursts_bear_it),
    };
    int failed;

    kernel_skip_if_missing();
    site_init(&site);
    policy = site_policy(&site);
    corpus_build(&frame, "ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    policy_free(policy);
    return failed;
}
