/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/core.h"

#define TENANTS  3
#define SERVICES 2

/* A specification of two services and three tenants, to be spoiled by a test. */
struct draft {
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES][2];
    struct policy_ports ports[SERVICES][2];
    struct policy_prefix prefixes[4];
    struct policy_spec spec;
};

static void draft_start(struct draft *d)
{
    *d = (struct draft){
        .addresses = {{core_address("10.9.0.10"), core_address("fd09::10")},
                      {core_address("10.9.0.11"), core_address("10.9.0.12")}},
        .ports = {{{80, 80}, {8000, 8099}}, {{80, 80}, {0, 0}}},
        .prefixes = {core_prefix("10.1.0.0", 16, 1), core_prefix("fd01::", 32, 1)},
    };
    for (uint32_t i = 0; i < TENANTS; i++)
        d->tenants[i] = core_tenant(10 + i);
    for (uint32_t i = 0; i < SERVICES; i++)
        d->services[i] = core_service(20 + i, d->addresses[i], d->ports[i]);
    d->services[0].n_addresses = 2;
    d->services[0].n_ports = 2;
    d->spec = (struct policy_spec){
        .tenants = d->tenants,
        .services = d->services,
        .prefixes = d->prefixes,
        .n_tenants = TENANTS,
        .n_services = SERVICES,
        .n_prefixes = 2,
        .epoch = 7,
    };
}

static struct policy *create(const struct draft *d)
{
    struct policy *policy = NULL;

    assert_int_equal(policy_create(&d->spec, &policy), 0);
    return policy;
}

static uint32_t service_at(const struct policy *policy, const char *address, uint8_t protocol,
                           uint16_t port)
{
    struct address a = core_address(address);

    return policy_find_service(policy, &a, protocol, port);
}

static uint32_t tenant_of(const struct policy *policy, const char *source, uint32_t service)
{
    struct address a = core_address(source);

    return policy_find_tenant(policy, &a, service);
}

static bool names(const struct policy *policy, const char *address)
{
    struct address a = core_address(address);

    return policy_names_address(policy, &a);
}

static void snapshot_is_a_copy(void **state)
{
    struct draft d;
    struct policy *policy;

    (void)state;
    draft_start(&d);
    policy = create(&d);
    memset(&d, 0xff, sizeof(d));
    assert_int_equal(policy_epoch(policy), 7);
    assert_int_equal(policy_tenant_count(policy), TENANTS);
    assert_int_equal(policy_service_count(policy), SERVICES);
    assert_int_equal(policy_default_tenant(policy), 0);
    assert_string_equal(policy_tenant(policy, 1)->name, "tenant-11");
    assert_int_equal(policy_tenant(policy, 2)->id, 12);
    assert_string_equal(policy_service(policy, 1)->name, "service-21");
    assert_int_equal(policy_service(policy, 0)->n_ports, 2);
    assert_int_equal(policy_service(policy, 0)->ports[1].last, 8099);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 80), 0);
    assert_int_equal(tenant_of(policy, "10.1.2.3", POLICY_NONE), 1);
    policy_free(policy);
    policy_free(NULL);
}

static void service_by_address_protocol_and_port(void **state)
{
    struct draft d;
    struct policy *policy;

    (void)state;
    draft_start(&d);
    policy = create(&d);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 79), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 80), 0);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 81), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 7999), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 8000), 0);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 8099), 0);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 8100), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_UDP, 80), POLICY_NONE);
    assert_int_equal(service_at(policy, "fd09::10", PROTOCOL_TCP, 8050), 0);
    assert_int_equal(service_at(policy, "fd09::11", PROTOCOL_TCP, 8050), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.11", PROTOCOL_TCP, 80), 1);
    assert_int_equal(service_at(policy, "10.9.0.11", PROTOCOL_TCP, 8000), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.12", PROTOCOL_TCP, 80), POLICY_NONE);

    assert_true(names(policy, "10.9.0.10"));
    assert_true(names(policy, "10.9.0.11"));
    assert_true(names(policy, "fd09::10"));
    assert_false(names(policy, "10.9.0.9"));
    assert_false(names(policy, "10.9.0.12"));
    assert_false(names(policy, "fd09::9"));
    assert_false(names(policy, "255.255.255.255"));
    policy_free(policy);

    d.spec.n_services = 0;
    policy = create(&d);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 80), POLICY_NONE);
    assert_false(names(policy, "10.9.0.10"));
    policy_free(policy);
}

static void ports_at_the_ends(void **state)
{
    struct draft d;
    struct policy *policy;

    (void)state;
    draft_start(&d);
    d.ports[0][0] = (struct policy_ports){0, 0};
    d.ports[0][1] = (struct policy_ports){65535, 65535};
    d.ports[1][0] = (struct policy_ports){0, 65535};
    policy = create(&d);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 0), 0);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 1), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 65534), POLICY_NONE);
    assert_int_equal(service_at(policy, "10.9.0.10", PROTOCOL_TCP, 65535), 0);
    assert_int_equal(service_at(policy, "10.9.0.11", PROTOCOL_TCP, 0), 1);
    assert_int_equal(service_at(policy, "10.9.0.11", PROTOCOL_TCP, 65535), 1);
    policy_free(policy);
}

static void overlapping_services_are_rejected(void **state)
{
    static const struct {
        struct policy_ports ports;
        int result;
    } against_8000_8099[] = {
        {{8000, 8099}, -EINVAL}, {{8050, 8050}, -EINVAL}, {{7000, 9000}, -EINVAL},
        {{7000, 8000}, -EINVAL}, {{8099, 9000}, -EINVAL}, {{7000, 7999}, 0},
        {{8100, 9000}, 0},
    };
    struct draft d;

    (void)state;
    for (size_t i = 0; i < sizeof(against_8000_8099) / sizeof(against_8000_8099[0]); i++) {
        struct policy *policy = NULL;

        draft_start(&d);
        d.addresses[1][0] = d.addresses[0][1]; /* the IPv6 one */
        d.ports[1][0] = against_8000_8099[i].ports;
        assert_int_equal(policy_create(&d.spec, &policy), against_8000_8099[i].result);
        policy_free(policy);
        d.services[1].protocol = PROTOCOL_UDP; /* another protocol never overlaps */
        policy_free(create(&d));
    }
}

static void tenant_precedence(void **state)
{
    struct draft d;
    struct policy *policy;

    (void)state;
    draft_start(&d);
    d.services[0].tenant = 2;
    policy = create(&d);
    /* A source prefix, */
    assert_int_equal(tenant_of(policy, "10.1.255.255", 0), 1);
    assert_int_equal(tenant_of(policy, "fd01::1", 0), 1);
    /* else the service's own, */
    assert_int_equal(tenant_of(policy, "10.2.0.0", 0), 2);
    /* else the default. */
    assert_int_equal(tenant_of(policy, "10.2.0.0", 1), 0);
    assert_int_equal(tenant_of(policy, "10.2.0.0", POLICY_NONE), 0);
    policy_free(policy);

    /* The default may stand anywhere, and a prefix may name it. */
    d.spec.default_tenant = 1;
    d.prefixes[2] = core_prefix("10.2.0.0", 24, 1);
    d.spec.n_prefixes = 3;
    policy = create(&d);
    assert_int_equal(policy_default_tenant(policy), 1);
    assert_int_equal(tenant_of(policy, "10.2.0.9", 0), 1);
    assert_int_equal(tenant_of(policy, "10.3.0.9", 0), 2);
    assert_int_equal(tenant_of(policy, "10.3.0.9", 1), 1);
    policy_free(policy);
}

/* IPv4 lies inside the IPv6 space here, but ::/0 is about IPv6 alone, as 0.0.0.0/0 about IPv4. */
static void case_H05_each_version_has_its_own_zero_prefix(void **state)
{
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.prefixes[0] = core_prefix("::", 0, 2);
    d.spec.n_prefixes = 1;
    policy = create(&d);
    assert_int_equal(tenant_of(policy, "fd77::1", POLICY_NONE), 2);
    assert_int_equal(tenant_of(policy, "10.0.0.1", POLICY_NONE), 0);
    policy_free(policy);

    d.prefixes[1] = core_prefix("0.0.0.0", 0, 1);
    d.spec.n_prefixes = 2;
    policy = create(&d);
    assert_int_equal(tenant_of(policy, "fd77::1", POLICY_NONE), 2);
    assert_int_equal(tenant_of(policy, "10.0.0.1", POLICY_NONE), 1);
    policy_free(policy);
}

static void case_H05_same_prefix_in_two_tenants(void **state)
{
    struct draft d;
    struct policy *policy = NULL;

    (void)state;
    draft_start(&d);
    d.prefixes[1] = core_prefix("10.1.77.0", 16, 2);
    assert_int_equal(policy_create(&d.spec, &policy), -EINVAL);
    d.prefixes[1] = core_prefix("10.1.77.0", 24, 2);
    policy = create(&d);
    assert_int_equal(tenant_of(policy, "10.1.77.1", 0), 2);
    assert_int_equal(tenant_of(policy, "10.1.78.1", 0), 1);
    policy_free(policy);
}

/* One broken index each; the draft is whole again before the next. */
static void indices_out_of_range_are_rejected(void **state)
{
    struct draft d;
    struct policy *policy = NULL;

    (void)state;
    for (unsigned mistake = 0; mistake < 5; mistake++) {
        draft_start(&d);
        if (mistake == 0)
            d.spec.n_tenants = 0;
        if (mistake == 1)
            d.spec.n_tenants = POLICY_TENANTS_MAX + 1;
        if (mistake == 2)
            d.spec.default_tenant = TENANTS;
        if (mistake == 3)
            d.prefixes[1].tenant = TENANTS;
        if (mistake == 4)
            d.services[1].tenant = TENANTS;
        assert_int_equal(policy_create(&d.spec, &policy), -EINVAL);
    }
    assert_null(policy);
    draft_start(&d);
    policy_free(create(&d));
}

static bool probes(const struct policy *policy, uint32_t service, const char *source)
{
    struct address a = core_address(source);

    return policy_is_probe(policy, service, &a);
}

static void probes_are_known_by_their_source(void **state)
{
    struct policy_network checks[] = {{core_address("10.0.0.77"), 120},
                                      {core_address("fd00:5::1"), 32},
                                      {core_address("10.2.0.1"), 128}};
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.services[1].probes.prefixes = checks;
    d.services[1].probes.n = 3;
    policy = create(&d);
    memset(checks, 0, sizeof(checks)); /* the policy has its own */
    assert_true(probes(policy, 1, "10.0.0.0"));
    assert_true(probes(policy, 1, "10.0.0.255"));
    assert_false(probes(policy, 1, "10.0.1.0"));
    assert_true(probes(policy, 1, "fd00:5:ffff::2"));
    assert_false(probes(policy, 1, "fd00:4:ffff::2"));
    assert_true(probes(policy, 1, "10.2.0.1"));
    assert_false(probes(policy, 1, "10.2.0.0"));
    assert_false(probes(policy, 0, "10.0.0.1"));
    policy_free(policy);
}

/* As with tenants: a prefix of IPv6 says nothing about IPv4. */
static void all_of_ipv6_is_not_ipv4(void **state)
{
    struct policy_network all = {core_address("::"), 0}, v4 = {core_address("0.0.0.0"), 96};
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.services[0].probes.prefixes = &all;
    d.services[0].probes.n = 1;
    d.services[1].probes.prefixes = &v4;
    d.services[1].probes.n = 1;
    policy = create(&d);
    assert_true(probes(policy, 0, "fd01::1"));
    assert_false(probes(policy, 0, "10.0.0.1"));
    assert_false(probes(policy, 1, "fd01::1"));
    assert_true(probes(policy, 1, "10.0.0.1"));
    policy_free(policy);
}

static struct policy_network network(const char *text, unsigned bits)
{
    struct policy_prefix prefix = core_prefix(text, bits, 0);

    return (struct policy_network){prefix.network, prefix.bits};
}

static bool denies(const struct policy *policy, const char *source)
{
    struct address address = core_address(source);

    return policy_is_denied(policy, &address);
}

static void nobody_is_denied_without_a_list(void **state)
{
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    policy = create(&d);
    assert_false(policy_has_denied(policy));
    assert_false(denies(policy, "10.1.0.0"));
    assert_false(denies(policy, "0.0.0.0"));
    assert_false(denies(policy, "::"));
    policy_free(policy);
}

/* Nested ones count once, the longer may go without the shorter; host bits do not count. */
static void denied_networks_and_their_neighbours(void **state)
{
    struct policy_network denied[] = {
        network("10.1.2.3", 24),      network("10.1.0.0", 16),      network("10.1.2.128", 32),
        network("10.3.255.255", 32),  network("2001:db8:5::9", 48), network("2001:db8:5:1::", 64),
        network("192.168.255.0", 24),
    };
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.spec.denied = denied;
    d.spec.n_denied = 7;
    policy = create(&d);
    assert_true(policy_has_denied(policy));
    assert_false(denies(policy, "10.0.255.255"));
    assert_true(denies(policy, "10.1.0.0"));
    assert_true(denies(policy, "10.1.2.0"));
    assert_true(denies(policy, "10.1.2.128"));
    assert_true(denies(policy, "10.1.3.0"));
    assert_true(denies(policy, "10.1.255.255"));
    assert_false(denies(policy, "10.2.0.0"));
    assert_false(denies(policy, "10.3.255.254"));
    assert_true(denies(policy, "10.3.255.255"));
    assert_false(denies(policy, "10.4.0.0"));
    assert_false(denies(policy, "192.169.0.0"));
    assert_true(denies(policy, "192.168.255.255"));
    assert_false(denies(policy, "2001:db8:4:ffff:ffff:ffff:ffff:ffff"));
    assert_true(denies(policy, "2001:db8:5::"));
    assert_true(denies(policy, "2001:db8:5:1:2::"));
    assert_true(denies(policy, "2001:db8:5:ffff:ffff:ffff:ffff:ffff"));
    assert_false(denies(policy, "2001:db8:6::"));
    policy_free(policy);
}

static void all_of_one_version_is_denied_without_the_other(void **state)
{
    struct policy_network v6 = network("::", 0), v4 = network("0.0.0.0", 0);
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.spec.denied = &v6;
    d.spec.n_denied = 1;
    policy = create(&d);
    assert_true(denies(policy, "fd01::1"));
    assert_false(denies(policy, "10.0.0.1"));
    policy_free(policy);
    d.spec.denied = &v4;
    policy = create(&d);
    assert_false(denies(policy, "fd01::1"));
    assert_true(denies(policy, "10.0.0.1"));
    policy_free(policy);
}

static void denied_networks_that_no_policy_takes(void **state)
{
    struct policy_network twice[] = {network("10.1.0.1", 16), network("10.1.0.2", 16)};
    struct policy_network *many = calloc(POLICY_DENIED_MAX + 1, sizeof(*many));
    struct policy *policy = NULL;
    struct draft d;

    (void)state;
    assert_non_null(many);
    draft_start(&d);
    d.spec.denied = twice;
    d.spec.n_denied = 2;
    assert_int_equal(policy_create(&d.spec, &policy), -EINVAL);
    for (uint32_t i = 0; i <= POLICY_DENIED_MAX; i++)
        many[i] = (struct policy_network){address_from_v4(i), 128};
    d.spec.denied = many;
    d.spec.n_denied = POLICY_DENIED_MAX + 1;
    assert_int_equal(policy_create(&d.spec, &policy), -EINVAL);
    d.spec.n_denied = POLICY_DENIED_MAX;
    assert_int_equal(policy_create(&d.spec, &policy), 0);
    policy_free(policy);
    free(many);
}

static void shares_belong_to_their_tenants(void **state)
{
    struct policy_share shares[] = {{.tenant = 2, .guaranteed = 8}, {.tenant = 0}};
    struct policy *policy;
    struct draft d;

    (void)state;
    draft_start(&d);
    d.services[0].shares = shares;
    d.services[0].n_shares = 2;
    policy = create(&d);
    memset(shares, 0xff, sizeof(shares));
    assert_int_equal(policy_share_of(policy, 0, 2), 1);
    assert_int_equal(policy_share_of(policy, 0, 0), 2);
    assert_int_equal(policy_share_of(policy, 0, 1), 0);
    assert_int_equal(policy_share_of(policy, 1, 2), 0);
    assert_int_equal(policy_service(policy, 0)->shares[0].guaranteed, 8);
    policy_free(policy);
}

static void rejected(const struct draft *d)
{
    struct policy *policy = NULL;

    assert_int_equal(policy_create(&d->spec, &policy), -EINVAL);
    assert_null(policy);
}

static void shares_and_probes_out_of_range_are_rejected(void **state)
{
    struct policy_share shares[POLICY_SHARES_MAX + 1] = {0};
    struct policy_network checks[POLICY_PROBES_MAX + 1] = {0};
    struct draft d;

    (void)state;
    draft_start(&d);
    d.services[1].shares = shares;
    d.services[1].probes.prefixes = checks;
    d.services[1].n_shares = POLICY_SHARES_MAX + 1;
    rejected(&d);
    d.services[1].n_shares = POLICY_SHARES_MAX;
    policy_free(create(&d));
    shares[POLICY_SHARES_MAX - 1].tenant = TENANTS;
    rejected(&d);
    d.services[1].n_shares = 0;
    d.services[1].probes.n = POLICY_PROBES_MAX + 1;
    rejected(&d);
    d.services[1].probes.n = POLICY_PROBES_MAX;
    policy_free(create(&d));
    checks[0].bits = 129;
    rejected(&d);
}

static void names_of_words(void **state)
{
    (void)state;
    assert_string_equal(policy_class_name(CLASS_BULK), "bulk");
    assert_string_equal(policy_class_name(CLASS_NORMAL), "normal");
    assert_string_equal(policy_class_name(CLASS_CRITICAL), "critical");
    assert_string_equal(policy_unit_name(UNIT_CONNECTION), "connection");
    assert_string_equal(policy_unit_name(UNIT_EXCHANGE), "exchange");
    assert_string_equal(policy_unit_name(UNIT_DATAGRAM), "datagram");
    assert_string_equal(policy_turn_name(TURN_RST), "rst");
    assert_string_equal(policy_turn_name(TURN_HTTP), "http");
    assert_string_equal(policy_turn_name(TURN_PASS), "pass");
    assert_string_equal(policy_order_name(ORDER_FIFO), "fifo");
    assert_string_equal(policy_order_name(ORDER_ADAPTIVE), "adaptive");
    assert_string_equal(policy_order_name(ORDER_DEADLINE), "deadline");
    assert_string_equal(policy_breaker_mode_name(POLICY_BREAKER_AUTO), "auto");
    assert_string_equal(policy_breaker_mode_name(POLICY_BREAKER_OPEN), "open");
    assert_string_equal(policy_breaker_mode_name(POLICY_BREAKER_CLOSED), "closed");
    assert_string_equal(policy_refusal_name(REFUSAL_RST), "rst");
    assert_string_equal(policy_refusal_name(REFUSAL_DROP), "drop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_is_a_copy),
        cmocka_unit_test(service_by_address_protocol_and_port),
        cmocka_unit_test(ports_at_the_ends),
        cmocka_unit_test(overlapping_services_are_rejected),
        cmocka_unit_test(tenant_precedence),
        cmocka_unit_test(case_H05_each_version_has_its_own_zero_prefix),
        cmocka_unit_test(case_H05_same_prefix_in_two_tenants),
        cmocka_unit_test(indices_out_of_range_are_rejected),
        cmocka_unit_test(probes_are_known_by_their_source),
        cmocka_unit_test(all_of_ipv6_is_not_ipv4),
        cmocka_unit_test(nobody_is_denied_without_a_list),
        cmocka_unit_test(denied_networks_and_their_neighbours),
        cmocka_unit_test(all_of_one_version_is_denied_without_the_other),
        cmocka_unit_test(denied_networks_that_no_policy_takes),
        cmocka_unit_test(shares_belong_to_their_tenants),
        cmocka_unit_test(shares_and_probes_out_of_range_are_rejected),
        cmocka_unit_test(names_of_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
