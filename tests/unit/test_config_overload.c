/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration says about work beyond the capacity of a service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/config_text.h"

#define MS 1000000ull
#define S  (1000 * MS)

#define TENANTS "tenants = ({ name = \"default\"; }, { name = \"acme\"; }, { name = \"beta\"; });"
#define WEB                                                                                        \
    CONFIG_GATES TENANTS "services = ({ name = \"web\"; addresses = [\"10.9.0.10\"]; "             \
                         "protocol = \"tcp\"; ports = [80];\n"
#define DNS                                                                                        \
    CONFIG_GATES TENANTS "services = ({ name = \"dns\"; addresses = [\"10.9.0.53\"]; "             \
                         "protocol = \"udp\"; ports = [53];\n"
#define END " });"

static void a_service_that_says_nothing_is_unlimited(void **state)
{
    struct settings *s = config_text_accepted(WEB END, "");
    const struct policy_service *web = &s->policy.services[0];

    (void)state;
    assert_int_equal(web->window, POLICY_WINDOW_MAX);
    assert_int_equal(web->connections, POLICY_WINDOW_MAX);
    assert_true(web->capacity.unlimited);
    assert_int_equal(web->deadline_ns, 0);
    assert_int_equal(web->unit, UNIT_CONNECTION);
    assert_int_equal(web->turn, TURN_RST);
    assert_true(web->silence_ns == 50 * MS);
    assert_int_equal(web->wait.places, 0);
    assert_true(web->wait.age_ns == 100 * MS);
    assert_int_equal(web->wait.order, ORDER_FIFO);
    for (int c = 0; c < CLASS_MAX; c++)
        assert_int_equal(web->reserve[c].slots + web->reserve[c].places, 0);
    assert_int_equal(web->shed.ceiling_ppm, 0);
    assert_int_equal(web->shed.reserve.amount, 0);
    assert_false(web->shed.reserve.unlimited);
    assert_int_equal(web->breaker.failures, 0);
    assert_true(web->breaker.response_ns == S);
    assert_int_equal(web->breaker.mode, POLICY_BREAKER_AUTO);
    assert_int_equal(web->probes.n, 0);
    assert_int_equal(web->slo.objective_ppm, 0);
    assert_int_equal(web->n_shares, 0);
    assert_int_equal(web->admit_ppm, POLICY_PPM);
    config_free(s);
}

static void everything_is_read(void **state)
{
    struct settings *s = config_text_accepted(
        WEB
        "unit = \"exchange\"; window = 64; connections = 500; capacity = \"170/s\";\n"
        "deadline = \"1.5s\"; turn = \"http\"; silence = \"80ms\";\n"
        "wait = { places = 16; age = \"250ms\"; order = \"adaptive\"; };\n"
        "reserve = { normal = { slots = 3; }; critical = { slots = 4; places = 2; }; };\n"
        "shed = { ceiling = 0.95; reserve = \"20/s\"; };\n"
        "breaker = { failures = 5; open = \"500ms\"; open_max = \"10s\"; response = \"2s\"; };\n"
        "probes = { prefixes = [\"10.0.0.0/24\", \"fd00::1\"]; attempts = \"30/s\"; };\n"
        "slo = { objective = 99.95; latency = \"300ms\"; };\n"
        "shares = ({ tenant = \"beta\"; guaranteed = 8; ceiling = 32; weight = 2; },\n"
        "          { tenant = \"acme\"; });" END,
        "");
    const struct policy_service *web = &s->policy.services[0];

    (void)state;
    assert_int_equal(web->unit, UNIT_EXCHANGE);
    assert_int_equal(web->connections, 500);
    assert_int_equal(web->capacity.amount, 170);
    assert_true(web->deadline_ns == 1500 * MS);
    assert_int_equal(web->turn, TURN_HTTP);
    assert_true(web->silence_ns == 80 * MS);
    assert_int_equal(web->wait.places, 16);
    assert_true(web->wait.age_ns == 250 * MS);
    assert_int_equal(web->wait.order, ORDER_ADAPTIVE);
    assert_int_equal(web->reserve[CLASS_BULK].slots, 0);
    assert_int_equal(web->reserve[CLASS_NORMAL].slots, 3);
    assert_int_equal(web->reserve[CLASS_NORMAL].places, 0);
    assert_int_equal(web->reserve[CLASS_CRITICAL].slots, 4);
    assert_int_equal(web->reserve[CLASS_CRITICAL].places, 2);
    assert_int_equal(web->shed.ceiling_ppm, 950000);
    assert_int_equal(web->shed.reserve.amount, 20);
    assert_int_equal(web->breaker.failures, 5);
    assert_true(web->breaker.open_ns == 500 * MS);
    assert_true(web->breaker.open_max_ns == 10 * S);
    assert_true(web->breaker.response_ns == 2 * S);
    assert_int_equal(web->probes.n, 2);
    assert_int_equal(web->probes.prefixes[0].bits, 120);
    assert_int_equal(web->probes.prefixes[1].bits, 128);
    assert_int_equal(web->probes.attempts.amount, 30);
    assert_int_equal(web->probes.attempts.burst, 3);
    assert_int_equal(web->slo.objective_ppm, 999500);
    assert_true(web->slo.latency_ns == 300 * MS);
    assert_int_equal(web->n_shares, 2);
    assert_int_equal(web->shares[0].tenant, 2);
    assert_int_equal(web->shares[0].guaranteed, 8);
    assert_int_equal(web->shares[0].ceiling, 32);
    assert_int_equal(web->shares[0].weight, 2);
    assert_int_equal(web->shares[1].tenant, 1);
    assert_int_equal(web->shares[1].guaranteed, 0);
    assert_int_equal(web->shares[1].ceiling, POLICY_WINDOW_MAX);
    assert_int_equal(web->shares[1].weight, 1);
    config_free(s);
}

static void defaults_follow_what_is_said(void **state)
{
    struct settings *s =
        config_text_accepted(WEB "window = 64; deadline = \"2s\"; breaker = { open = \"60s\"; };\n"
                                 "probes = { prefixes = [\"10.0.0.0/8\"]; };" END,
                             "");
    const struct policy_service *web = &s->policy.services[0];

    (void)state;
    assert_int_equal(web->connections, 512);
    assert_int_equal(web->shed.ceiling_ppm, 980000);
    assert_int_equal(web->breaker.failures, 3);
    assert_true(web->breaker.open_max_ns == 60 * S); /* never below `open` */
    assert_true(web->breaker.response_ns == 2 * S);
    assert_int_equal(web->probes.attempts.amount, 10);
    config_free(s);
    s = config_text_accepted(WEB "capacity = \"5/min\"; shed = { ceiling = 0; };" END, "");
    assert_int_equal(s->policy.services[0].shed.ceiling_ppm, 0);
    assert_int_equal(s->policy.services[0].capacity.period_s, 60);
    config_free(s);
    s = config_text_accepted(WEB "window = 2097152; deadline = \"none\";" END, "");
    assert_int_equal(s->policy.services[0].connections, POLICY_WINDOW_MAX);
    assert_true(s->policy.services[0].breaker.response_ns == S);
    config_free(s);
    s = config_text_accepted(WEB "window = 0; shed = { reserve = 0; };" END, "");
    assert_int_equal(s->policy.services[0].connections, 0);
    assert_int_equal(s->policy.services[0].shed.ceiling_ppm, 980000);
    config_free(s);
}

static void decimals_are_exact(void **state)
{
    (void)state;
    config_text_refused(
        WEB "shed = { ceiling = 1.000001; };\n"
            "slo = { objective = 100; latency = 5; };" END,
        "front.conf:2: services[0].shed.ceiling: \"1.000001\" is out of range (0..1)\n"
        "front.conf:3: services[0].slo.objective: \"100\" is out of range (0..99.9999 percent)\n"
        "front.conf:3: services[0].slo.latency: 5 is no string in quotes (1ms..10min)\n");
    config_text_refused(
        WEB "shed = { ceiling = 0.9800001; };" END,
        "front.conf:2: services[0].shed.ceiling: \"0.9800001\" is too fine (0..1)\n");
    config_text_refused(
        WEB "shed = { ceiling = 98e-2; };" END,
        "front.conf:2: services[0].shed.ceiling: \"98e-2\" is no plain decimal (0..1)\n");
    config_text_refused(
        WEB "shed = { ceiling = -0.5; };" END,
        "front.conf:2: services[0].shed.ceiling: \"-0.5\" is no plain decimal (0..1)\n");
    config_text_refused(
        WEB "shed = { ceiling = \"0.9\"; };" END,
        "front.conf:2: services[0].shed.ceiling: \"0.9\" is a string, no number (0..1)\n");
    config_text_refused(CONFIG_GATES
                        "tenants = ({ name = \"default\"; quota = { erlangs = 65537; }; });",
                        "front.conf:1: tenants[0].quota.erlangs: \"65537\" is out of range "
                        "(0..65536 or \"unlimited\")\n");
}

static uint32_t erlangs_of(const char *value)
{
    char text[256];
    struct settings *s;
    uint32_t milli_erlangs;

    snprintf(text, sizeof(text),
             CONFIG_GATES "tenants = ({ name = \"default\"; quota = { erlangs = %s; }; });", value);
    s = config_text_accepted(text, "");
    milli_erlangs = s->policy.tenants[0].milli_erlangs;
    config_free(s);
    return milli_erlangs;
}

static void erlangs_count_thousandths(void **state)
{
    (void)state;
    assert_int_equal(erlangs_of("2.5"), 2500);
    assert_int_equal(erlangs_of("0"), 0);
    assert_int_equal(erlangs_of("0.001"), 1);
    assert_true(erlangs_of("65536") == 65536000);
    assert_true(erlangs_of("\"unlimited\"") == POLICY_ERLANGS_UNLIMITED);
}

static void ranges_are_named(void **state)
{
    (void)state;
    config_text_refused(
        WEB "connections = 16777217;\ncapacity = \"0\";\ndeadline = \"11min\";\n"
            "wait = { places = 65537; age = \"11s\"; order = \"lifo\"; };\n"
            "turn = \"drop\"; silence = \"0ms\";\n"
            "breaker = { failures = 0; open = \"99ms\"; open_max = \"2h\"; response = \"61s\"; };\n"
            "probes = { prefixes = []; }; shed = { reserve = \"unlimited\"; };" END,
        "front.conf:2: services[0].connections: 16777217 is out of range (0..16777216 connections "
        "or \"unlimited\")\n"
        "front.conf:3: services[0].capacity: a capacity of 0 is none (1/day and more, or "
        "\"unlimited\": not known)\n"
        "front.conf:4: services[0].deadline: \"11min\" is out of range (1ms..10min or \"none\")\n"
        "front.conf:5: services[0].wait.places: 65537 is out of range (0..65536)\n"
        "front.conf:5: services[0].wait.age: \"11s\" is out of range (1ms..10s)\n"
        "front.conf:5: services[0].wait.order: \"lifo\" is not one of its words (fifo, adaptive or "
        "deadline)\n"
        "front.conf:6: services[0].turn: \"drop\" is not one of its words (rst, http or pass)\n"
        "front.conf:6: services[0].silence: \"0ms\" is out of range (1ms..1min)\n"
        "front.conf:6: warning: services[0].turn: has no effect, for the unit is not exchange\n"
        "front.conf:6: warning: services[0].silence: has no effect, for the unit is not exchange\n"
        "front.conf:7: services[0].breaker.failures: 0 is out of range (1..1000)\n"
        "front.conf:7: services[0].breaker.open: \"99ms\" is out of range (100ms..1min)\n"
        "front.conf:7: services[0].breaker.open_max: \"2h\" is out of range (100ms..1h)\n"
        "front.conf:7: services[0].breaker.response: \"61s\" is out of range (1ms..1min)\n"
        "front.conf:8: services[0].probes.prefixes: is empty (1..16 elements)\n"
        "front.conf:8: services[0].shed.reserve: an unlimited reserve leaves nothing (0, or "
        "1..1000000000 per s, min, h or day)\n");
    config_text_refused(WEB "breaker = { open = \"2s\"; open_max = \"1s\"; };" END,
                        "front.conf:2: services[0].breaker.open_max: is shorter than open\n");
    config_text_refused(WEB "slo = { }; probes = { };" END,
                        "front.conf:2: services[0].slo.objective: is missing\n"
                        "front.conf:2: services[0].probes.prefixes: is missing\n");
}

/* A reserve that takes everything blocks the other classes for good. */
static void a_reserve_leaves_something(void **state)
{
    (void)state;
    config_text_refused(WEB "window = 5;\nreserve = { normal = { slots = 2; }; critical = { slots "
                            "= 3; }; };" END,
                        "front.conf:3: services[0].reserve: keeps back 5 slots of a window of 5, "
                        "some must be left\n");
    config_text_refused(
        WEB "window = 5; wait = { places = 2; };\nreserve = { critical = { places = 3; }; };" END,
        "front.conf:3: services[0].reserve: keeps back 3 places of 2 waiting places\n");
    config_free(config_text_accepted(
        WEB "window = 5; wait = { places = 2; };\n"
            "reserve = { normal = { slots = 1; }; critical = { slots = 3; places = 2; }; };" END,
        ""));
}

static void shares_fit_the_window_and_name_each_tenant_once(void **state)
{
    (void)state;
    config_text_refused(
        WEB "window = 8; shares = (\n{ tenant = \"acme\"; guaranteed = 5; },\n"
            "{ tenant = \"acme\"; weight = 0; },\n{ tenant = \"nobody\"; },\n"
            "{ tenant = \"beta\"; guaranteed = 4; ceiling = 3; });" END,
        "front.conf:2: services[0].shares: guarantee 9 slots of a window of 8\n"
        "front.conf:4: services[0].shares[1].weight: 0 is out of range (1..1000)\n"
        "front.conf:4: services[0].shares[1].tenant: \"acme\" has a share already, [0]\n"
        "front.conf:5: services[0].shares[2].tenant: no tenant is named \"nobody\"\n"
        "front.conf:6: services[0].shares[3]: the ceiling is below what is guaranteed\n");
    config_text_refused(WEB "shares = ({ weight = 2; }, 5);" END,
                        "front.conf:2: services[0].shares[0].tenant: is missing\n"
                        "front.conf:2: services[0].shares[1]: is no group { ... }\n");
    config_free(config_text_accepted(WEB "window = 8; shares = ({ tenant = \"acme\"; guaranteed = "
                                         "5; }, { tenant = \"beta\"; guaranteed = 3; });" END,
                                     ""));
}

static void what_has_no_effect_is_a_warning(void **state)
{
    (void)state;
    config_free(config_text_accepted(
        WEB "deadline = \"1s\";\nwait = { places = 5;\nage = \"1001ms\"; };\n"
            "capacity = \"120/min\";\nshed = { reserve = \"2/s\"; };" END,
        "front.conf:3: warning: services[0].wait.places: has no effect, for the window is "
        "unlimited\n"
        "front.conf:4: warning: services[0].wait.age: who waits so long is past the deadline\n"
        "front.conf:6: warning: services[0].shed.reserve: leaves nothing of the capacity\n"));
    config_free(config_text_accepted(
        WEB "window = 9; wait = { places = 5; order = \"deadline\"; };" END,
        "front.conf:2: warning: services[0].wait.order: has no effect, for there is no "
        "deadline\n"));
    config_free(config_text_accepted(
        DNS "connections = 5;" END,
        "front.conf:2: warning: services[0].connections: has no effect, for udp has no "
        "connections\n"));
}

/* `n` services of 65536 places each, then one of `rest`. */
static void with_places(char *text, size_t size, unsigned n, unsigned rest)
{
    size_t used = (size_t)snprintf(text, size, CONFIG_GATES CONFIG_TENANTS "\nservices = (");

    for (unsigned i = 0; i <= n; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{ name = \"s%u\"; addresses = [\"10.9.0.%u\"]; protocol = "
                                 "\"tcp\"; ports = [80]; window = 5; wait = { places = %u; }; }",
                                 i ? ", " : "", i, i + 1, i < n ? 65536 : rest);
    snprintf(text + used, size - used, ");");
}

static void assert_waiting_max(unsigned n, unsigned rest, uint32_t wanted)
{
    static char text[8192];
    struct settings *s;

    with_places(text, sizeof(text), n, rest);
    s = config_text_accepted(text, "");
    assert_int_equal(s->dataplane.waiting_max, wanted);
    config_free(s);
}

static void room_is_made_for_twice_the_places(void **state)
{
    static char text[8192];

    (void)state;
    assert_waiting_max(0, 512, 1024);
    assert_waiting_max(0, 513, 1026);
    assert_waiting_max(1, 4, 131080);
    assert_waiting_max(16, 0, 1048576);
    with_places(text, sizeof(text), 16, 1);
    config_text_refused(text, "front.conf:2: services: 1048577 waiting places in all, at most "
                              "1048576 are possible\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_that_says_nothing_is_unlimited),
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(defaults_follow_what_is_said),
        cmocka_unit_test(decimals_are_exact),
        cmocka_unit_test(erlangs_count_thousandths),
        cmocka_unit_test(ranges_are_named),
        cmocka_unit_test(a_reserve_leaves_something),
        cmocka_unit_test(shares_fit_the_window_and_name_each_tenant_once),
        cmocka_unit_test(what_has_no_effect_is_a_warning),
        cmocka_unit_test(room_is_made_for_twice_the_places),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
