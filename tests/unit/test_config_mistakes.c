/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/unit/config_text.h"

#define REST CONFIG_GATES CONFIG_TENANTS

static void case_H02_two_tenants_of_one_name(void **state)
{
    (void)state;
    config_text_refused(CONFIG_GATES "tenants = (\n{ name = \"default\"; },\n{ name = \"acme\"; },"
                                     "\n{ name = \"acme\"; });",
                        "front.conf:4: tenants[2].name: \"acme\" is taken by tenants[1].name in "
                        "line 3\n");
}

static void case_H02_the_same_key_twice(void **state)
{
    (void)state;
    config_text_refused(FLOWS("max = 2048;\nfin = \"1s\";\nmax = 4096;"),
                        "front.conf:4: flows.max: given twice, first in line 2\n");
    /* Other mistakes are still found, and the repeated group is not mixed into the first. */
    config_text_refused(REST "\nflows = { max = 1; };\nflows = { max = 2; };",
                        "front.conf:2: flows.max: 1 is out of range (1024..16777216)\n"
                        "front.conf:3: flows: given twice, first in line 2\n");
    /* The first one counts from where it stands: a third one points there, too. */
    config_text_refused(FLOWS("max = 2048;\nmax = 2048;\nmax = 2048"),
                        "front.conf:3: flows.max: given twice, first in line 2\n"
                        "front.conf:4: flows.max: given twice, first in line 2\n");
}

static void case_H02_unknown_keys(void **state)
{
    (void)state;
    config_text_refused(CONFIG_GATES
                        "tenants = ({ name = \"default\";\nquota = { brust = 20; }; });",
                        "front.conf:2: tenants[0].quota.brust: unknown key, perhaps attempts_burst "
                        "was meant (attempts, attempts_burst, packets, packets_burst, bits, "
                        "bits_burst, erlangs)\n");
    config_text_refused(FLOWS("tpc_idle = \"1s\";"),
                        "front.conf:2: flows.tpc_idle: unknown key, perhaps tcp_idle was meant "
                        "(max, embryonic, tcp_idle, udp_idle, fin, linger, owed_max)\n");
    config_text_refused(REST "\nlimits = { };", "front.conf:2: limits: unknown key (eal, control, "
                                                "gates, flows, tenants, services)\n");
}

static void case_H02_wrong_types(void **state)
{
    (void)state;
    config_text_refused(
        CONFIG_GATES "tenants = ({ name = \"default\"; window = \"5\";\n"
                     "quota = { attempts = 20; attempts_burst = \"20\";\npackets = 20/s; }; });",
        "front.conf:1: tenants[0].window: \"5\" is a string, no integer (0..16777216 slots or "
        "\"unlimited\")\n"
        "front.conf:2: tenants[0].quota.attempts: 20 is no string in quotes (0, unlimited, or "
        "1..1000000000 per s, min, h or day)\n"
        "front.conf:2: tenants[0].quota.attempts_burst: \"20\" is a string, no integer "
        "(0..9199999999)\n"
        "front.conf:3: tenants[0].quota.packets: 20/s is no string in quotes (0, unlimited, or "
        "1..1000000000 per s, min, h or day)\n");
    config_text_refused(
        "gates = { };\ntenants = \"default\";\nservices = [];\nflows = (); eal = 1;",
        "front.conf:1: gates: a group is no list of groups, ( { ... }, { ... } ) "
        "(1..16 elements)\n"
        "front.conf:2: tenants: \"default\" is a string, no list of groups, "
        "( { ... }, { ... } ) (1..65536 elements)\n"
        "front.conf:3: services: an array is no list of groups, "
        "( { ... }, { ... } ) (0..4096 elements)\n"
        "front.conf:4: flows: is no group { ... }\n"
        "front.conf:4: eal: is no group { ... }\n");
}

static void case_H02_missing_semicolon(void **state)
{
    struct settings *s;

    (void)state;
    config_text_refused(FLOWS("max = 2048\nfin = \"1s\"\n\nlinger = \"1s\""),
                        "front.conf:2: flows.max: no semicolon behind it; the next setting starts "
                        "in line 3\n"
                        "front.conf:3: flows.fin: no semicolon behind it; the next setting starts "
                        "in line 5\n");
    config_text_refused("flows = { max = 2048; }\n" REST,
                        "front.conf:1: flows: no semicolon behind it; the next setting starts in "
                        "line 2\n");
    s = config_text_accepted(FLOWS("max = 2048"), ""); /* nothing follows it */
    assert_int_equal(s->dataplane.flows_max, 2048);
    config_free(s);
}

static void case_H02_empty_and_odd_names(void **state)
{
    (void)state;
    config_text_refused(CONFIG_GATES "tenants = ({ name = \"default\"; },\n{ name = \"\"; },\n"
                                     "{ name = \"a b\"; },\n{ name = \"x\\n\"; },\n{ },\n"
                                     "{ name = 5; });",
                        "front.conf:2: tenants[1].name: \"\" is no name (1..63 of A-Z a-z 0-9 . _ "
                        "-)\n"
                        "front.conf:3: tenants[2].name: \"a b\" is no name (1..63 of A-Z a-z 0-9 . "
                        "_ -)\n"
                        "front.conf:4: tenants[3].name: \"x?\" is no name (1..63 of A-Z a-z 0-9 . "
                        "_ -)\n"
                        "front.conf:5: tenants[4].name: is missing\n"
                        "front.conf:6: tenants[5].name: 5 is no string in quotes (1..63 of A-Z a-z "
                        "0-9 . _ -)\n");
}

static void case_H02_forgotten_commas_and_quotes(void **state)
{
    (void)state;
    /* libconfig would join the two to port 8090. */
    config_text_refused(REST "\nservices = ({ name = \"w\"; addresses = [\"10.9.0.1\"];\n"
                             "protocol = \"tcp\"; ports = [\"80\"\n\"90\"]; });",
                        "front.conf:4: services[0].ports[0]: two strings without a comma between "
                        "them\n");
    config_text_refused(REST "\nservices = ({ name = \"w; addresses = [\"10.9.0.1\"]; });",
                        "front.conf:2: services[0]: syntax error: the name of a setting or '}' "
                        "expected, not '1'\n");
}

static void what_is_missing(void **state)
{
    (void)state;
    config_text_refused("", "front.conf:1: gates: is missing\nfront.conf:1: tenants: is missing\n");
    config_text_refused(
        CONFIG_GATES "\n\ntenants = ({ name = \"acme\"; });",
        "front.conf:3: tenants: no tenant is named \"default\" (it is mandatory)\n");
    config_text_refused("gates = ();" CONFIG_TENANTS,
                        "front.conf:1: gates: is empty (1..16 elements)\n");
    config_text_refused("gates = ({\n});" CONFIG_TENANTS,
                        "front.conf:1: gates[0].name: is missing\n"
                        "front.conf:1: gates[0].outside: is missing\n"
                        "front.conf:1: gates[0].inside: is missing\n");
}

static void includes_are_refused(void **state)
{
    (void)state;
    config_text_refused("\n@include \".\"\n", "front.conf:2: @include is not supported: keep the "
                                              "configuration in one file\n");
    config_text_refused("a = (\n@include \".\"\n);",
                        "front.conf:2: @include is not supported: keep "
                        "the configuration in one file\n");
}

static void syntax_errors_have_a_line(void **state)
{
    (void)state;
    config_text_refused("\ngates = ({ };",
                        "front.conf:2: gates: syntax error: ',' or ')' expected, "
                        "not ';'\n");
    config_text_refused("flows = {\nmax = 5;\n", "front.conf:3: flows: syntax error: '}' expected, "
                                                 "not end of file ('{' is in line 1)\n");
    config_text_refused("flows {", "front.conf:1: flows: syntax error: '=' expected, not '{'\n");
    config_text_refused("\n/* open\n\n", "front.conf:2: syntax error: this comment has no end\n");
    config_text_refused("eal = { extra = \"open;\n};",
                        "front.conf:1: eal.extra: syntax error: this string has no closing quote "
                        "in its line\n");
    config_text_refused("eal = { workers = [[1]]; };",
                        "front.conf:1: eal.workers[0]: syntax error: a plain value in an array "
                        "[...] expected, not '['\n");
    config_text_refused(REST "\n};",
                        "front.conf:2: tenants: syntax error: '}' closes nothing: its opening "
                        "bracket is missing\n");
}

static void a_lost_bracket_is_named(void **state)
{
    (void)state;
    config_text_refused(CONFIG_GATES "\ntenants = (\n{ name = \"default\"; }\n;\nservices = ();",
                        "front.conf:4: tenants: syntax error: ',' or ')' expected, not ';' ('(' is "
                        "in line 2)\n");
    config_text_refused(CONFIG_GATES "\ntenants = ({\nname = \"default\";\n}, {\nname = \"a\";\n);",
                        "front.conf:6: tenants[1]: syntax error: the name of a setting or '}' "
                        "expected, not ')' ('{' is in line 4)\n");
    config_text_refused("eal = { workers = [1,\n2; };",
                        "front.conf:2: eal.workers: syntax error: ',' or ']' expected, not ';' "
                        "('[' is in line 1)\n");
    config_text_refused(CONFIG_GATES "\ntenants =\n{ name = \"default\"; } );",
                        "front.conf:3: tenants: syntax error: ')' closes nothing: its opening "
                        "bracket is missing\n");
    config_text_refused("}",
                        "front.conf:1: syntax error: '}' closes nothing: its opening bracket is "
                        "missing\n");
}

static void arrays_of_numbers_and_text(void **state)
{
    (void)state;
    config_text_refused(
        REST "\nservices = ({ name = \"w\"; addresses = [\"10.9.0.1\"]; protocol = "
             "\"tcp\";\nports = [80,\n\"8000-8099\", 90]; });\n"
             "eal = { workers = [\"0\", 1, 2000]; };",
        "front.conf:4: services[0].ports[1]: text in an array [...] of numbers: put "
        "all of it in quotes, or make it a list (...)\n"
        "front.conf:5: eal.workers[1]: a number in an array [...] of text: put all "
        "of it in quotes, or make it a list (...)\n"
        "front.conf:5: eal.workers[0]: \"0\" is a string, no integer (0..1023)\n"
        "front.conf:5: eal.workers[2]: 2000 is out of range (0..1023)\n");
    config_free(config_text_accepted(
        REST "services = ({ name = \"w\"; addresses = [\"10.9.0.1\"]; protocol = \"tcp\"; ports = "
             "(80, \"8000-8099\"); });",
        ""));
}

static void slips_that_libconfig_versions_disagree_on(void **state)
{
    (void)state;
    config_text_refused(REST "\neal = { workers = [1,\n]; };",
                        "front.conf:3: eal.workers: nothing follows the last comma\n");
    config_text_refused(
        REST "\neal = { extra = \"a\\vb\\x00\"; };",
        "front.conf:2: eal.extra: unknown escape in a string (\\\\ \\\" \\n \\r \\t "
        "\\f \\xHH, not \\x00)\n"
        "front.conf:2: eal.extra: unknown escape in a string (\\\\ \\\" \\n \\r \\t "
        "\\f \\xHH, not \\x00)\n");
}

static void what_libconfig_allows_is_read(void **state)
{
    struct settings *s =
        config_text_accepted("# no newline at the end\n/* two\nlines */ eal : { extra = \"--a "
                             "\\x22b\\\\\\\"\" // joined\n"
                             "  \" c\"; memory = \"huge\", },\n" CONFIG_GATES CONFIG_TENANTS "#",
                             "");

    (void)state;
    assert_string_equal(s->dataplane.eal.extra, "--a \"b\\\" c");
    assert_int_equal(s->dataplane.eal.memory, MEMORY_HUGE);
    config_free(s);
}

static void depth_and_width_are_bounded(void **state)
{
    static char text[8192];
    size_t used = 0;

    (void)state;
    config_text_refused("a = ((((((((((((((((1))))))))))))))));" REST,
                        "front.conf:1: a: unknown key (eal, control, gates, flows, tenants, "
                        "services)\n");
    config_text_refused("a = (((((((((((((((((1)))))))))))))))));" REST,
                        "front.conf:1: nested too deeply (at most 16 levels)\n");
    for (int i = 0; i < 129; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "k%d = 1;\n", i);
    config_text_refused(text, "front.conf:129: too many settings in one group (at most 128)\n");
}

static void ranges_of_the_machine(void **state)
{
    struct settings *settings;

    (void)state;
    config_text_refused(REST "\neal = { memory = \"big\"; memory_mib = 63;\nmain = 1024; "
                             "workers = []; };\ncontrol = { socket = \"run/s\";\n"
                             "period = \"9ms\"; };\nflows = { max = 1023; fin = \"0ms\";\n"
                             "linger = \"1500us\"; tcp_idle = 60; };",
                        "front.conf:2: eal.memory: \"big\" is not one of its words (auto, huge or "
                        "none)\n"
                        "front.conf:2: eal.memory_mib: 63 is out of range (64..1048576)\n"
                        "front.conf:3: eal.main: 1024 is out of range (0..1023)\n"
                        "front.conf:3: eal.workers: is empty (1..64 elements)\n"
                        "front.conf:4: control.socket: the path must start with /\n"
                        "front.conf:5: control.period: \"9ms\" is out of range (10ms..1s)\n"
                        "front.conf:6: flows.max: 1023 is out of range (1024..16777216)\n"
                        "front.conf:6: flows.fin: \"0ms\" is out of range (1ms..24h in whole ms)\n"
                        "front.conf:7: flows.linger: \"1500us\" is too fine (1ms..24h in whole "
                        "ms)\n"
                        "front.conf:7: flows.tcp_idle: 60 is no string in quotes (1ms..24h in "
                        "whole ms)\n");
    settings = config_text_accepted(
        REST "\neal = { main = 1; workers = [1, 2, 2]; };",
        "front.conf:2: warning: eal: main and worker 0 share CPU 1, give each "
        "its own\n"
        "front.conf:2: warning: eal: workers 1 and 2 share CPU 2, give each its "
        "own\n");
    assert_int_equal(settings->dataplane.eal.n_workers, 3);
    assert_int_equal(settings->dataplane.eal.worker_cpus[1], 2);
    config_free(settings);
}

static void numbers_without_a_unit(void **state)
{
    (void)state;
    config_text_refused(FLOWS("linger = \"1\";\ntcp_idle = \"1.5\"; fin = \"1x\";"),
                        "front.conf:2: flows.linger: \"1\" has no unit, such as ms or s (1ms..24h "
                        "in whole ms)\n"
                        "front.conf:3: flows.tcp_idle: \"1.5\" has no unit, such as ms or s "
                        "(1ms..24h in whole ms)\n"
                        "front.conf:3: flows.fin: \"1x\" is no duration (1ms..24h in whole ms)\n");
    config_text_refused(
        CONFIG_GATES "tenants = ({ name = \"default\"; quota = { attempts = \"20\";\n"
                     "bits = \"200\"; bits_burst = \"65536\"; }; });",
        "front.conf:1: tenants[0].quota.attempts: \"20\" has no period, such as /s (0, unlimited, "
        "or 1..1000000000 per s, min, h or day)\n"
        "front.conf:2: tenants[0].quota.bits: \"200\" has no unit, such as Mbit/s (0, unlimited, "
        "or 8bit/s..400Gbit/s in bit, kbit, Mbit or Gbit/s)\n"
        "front.conf:2: tenants[0].quota.bits_burst: \"65536\" has no unit, such as KiB "
        "(1B..9200000000B in B, KiB, MiB or GiB)\n");
}

static void worker_cpus_are_bounded(void **state)
{
    char text[1024] = REST "\neal = { workers = [1";
    size_t used = strlen(text);

    (void)state;
    config_text_refused(REST "\neal = { workers = [1023, 1024, -1]; };",
                        "front.conf:2: eal.workers[1]: 1024 is out of range (0..1023)\n"
                        "front.conf:2: eal.workers[2]: -1 is out of range (0..1023)\n");
    for (int i = 2; i <= 65; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ",%d", i);
    snprintf(text + used, sizeof(text) - used, "]; };");
    config_text_refused(text, "front.conf:2: eal.workers: has 65 elements (1..64 elements)\n");
}

static void devices_stand_in_one_place(void **state)
{
    (void)state;
    config_text_refused(CONFIG_TENANTS "gates = (\n"
                                       "{ name = \"a\"; outside = [\"v0,iface=x\", \"\"]; inside = "
                                       "[\"v1\"]; },\n"
                                       "{ name = \"a\"; outside = [\"v2\"]; inside = "
                                       "[\"v0,iface=y\"]; control = \"unlimited\"; });",
                        "front.conf:2: gates[0].outside[1]: \"\" is too short (1..512 bytes, no "
                        "control characters)\n"
                        "front.conf:3: gates[1].control: control traffic needs a rate above 0 and "
                        "a limit (1..1000000000 per s, min, h or day)\n"
                        "front.conf:3: gates[1]: \"a\" is taken by gates[0] in line 2\n"
                        "front.conf:3: gates[1].inside: device v0 is in gates[0].outside "
                        "already\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_H02_two_tenants_of_one_name),
        cmocka_unit_test(case_H02_the_same_key_twice),
        cmocka_unit_test(case_H02_unknown_keys),
        cmocka_unit_test(case_H02_wrong_types),
        cmocka_unit_test(case_H02_missing_semicolon),
        cmocka_unit_test(case_H02_empty_and_odd_names),
        cmocka_unit_test(case_H02_forgotten_commas_and_quotes),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(includes_are_refused),
        cmocka_unit_test(syntax_errors_have_a_line),
        cmocka_unit_test(a_lost_bracket_is_named),
        cmocka_unit_test(arrays_of_numbers_and_text),
        cmocka_unit_test(slips_that_libconfig_versions_disagree_on),
        cmocka_unit_test(what_libconfig_allows_is_read),
        cmocka_unit_test(depth_and_width_are_bounded),
        cmocka_unit_test(ranges_of_the_machine),
        cmocka_unit_test(numbers_without_a_unit),
        cmocka_unit_test(worker_cpus_are_bounded),
        cmocka_unit_test(devices_stand_in_one_place),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
