/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/config_text.h"

/* A tenant on line 2 with that quota. */
#define QUOTA(quota) CONFIG_GATES "tenants = ({ name = \"default\";\nquota = { " quota " }; });"

static void bits(const char *text, uint64_t amount, uint64_t burst)
{
    struct settings *s = config_text_accepted(text, "");

    assert_true(s->policy.tenants[0].bits.amount == amount);
    assert_true(s->policy.tenants[0].bits.burst == burst);
    assert_false(s->policy.tenants[0].bits.unlimited);
    config_free(s);
}

static void case_E03_rates_above_32_bits_are_honoured_or_refused(void **state)
{
    (void)state;
    bits(QUOTA("bits = \"4.29Gbit/s\";"), 4290000000, 53625000);
    bits(QUOTA("bits = \"4.30Gbit/s\";"), 4300000000, 53750000);
    bits(QUOTA("bits = \"34.4Gbit/s\";"), 34400000000, 430000000);
    bits(QUOTA("bits = \"40Gbit/s\";"), 40000000000, 500000000);
    bits(QUOTA("bits = \"69Gbit/s\";"), 69000000000, 862500000);
    bits(QUOTA("bits = \"400Gbit/s\";"), 400000000000, 5000000000);
    config_text_refused(QUOTA("bits = \"401Gbit/s\";"),
                        "front.conf:2: tenants[0].quota.bits: \"401Gbit/s\" is out of range (0, "
                        "unlimited, or 8bit/s..400Gbit/s in bit, kbit, Mbit or Gbit/s)\n");
    bits(QUOTA("bits = \"69Gbit/s\"; bits_burst = \"6000000000B\";"), 69000000000, 6000000000);
    bits(QUOTA("bits = \"69Gbit/s\"; bits_burst = \"6GiB\";"), 69000000000, 6442450944);
    config_text_refused(QUOTA("bits = \"69Gbit/s\"; bits_burst = \"9GiB\";"),
                        "front.conf:2: tenants[0].quota.bits_burst: \"9GiB\" is out of range "
                        "(1B..9200000000B in B, KiB, MiB or GiB)\n");
}

static void case_E07_a_burst_below_a_packet_is_a_warning(void **state)
{
    (void)state;
    config_free(config_text_accepted(
        QUOTA("bits = \"1Mbit/s\"; bits_burst = \"1499B\";"),
        "front.conf:2: warning: tenants[0].quota.bits_burst: IP packets above 1499 bytes will "
        "always be dropped (a full one has 1500)\n"));
    config_free(config_text_accepted(QUOTA("bits = \"1Mbit/s\"; bits_burst = \"1500B\";"), ""));
}

static void rates_say_their_range(void **state)
{
    (void)state;
    config_text_refused(
        QUOTA("attempts = \"20/fortnight\";"),
        "front.conf:2: tenants[0].quota.attempts: \"20/fortnight\" is no rate (0, unlimited, or "
        "1..1000000000 per s, min, h or day)\n");
    config_text_refused(
        QUOTA("packets = \"1000000001/s\";"),
        "front.conf:2: tenants[0].quota.packets: \"1000000001/s\" is out of range (0, unlimited, "
        "or 1..1000000000 per s, min, h or day)\n");
    config_text_refused(
        QUOTA("attempts = \"0.5/s\";"),
        "front.conf:2: tenants[0].quota.attempts: \"0.5/s\" is no whole number in its period (0, "
        "unlimited, or 1..1000000000 per s, min, h or day)\n");
    config_text_refused(QUOTA("bits = \"100bit/s\";"),
                        "front.conf:2: tenants[0].quota.bits: \"100bit/s\" is no whole number of "
                        "bytes a second (0, unlimited, or 8bit/s..400Gbit/s in bit, kbit, Mbit or "
                        "Gbit/s)\n");
}

/* The largest burst depends on the period, wherever in the group the rate stands. */
static void bursts_fit_the_period(void **state)
{
    (void)state;
    config_free(config_text_accepted(QUOTA("attempts_burst = 106480; attempts = \"5/day\";"), ""));
    config_text_refused(QUOTA("attempts_burst = 106481; attempts = \"5/day\";"),
                        "front.conf:2: tenants[0].quota.attempts_burst: 106481 is out of range "
                        "(0..106480 with a rate per day)\n");
    config_text_refused(QUOTA("packets = \"5/s\"; packets_burst = 9200000000;"),
                        "front.conf:2: tenants[0].quota.packets_burst: 9200000000 is out of range "
                        "(0..9199999999)\n");
    config_text_refused(QUOTA("packets = \"5/s\"; packets_burst = -1;"),
                        "front.conf:2: tenants[0].quota.packets_burst: -1 is out of range "
                        "(0..9199999999)\n");
    config_free(config_text_accepted(QUOTA("packets_burst = 5;"),
                                     "front.conf:2: warning: tenants[0].quota.packets_burst: has "
                                     "no effect, for the rate is unlimited\n"));
}

static void windows_and_classes(void **state)
{
    struct settings *s = config_text_accepted(
        CONFIG_GATES "tenants = ({ name = \"default\"; window = 0; class = \"bulk\"; },"
                     "{ name = \"a\"; window = \"unlimited\"; class = \"normal\"; },"
                     "{ name = \"b\"; window = 16777216; class = \"critical\"; });",
        "");

    (void)state;
    assert_int_equal(s->policy.tenants[0].window, 0);
    assert_int_equal(s->policy.tenants[0].class, CLASS_BULK);
    assert_int_equal(s->policy.tenants[1].window, POLICY_WINDOW_MAX);
    assert_int_equal(s->policy.tenants[1].class, CLASS_NORMAL);
    assert_int_equal(s->policy.tenants[2].window, 16777216);
    assert_int_equal(s->policy.tenants[2].class, CLASS_CRITICAL);
    config_free(s);
    config_text_refused(CONFIG_GATES "tenants = ({ name = \"default\"; window = 16777217;\n"
                                     "class = \"Bulk\"; });",
                        "front.conf:1: tenants[0].window: 16777217 is out of range (0..16777216 "
                        "slots or \"unlimited\")\n"
                        "front.conf:2: tenants[0].class: \"Bulk\" is no class (bulk, normal or "
                        "critical)\n");
}

#define PREFIXES(first, second)                                                                    \
    CONFIG_GATES "tenants = ({ name = \"default\"; },\n{ name = \"a\"; prefixes = [" first         \
                 "]; },\n{ name = \"b\"; prefixes = (" second "); });"

static void case_H05_every_prefix_length(void **state)
{
    static const uint8_t lengths[] = {96, 128, 128, 0, 128, 128, 32};
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
    struct settings *s = config_text_accepted(
        PREFIXES("\"0.0.0.0/0\", \"10.0.0.1/32\", \"10.0.0.2\"",
                 "\"::/0\", \"2001:db8::1/128\", \"2001:db8::2\", \"2001:db8::/32\""),
        "");
    struct policy *policy;
    struct address a = address_from_v4(htonl(0x0a000002));

    (void)state;
    assert_int_equal(s->policy.n_prefixes, 7);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(s->policy.prefixes[i].bits, lengths[i]);
        assert_int_equal(s->policy.prefixes[i].tenant, i < 3 ? 1 : 2);
    }
    assert_memory_equal(s->policy.prefixes[0].network.bytes, mapped, 16);
    assert_true(address_equal(&s->policy.prefixes[2].network, &a));
    assert_int_equal(policy_create(&s->policy, &policy), 0);
    assert_int_equal(policy_find_tenant(policy, &a, POLICY_NONE), 1);
    policy_free(policy);
    config_free(s);
}

static void case_H05_nested_prefixes_in_both_orders(void **state)
{
    (void)state;
    config_free(config_text_accepted(PREFIXES("\"10.1.0.0/24\"", "\"10.1.0.0/26\""), ""));
    config_free(config_text_accepted(PREFIXES("\"10.1.0.0/26\"", "\"10.1.0.0/24\""), ""));
}

static void case_H05_the_same_network_once_masked(void **state)
{
    (void)state;
    config_text_refused(PREFIXES("\"10.0.0.0/8\"", "\"10.161.0.0/8\""),
                        "front.conf:3: warning: tenants[2].prefixes[0]: \"10.161.0.0/8\" has host "
                        "bits, taken as 10.0.0.0/8\n"
                        "front.conf:3: tenants[2].prefixes[0]: 10.0.0.0/8 is "
                        "tenants[1].prefixes[0] in line 2 already\n");
    config_text_refused(
        PREFIXES("\"2001:db8::/33\", \"10.1.1.1\",\n\"2001:db8:0::/33\"", "\"10.1.1.1/32\""),
        "front.conf:3: tenants[1].prefixes[2]: 2001:db8::/33 is "
        "tenants[1].prefixes[0] in line 2 already\n"
        "front.conf:4: tenants[2].prefixes[0]: 10.1.1.1/32 is "
        "tenants[1].prefixes[1] in line 2 already\n");
}

static void case_H05_host_bits_are_masked_with_a_warning(void **state)
{
    struct settings *s = config_text_accepted(
        PREFIXES("\"10.1.2.3/16\"", "\"2001:db8::1/127\""),
        "front.conf:2: warning: tenants[1].prefixes[0]: \"10.1.2.3/16\" has host bits, taken as "
        "10.1.0.0/16\n"
        "front.conf:3: warning: tenants[2].prefixes[0]: \"2001:db8::1/127\" has host bits, taken "
        "as 2001:db8::/127\n");
    struct address network = address_from_v4(htonl(0x0a010000));

    (void)state;
    assert_true(address_equal(&s->policy.prefixes[0].network, &network));
    config_free(s);
}

static void case_H05_what_is_no_prefix(void **state)
{
    static const char *const wrong[] = {"10.1.0.0/33",
                                        "10.1.0.0/",
                                        "10.1.0/24",
                                        "10.1.0.0/-1",
                                        "10.1.0.0/08",
                                        "2001::/129",
                                        "::ffff:10.1.0.0/112",
                                        "::ffff:10.1.0.0/16",
                                        "10.1.0.0/16 ",
                                        "10.01.0.0/16",
                                        "acme",
                                        "/8",
                                        ""};
    char text[512], report[512];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(text, sizeof(text),
                 CONFIG_GATES "tenants = ({ name = \"default\"; prefixes = [\"%s\"]; });",
                 wrong[i]);
        snprintf(report, sizeof(report),
                 "front.conf:1: tenants[0].prefixes[0]: \"%s\" is no prefix (an IPv4 or IPv6 "
                 "network such as 10.1.0.0/16 or 2001:db8::/32)\n",
                 wrong[i]);
        config_text_refused(text, report);
    }
}

#define SERVICE(name, address, protocol, rest)                                                     \
    "{ name = \"" name "\"; addresses = [" address "]; protocol = \"" protocol "\"; " rest " }"
#define SERVICES(all) CONFIG_GATES CONFIG_TENANTS "services = (\n" all "\n);"

static void services_cannot_overlap(void **state)
{
    (void)state;
    config_text_refused(
        SERVICES(SERVICE("web", "\"10.9.0.10\"", "tcp", "ports = [\"80\", \"8000-8099\"];") ",\n" //
                 SERVICE("api", "\"10.9.0.9\", \"10.9.0.10\"", "tcp",
                         "ports = [\"443\", \"8099-9000\"];")),
        "front.conf:3: services[1].ports: port 8099 of 10.9.0.10 belongs to both service \"web\" "
        "(line 2) and service \"api\"\n");
    /* The far end of a long range, behind a short one inside it. */
    config_text_refused(
        SERVICES(SERVICE("a", "\"::1\"", "udp", "ports = [\"1-1000\"];") ",\n" //
                 SERVICE("b", "\"::1\"", "udp", "ports = [\"5\"];") ",\n"      //
                 SERVICE("c", "\"::1\"", "udp", "ports = [2000, 999];")),
        "front.conf:3: services[1].ports: port 5 of ::1 belongs to both service \"a\" (line 2) "
        "and service \"b\"\n"
        "front.conf:4: services[2].ports: port 999 of ::1 belongs to both service \"a\" (line 2) "
        "and service \"c\"\n");
    config_text_refused(
        SERVICES(SERVICE("a", "\"10.0.0.1\"", "tcp", "ports = [\"80-90\", \"85\"];") ",\n" //
                 SERVICE("b", "\"10.0.0.2\", \"10.0.0.2\"", "tcp", "ports = [1];")),
        "front.conf:2: services[0].ports: port 85 of 10.0.0.1 is given twice in service \"a\"\n"
        "front.conf:3: services[1].ports: port 1 of 10.0.0.2 is given twice in service \"b\"\n");
    config_free(config_text_accepted(
        SERVICES(SERVICE("a", "\"10.0.0.1\"", "tcp", "ports = [\"1-79\", \"81-65535\"];") ",\n" //
                 SERVICE("b", "\"10.0.0.1\"", "tcp", "ports = [80];") ",\n"                     //
                 SERVICE("c", "\"10.0.0.1\"", "udp", "ports = [80];")),
        ""));
}

static void services_say_what_is_available(void **state)
{
    (void)state;
    config_text_refused(
        SERVICES(
            SERVICE("a", "\"10.0.0.1\"", "tcp", "ports = [1]; unit = \"datagram\";") ",\n"     //
            SERVICE("b", "\"10.0.0.2\"", "udp", "ports = [1]; unit = \"connection\";") ",\n"   //
            SERVICE("c", "\"10.0.0.3\"", "udp", "ports = [1]; refuse = \"rst\";") ",\n"        //
            SERVICE("d", "\"10.0.0.4\"", "sctp", "ports = [0, 65536];") ",\n"                  //
            SERVICE("e", "\"10.0.0.0/24\"", "tcp", "ports = (\"0\", \"9-8\", \"80-\");") ",\n" //
            SERVICE("e", "\"10.0.0.6\"", "tcp", "ports = [1]; tenant = \"acme\";")),
        "front.conf:2: services[0].unit: \"datagram\" is not available for tcp (connection or "
        "exchange)\n"
        "front.conf:3: services[1].unit: \"connection\" is not available for udp (datagram)\n"
        "front.conf:4: services[2].refuse: \"rst\" is not available for udp (drop)\n"
        "front.conf:5: services[3].protocol: \"sctp\" is not one of its words (tcp or udp)\n"
        "front.conf:5: services[3].ports[0]: 0 is out of range (1..65535)\n"
        "front.conf:5: services[3].ports[1]: 65536 is out of range (1..65535)\n"
        "front.conf:6: services[4].addresses[0]: \"10.0.0.0/24\" is no address (one IPv4 or IPv6 "
        "address each)\n"
        "front.conf:6: services[4].ports[0]: \"0\" is no port (1..65535 or FIRST-LAST)\n"
        "front.conf:6: services[4].ports[1]: \"9-8\" is no port (1..65535 or FIRST-LAST)\n"
        "front.conf:6: services[4].ports[2]: \"80-\" is no port (1..65535 or FIRST-LAST)\n"
        "front.conf:7: services[5].name: \"e\" is taken by services[4].name in line 6\n"
        "front.conf:7: services[5].tenant: no tenant is named \"acme\"\n");
}

/* Sections may stand in any order: a service may name a tenant that follows. */
static void the_order_of_sections_is_free(void **state)
{
    struct settings *s = config_text_accepted(
        "services = (" SERVICE(
            "web", "\"10.9.0.10\"", "tcp",
            "ports = [80]; tenant = \"acme\";") "); tenants = ({ name = \"acme\"; }, { name = "
                                                "\"default\"; });" CONFIG_GATES,
        "");

    (void)state;
    assert_int_equal(s->policy.services[0].tenant, 0);
    assert_int_equal(s->policy.default_tenant, 1);
    config_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_E03_rates_above_32_bits_are_honoured_or_refused),
        cmocka_unit_test(case_E07_a_burst_below_a_packet_is_a_warning),
        cmocka_unit_test(rates_say_their_range),
        cmocka_unit_test(bursts_fit_the_period),
        cmocka_unit_test(windows_and_classes),
        cmocka_unit_test(case_H05_every_prefix_length),
        cmocka_unit_test(case_H05_nested_prefixes_in_both_orders),
        cmocka_unit_test(case_H05_the_same_network_once_masked),
        cmocka_unit_test(case_H05_host_bits_are_masked_with_a_warning),
        cmocka_unit_test(case_H05_what_is_no_prefix),
        cmocka_unit_test(services_cannot_overlap),
        cmocka_unit_test(services_say_what_is_available),
        cmocka_unit_test(the_order_of_sections_is_free),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
