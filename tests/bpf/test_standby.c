/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program standing in, where no worker is its twin: what bounds control traffic, what a
 * published capacity and old shares still do, and that sources nobody knows leave nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/bpf/corpus.h"
#include "tests/bpf/kernel.h"
#include "tests/bpf/site.h"

#define HALF    0x80000000u
#define CLIENTS 2000u

static struct site site;
static struct policy *policy;
static struct kernel kernel;
static uint64_t now_ns;

static int setup(void **state)
{
    (void)state;
    now_ns = 1000 * CORE_S;
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_true(kernel_balanced(&kernel));
    kernel_close(&kernel);
    return 0;
}

static enum reason ask(const char *description)
{
    struct frame frame;

    corpus_build(&frame, description);
    return kernel_judge(&kernel, DIRECTION_IN, frame.bytes, frame.length, now_ns).reason;
}

/* A SYN to `web` of client number i of nobody's. */
static enum reason ask_client(unsigned i)
{
    char description[96];

    snprintf(description, sizeof(description), "ip4 198.18.%u.%u 10.9.0.10 / tcp %u 80 S",
             i >> 8 & 0xff, i & 0xff, 1024 + i % 60000);
    return ask(description);
}

static struct xdp_advice *said(enum site_service service)
{
    return &kernel.arrays.advice[site_service_id(service)];
}

/* -- control traffic -- */

static unsigned pass_of(const char *description, unsigned n)
{
    unsigned passed = 0;

    for (unsigned i = 0; i < n; i++)
        passed += ask(description) == REASON_NONE;
    return passed;
}

static void case_A15_each_kind_of_control_traffic_is_bounded_by_itself(void **state)
{
    struct bucket_rate *rate = &kernel.arrays.ports[0].control;

    (void)state;
    assert_true(bucket_rate_events(rate, 10, 1, 4));
    assert_int_equal(pass_of("type 0806 / data 28", 100), 5);
    assert_int_equal(pass_of("ip4 10.1.0.1 10.9.0.10 / icmp 3 4 / data 28", 100), 5);
    assert_int_equal(pass_of("ip4 10.1.0.1 224.0.0.5 / protocol 89 / data 24", 100), 5);
    now_ns += CORE_S / 5;
    assert_int_equal(pass_of("type 0806 / data 28", 100), 2);
    assert_int_equal(kernel_port(&kernel).dropped[REASON_CONTROL], 3 * 95 + 98);
}

/* -- capacity -- */

static void a_service_gets_no_more_than_its_last_known_capacity(void **state)
{
    unsigned admitted = 0;
    struct xdp_service_counters counters;

    (void)state;
    assert_true(bucket_rate_events(&said(SITE_WEB)->cap, 50, 1, 9));
    for (unsigned i = 0; i < 30; i++)
        admitted += ask_client(i) == REASON_NONE;
    assert_int_equal(admitted, 10);
    assert_int_equal(ask_client(31), REASON_CAPACITY);
    assert_int_equal(ask("ip4 192.0.2.1 10.9.0.11 / tcp 1 443 S"), REASON_NONE); /* another's */
    now_ns += CORE_S / 10;
    for (unsigned i = 0; i < 30; i++)
        admitted += ask_client(i) == REASON_NONE;
    assert_int_equal(admitted, 15);
    counters = kernel_service(&kernel, site_service_id(SITE_WEB));
    assert_int_equal(counters.attempts, 61);
    assert_int_equal(counters.admitted, 15);
    assert_int_equal(counters.refused[REASON_CAPACITY], 46);
    assert_int_equal(counters.unanswered, 46);
    assert_int_equal(counters.reached[CLASS_BULK], 61);
}

/* What the capacity refuses costs its tenant nothing. */
static void refused_for_capacity_keeps_its_tokens(void **state)
{
    struct xdp_tenant *acme = &kernel.arrays.tenants[site_tenant_id(SITE_ACME)];

    (void)state;
    assert_true(bucket_rate_events(&acme->attempts, 1, 86400, 2));
    assert_true(bucket_rate_events(&said(SITE_WEB)->cap, 1, 1, 0));
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 2 80 S"), REASON_CAPACITY);
    now_ns += 10 * CORE_S;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 3 80 S"), REASON_NONE);
    now_ns += 10 * CORE_S;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 4 80 S"), REASON_NONE);
    now_ns += 10 * CORE_S;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 5 80 S"), REASON_RATE);
}

/* Limits of packets and bits start full when there are any, however long their tenant has been
 * there. */
static void a_new_limit_of_packets_starts_full(void **state)
{
    const uint32_t id = site_tenant_id(SITE_ACME);

    (void)state;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 A"), REASON_NONE);
    assert_true(bucket_rate_events(&kernel.arrays.tenants[id].attempts, 100, 1, 10));
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    assert_true(bucket_rate_events(&kernel.arrays.tenant_volumes[id].packets, 1, 1, 3));
    kernel.arrays.tenants[id].volume = 1;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 2 80 S"), REASON_NONE);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 A"), REASON_NONE);
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 A"), REASON_PACKETS);
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 3 80 S"), REASON_PACKETS);
    now_ns += CORE_S;
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 A"), REASON_NONE);
    assert_int_equal(kernel_tenant(&kernel, id).dropped_packets, 1);
    assert_int_equal(kernel_tenant(&kernel, id).refused[REASON_PACKETS], 1);
    assert_int_equal(kernel_tenant(&kernel, id).refused[REASON_RATE], 0);
}

static void closed_refuses_while_the_capacity_is_unknown(void **state)
{
    (void)state;
    kernel.arrays.services[site_service_id(SITE_WEB)].closed = 1;
    assert_int_equal(ask_client(1), REASON_GATEWAY);
    assert_int_equal(ask("ip4 192.0.2.1 10.9.0.10 / tcp 1 80 A"), REASON_NONE); /* runs already */
    assert_true(bucket_rate_events(&said(SITE_WEB)->cap, 50, 1, 9));
    assert_int_equal(ask_client(1), REASON_NONE);
}

/* -- shares -- */

static unsigned shed_of_clients(void)
{
    unsigned shed = 0;

    for (unsigned i = 0; i < CLIENTS; i++)
        shed += ask_client(i) == REASON_SHED;
    return shed;
}

static void shares_decay_to_a_quarter_and_no_further(void **state)
{
    (void)state;
    said(SITE_WEB)->shed[CLASS_BULK] = HALF;
    said(SITE_WEB)->stamped_ns = now_ns;
    now_ns += 400 * CORE_MS;
    assert_in_range(shed_of_clients(), CLIENTS / 2 - 100, CLIENTS / 2 + 100);
    now_ns += 1100 * CORE_MS + 1;
    assert_in_range(shed_of_clients(), CLIENTS / 4 - 80, CLIENTS / 4 + 80);
    now_ns += 1000 * CORE_MS;
    assert_in_range(shed_of_clients(), CLIENTS / 8 - 60, CLIENTS / 8 + 60);
    now_ns += 3600 * CORE_S;
    assert_in_range(shed_of_clients(), CLIENTS / 8 - 60, CLIENTS / 8 + 60);
}

static void few_clients_are_shed_attempt_by_attempt(void **state)
{
    unsigned shed = 0, again = 0;

    (void)state;
    *said(SITE_WEB) = (struct xdp_advice){
        .shed = {HALF}, .stamped_ns = now_ns, .by_attempt = 1, .cap = said(SITE_WEB)->cap};
    for (unsigned i = 0; i < CLIENTS; i++) {
        char description[96];
        enum reason first;

        snprintf(description, sizeof(description), "ip4 198.18.0.1 10.9.0.10 / tcp %u 80 S",
                 1024 + i);
        first = ask(description);
        shed += first == REASON_SHED;
        again += ask(description) == first;
    }
    assert_in_range(shed, CLIENTS / 2 - 100, CLIENTS / 2 + 100);
    assert_int_equal(again, CLIENTS); /* a repeat gets the same answer */
}

/* -- memory -- */

static void case_G01_a_flood_of_new_sources_grows_nothing(void **state)
{
    struct xdp_tenant_counters of_default;

    (void)state;
    said(SITE_WEB)->turned_away = UINT32_MAX;
    for (unsigned i = 0; i < 20000; i++)
        assert_int_equal(ask_client(i), REASON_SHED);
    of_default = kernel_tenant(&kernel, site_tenant_id(SITE_DEFAULT));
    assert_int_equal(of_default.refused[REASON_SHED], 20000);
    assert_int_equal(of_default.admitted, 0);
    /* Who is connected goes on. */
    assert_int_equal(ask("ip4 198.18.0.1 10.9.0.10 / tcp 1024 80 A / data 100"), REASON_NONE);
    /* There is no map that could have grown: all are arrays. */
    assert_true(kernel_has_only_arrays(&kernel));
}

/* -- two banks -- */

static void a_packet_meets_the_policy_of_one_bank(void **state)
{
    struct site other;
    struct policy *replaced;

    (void)state;
    site_init(&other);
    other.spec.n_denied = 0;
    other.tenants[SITE_BLOCKED].attempts = CORE_UNLIMITED;
    replaced = site_policy(&other);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(ask("ip4 10.66.0.1 10.9.0.10 / tcp 1 80 S"), REASON_DENIED);
        assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S"), REASON_RATE);
        kernel_publish(&kernel, replaced);
        assert_int_equal(ask("ip4 10.66.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
        assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
        kernel_publish(&kernel, policy);
    }
    policy_free(replaced);
}

/* Where nothing but addresses is denied the ranges are not asked. */
static void denied_addresses_are_found_without_networks(void **state)
{
    struct site other;
    struct policy *hosts;

    (void)state;
    site_init(&other);
    other.denied[0] = site_network("10.1.0.1", 32);
    other.denied[1] = site_network("10.1.0.2", 32);
    other.denied[2] = site_network("255.255.255.255", 32);
    other.spec.n_denied = 3;
    hosts = site_policy(&other);
    kernel_publish(&kernel, hosts);
    assert_int_equal(kernel.arrays.images[1].more_denied_v4, 0);
    assert_int_equal(ask("ip4 10.1.0.0 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 S"), REASON_DENIED);
    assert_int_equal(ask("ip4 10.1.0.2 10.9.0.10 / tcp 1 80 S"), REASON_DENIED);
    assert_int_equal(ask("ip4 10.1.0.3 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    assert_int_equal(ask("ip4 255.255.255.255 10.9.0.10 / tcp 1 80 S"), REASON_DENIED);
    assert_int_equal(ask("ip4 0.0.0.0 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    /* What was only in the other bank's buckets. */
    assert_int_equal(ask("ip4 10.5.0.14 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    policy_free(hosts);
}

static void without_a_policy_all_but_malformed_passes(void **state)
{
    (void)state;
    kernel.arrays.control->ready = 0;
    assert_int_equal(ask("ip4 10.66.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S"), REASON_NONE);
    assert_int_equal(ask("ip4 10.1.0.1 10.9.0.10 / tcp 1 80 SF"), REASON_MALFORMED_TCP_FLAGS);
    assert_int_equal(kernel_port(&kernel).passed, 2);
}

/* -- ways -- */

static void what_passes_goes_to_the_stack_or_to_the_peer(void **state)
{
    struct xdp_port_counters counters;

    (void)state;
    assert_int_equal(ask_client(1), REASON_NONE);
    assert_int_equal(kernel.last.way, XDP_WAY_PASS);
    kernel.arrays.ports[0].standby = XDP_STANDBY_REDIRECT;
    assert_int_equal(ask_client(2), REASON_NONE);
    assert_int_equal(kernel.last.way, XDP_WAY_REDIRECT);
    assert_int_equal(ask("ip4 10.2.0.1 10.9.0.10 / tcp 1 80 S"), REASON_RATE);
    assert_int_equal(kernel.last.way, XDP_WAY_DROP);
    counters = kernel_port(&kernel);
    assert_int_equal(counters.received, 3);
    assert_int_equal(counters.passed, 1);
    assert_int_equal(counters.redirected, 1);
    assert_int_equal(counters.dropped[REASON_RATE], 1);
    assert_int_equal(counters.guarded, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(case_A15_each_kind_of_control_traffic_is_bounded_by_itself),
        TEST(a_service_gets_no_more_than_its_last_known_capacity),
        TEST(refused_for_capacity_keeps_its_tokens),
        TEST(a_new_limit_of_packets_starts_full),
        TEST(closed_refuses_while_the_capacity_is_unknown),
        TEST(shares_decay_to_a_quarter_and_no_further),
        TEST(few_clients_are_shed_attempt_by_attempt),
        TEST(case_G01_a_flood_of_new_sources_grows_nothing),
        TEST(a_packet_meets_the_policy_of_one_bank),
        TEST(denied_addresses_are_found_without_networks),
        TEST(without_a_policy_all_but_malformed_passes),
        TEST(what_passes_goes_to_the_stack_or_to_the_peer),
    };
    int failed;

    kernel_skip_if_missing();
    site_init(&site);
    policy = site_policy(&site);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    policy_free(policy);
    return failed;
}
