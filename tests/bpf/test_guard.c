/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program as a guard: beyond the refusal budget it drops what the workers would probably
 * refuse, and counts it as they would; within it everything is left to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dataplane/admission/shed.h"
#include "tests/bpf/corpus.h"
#include "tests/bpf/kernel.h"
#include "tests/bpf/site.h"

#define HALF 0x80000000u

static struct site site;
static struct policy *policy;
static struct kernel kernel;
static uint64_t now_ns;

static int setup(void **state)
{
    struct xdp_service *web;

    (void)state;
    now_ns = 1000 * CORE_S;
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy, .guards = true});
    web = &kernel.arrays.services[site_service_id(SITE_WEB)];
    assert_true(bucket_rate_events(&web->answers, 10, 1, 4)); /* five at once */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_true(kernel_balanced(&kernel));
    kernel_close(&kernel);
    return 0;
}

static struct xdp_service *service(enum site_service which)
{
    return &kernel.arrays.services[site_service_id(which)];
}

static struct xdp_advice *said(enum site_service which)
{
    return &kernel.arrays.advice[site_service_id(which)];
}

static enum reason ask(const char *description)
{
    struct frame frame;

    corpus_build(&frame, description);
    return kernel_judge(&kernel, DIRECTION_IN, frame.bytes, frame.length, now_ns).reason;
}

/* How many of `n` such packets are left to the workers. */
static unsigned left_of(const char *description, unsigned n)
{
    unsigned left = 0;

    for (unsigned i = 0; i < n; i++) {
        ask(description);
        left += kernel.last.way == XDP_WAY_SOCKET;
    }
    return left;
}

static void let_acme(uint64_t rate, uint64_t burst)
{
    struct xdp_tenant *acme = &kernel.arrays.tenants[site_tenant_id(SITE_ACME)];

    assert_true(bucket_rate_events(&acme->attempts, rate, 1, burst));
}

/* 3 tokens and 5 answers; then the rate and the answers of a second. */
static void attempts_beyond_quota_and_answers_are_dropped(void **state)
{
    struct xdp_tenant_counters acme;
    struct xdp_service_counters web;

    (void)state;
    let_acme(20, 2);
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 100), 3 + 5);
    now_ns += CORE_S / 10;
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 100), 2 + 1);
    acme = kernel_tenant(&kernel, site_tenant_id(SITE_ACME));
    web = kernel_service(&kernel, site_service_id(SITE_WEB));
    assert_int_equal(acme.attempts, 189); /* what workers see they count */
    assert_int_equal(acme.refused[REASON_RATE], 189);
    assert_int_equal(acme.admitted, 0);
    assert_int_equal(web.attempts, 189);
    assert_int_equal(web.unanswered, 189);
    assert_int_equal(kernel_port(&kernel).dropped[REASON_RATE], 189);
    assert_int_equal(kernel_port(&kernel).socket, 11);
    assert_int_equal(kernel_port(&kernel).guarded, 200);
}

static void grant_no_refusals(void)
{
    assert_true(bucket_rate_events(&service(SITE_WEB)->answers, 0, 1, 0));
}

/* A service that answers nobody has a budget all the same: its workers know better than a guess. */
static void who_answers_nobody_has_a_budget_too(void **state)
{
    (void)state;
    service(SITE_WEB)->refusal = REFUSAL_DROP;
    let_acme(20, 2);
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 100), 3 + 5);
    now_ns += 60 * CORE_S;
    grant_no_refusals();
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 100), 3);
}

/* What one service refuses costs another nothing: each has a budget of its own. */
static void a_flood_at_one_service_takes_nothing_from_another(void **state)
{
    (void)state;
    let_acme(20, 2);
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 1000), 3 + 5);
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.11 / tcp 1 443 S", 50), 50);
}

static void a_blocked_tenant_is_dropped(void **state)
{
    (void)state;
    service(SITE_WEB)->refusal = REFUSAL_DROP;
    assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S"), REASON_RATE);
    assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 A"), REASON_NONE); /* runs already */
    assert_int_equal(left_of("ip4 10.2.0.1 10.9.0.10 / udp 1 53", 20), 20);    /* so may this */
    assert_int_equal(left_of("ip4 10.2.0.1 10.9.0.12 / udp 1 53", 1), 1);      /* no service */
    assert_int_equal(kernel_tenant(&kernel, site_tenant_id(SITE_BLOCKED)).refused[REASON_RATE], 1);
    service(SITE_WEB)->refusal = REFUSAL_RST; /* somebody is to be told */
    assert_int_equal(left_of("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S", 20), 5);
}

/* Datagrams may be of flows that workers know. */
static void datagrams_are_left_to_the_workers(void **state)
{
    (void)state;
    let_acme(20, 2);
    service(SITE_DNS)->refusal = REFUSAL_DROP;
    said(SITE_DNS)->shed[CLASS_BULK] = UINT32_MAX;
    said(SITE_DNS)->stamped_ns = now_ns;
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / udp 1 53", 50), 50);
}

static void sheds_whom_the_workers_would(void **state)
{
    unsigned shed = 0;

    (void)state;
    grant_no_refusals();
    kernel.arrays.control->seed = (struct client_seed){{11, 13}};
    *said(SITE_WEB) = (struct xdp_advice){.shed = {HALF}, .stamped_ns = now_ns, .epoch = 7};
    for (unsigned i = 0; i < 500; i++) {
        char description[96], client[32];
        struct address address;
        bool hit;

        snprintf(client, sizeof(client), "10.1.1.%u", i & 0x7f);
        address = core_address(client);
        snprintf(description, sizeof(description), "ip4 %s 10.9.0.10 / tcp %u 80 S", client, i + 1);
        hit = shed_hits(shed_hash(client_hash(&kernel.arrays.control->seed, &address),
                                  site_tenant_id(SITE_ACME), 7),
                        HALF);
        assert_int_equal(ask(description), hit ? REASON_SHED : REASON_NONE);
        shed += hit;
    }
    assert_in_range(shed, 150, 350);
    /* The control loop hears of them, else it would shed less the more is shed. */
    assert_int_equal(kernel_service(&kernel, site_service_id(SITE_WEB)).reached[CLASS_BULK], shed);
    said(SITE_WEB)->by_attempt = 1; /* then only workers know */
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 100), 100);
}

/* Older than half a second, shares lose their force as they do with the workers: to nothing. */
static void old_shares_lose_their_force(void **state)
{
    (void)state;
    grant_no_refusals();
    said(SITE_WEB)->shed[CLASS_BULK] = UINT32_MAX;
    said(SITE_WEB)->stamped_ns = now_ns;
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 20), 0);
    now_ns += 60 * CORE_S;
    assert_int_equal(left_of("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S", 20), 20);
}

static void health_checks_are_left_to_the_workers(void **state)
{
    struct xdp_service *web = service(SITE_WEB);

    (void)state;
    grant_no_refusals();
    web->n_probes = 1;
    web->probes[0] = (struct xdp_probe){.network = {0, core_address("10.2.200.0").halves[1]},
                                        .mask = {UINT64_MAX, __builtin_bswap64(~0xffull)}};
    assert_true(bucket_rate_events(&web->checks, 5, 1, 2));
    assert_int_equal(left_of("ip4 10.2.200.9 10.9.0.10 / tcp 1 80 S", 10), 3);
    assert_int_equal(left_of("ip4 10.2.201.9 10.9.0.10 / tcp 1 80 S", 10), 0);
    /* ::/0 is nobody of IPv4. */
    web->probes[0] = (struct xdp_probe){.network = {0, 0}};
    now_ns += 60 * CORE_S;
    assert_int_equal(left_of("ip4 10.2.200.9 10.9.0.10 / tcp 1 80 S", 10), 0);
}

static void what_is_not_ip_or_not_whole_is_theirs_or_nobodys(void **state)
{
    (void)state;
    assert_true(bucket_rate_events(&kernel.arrays.ports[0].control, 1, 1, 0));
    assert_int_equal(left_of("type 0806 / data 28", 50), 50); /* workers bound it */
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 SF"), REASON_MALFORMED_TCP_FLAGS);
    assert_int_equal(ask("ip4 10.66.0.1 10.9.0.10 / tcp 1 80 A"), REASON_DENIED);
    assert_int_equal(kernel_port(&kernel).guarded, 50);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(attempts_beyond_quota_and_answers_are_dropped),
        TEST(who_answers_nobody_has_a_budget_too),
        TEST(a_flood_at_one_service_takes_nothing_from_another),
        TEST(a_blocked_tenant_is_dropped),
        TEST(datagrams_are_left_to_the_workers),
        TEST(sheds_whom_the_workers_would),
        TEST(old_shares_lose_their_force),
        TEST(health_checks_are_left_to_the_workers),
        TEST(what_is_not_ip_or_not_whole_is_theirs_or_nobodys),
    };
    int failed;

    kernel_skip_if_missing();
    site_init(&site);
    policy = site_policy(&site);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    policy_free(policy);
    return failed;
}
