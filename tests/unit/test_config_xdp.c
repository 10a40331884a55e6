/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gate says about XDP, a service about the stand-in, and the control thread's files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/maps.h"
#include "tests/unit/config_text.h"

#define NET(name, interface) "\"net_" name ",iface=" interface "\""
#define PAIR                                                                                       \
    "outside = [" NET("af_xdp0", "g0") "];\ninside = [" NET("af_xdp1", "g1,busy_budget=0") "];\n"
/* `devices` take lines 2 and 3, `keys` begin on line 4. */
#define GATE(devices, keys) "gates = ({ name = \"g\";\n" devices keys " });" CONFIG_TENANTS
#define SERVICE(keys)                                                                              \
    CONFIG_GATES CONFIG_TENANTS "\nservices = ({ name = \"w\"; addresses = [\"10.9.0.1\"]; "       \
                                "protocol = \"tcp\"; ports = [80];"                                \
                                "\n" keys " });"

static void off_unless_asked_for(void **state)
{
    struct settings *s = config_text_accepted(SERVICE(""), "");
    const struct gate_xdp *xdp = &s->dataplane.gates[0].xdp;

    (void)state;
    assert_int_equal(xdp->use, XDP_OFF);
    assert_int_equal(xdp->mode, XDP_AUTO);
    assert_false(xdp->redirect);
    assert_int_equal(xdp->standby_after_ns, 200000000);
    assert_false(xdp->stays);
    assert_false(s->policy.services[0].closed_in_standby);
    assert_string_equal(s->control.pins, "/sys/fs/bpf/sluice/" GATE_VERSION);
    assert_string_equal(s->control.deny, "/run/sluice/sluice.sock.deny");
    config_free(s);
}

static void every_word_has_its_meaning(void **state)
{
    struct settings *s = config_text_accepted(
        GATE(PAIR, "xdp = \"required\"; mode = \"generic\"; standby = \"redirect\";"
                   "standby_after = \"20ms\"; after_exit = \"standby\";"),
        "");
    const struct gate_xdp *xdp = &s->dataplane.gates[0].xdp;

    (void)state;
    assert_int_equal(xdp->use, XDP_REQUIRED);
    assert_int_equal(xdp->mode, XDP_GENERIC);
    assert_true(xdp->redirect);
    assert_int_equal(xdp->standby_after_ns, 20000000);
    assert_true(xdp->stays);
    config_free(s);

    s = config_text_accepted(GATE(PAIR, "xdp = \"optional\"; mode = \"native\"; standby = \"pass\";"
                                        "standby_after = \"10s\"; after_exit = \"detach\";"),
                             "");
    xdp = &s->dataplane.gates[0].xdp;
    assert_int_equal(xdp->use, XDP_OPTIONAL);
    assert_int_equal(xdp->mode, XDP_NATIVE);
    assert_false(xdp->redirect);
    assert_int_equal(xdp->standby_after_ns, 10000000000);
    assert_false(xdp->stays);
    config_free(s);

    config_free(config_text_accepted(GATE(PAIR, "xdp = \"required\"; mode = \"auto\";"), ""));
    s = config_text_accepted(SERVICE("standby = \"closed\";"), "");
    assert_true(s->policy.services[0].closed_in_standby);
    config_free(s);
    s = config_text_accepted(SERVICE("standby = \"open\";"), "");
    assert_false(s->policy.services[0].closed_in_standby);
    config_free(s);
}

static void other_words_and_times_are_refused(void **state)
{
    (void)state;
    config_text_refused(
        GATE(PAIR,
             "xdp = \"on\";\nmode = \"skb\";\nstandby = \"drop\";\nstandby_after = \"19ms\";\n"
             "after_exit = 1;"),
        "front.conf:4: gates[0].xdp: \"on\" is not one of its words (off, optional or required)\n"
        "front.conf:5: gates[0].mode: \"skb\" is not one of its words (auto, native or generic)\n"
        "front.conf:6: gates[0].standby: \"drop\" is not one of its words (pass or redirect)\n"
        "front.conf:7: gates[0].standby_after: \"19ms\" is out of range (20ms..10s)\n"
        "front.conf:8: gates[0].after_exit: 1 is no string in quotes (detach or standby)\n");
    config_text_refused(GATE(PAIR, "xdp = \"required\";\nstandby_after = \"10001ms\";"),
                        "front.conf:5: gates[0].standby_after: \"10001ms\" is out of range "
                        "(20ms..10s)\n");
    config_text_refused(SERVICE("standby = \"shut\";"),
                        "front.conf:3: services[0].standby: \"shut\" is not one of its words (open "
                        "or closed)\n");
}

static void what_has_no_effect_is_said(void **state)
{
    (void)state;
    config_free(config_text_accepted(
        GATE(PAIR, "mode = \"native\";\nstandby = \"redirect\";\nstandby_after = \"1s\";\n"
                   "after_exit = \"standby\";"),
        "front.conf:4: warning: gates[0].mode: has no effect without xdp\n"
        "front.conf:5: warning: gates[0].standby: has no effect without xdp\n"
        "front.conf:6: warning: gates[0].standby_after: has no effect without xdp\n"
        "front.conf:7: warning: gates[0].after_exit: has no effect without xdp\n"));
    config_free(config_text_accepted(
        GATE(PAIR, "xdp = \"off\"; mode = \"native\";\nstandby = \"redirect\";\n"
                   "standby_after = \"1s\";\nafter_exit = \"standby\";"),
        "front.conf:4: warning: gates[0].mode: has no effect while xdp is \"off\"\n"
        "front.conf:5: warning: gates[0].standby: has no effect while xdp is \"off\"\n"
        "front.conf:6: warning: gates[0].standby_after: has no effect while xdp is \"off\"\n"
        "front.conf:7: warning: gates[0].after_exit: has no effect while xdp is \"off\"\n"));
    config_free(
        config_text_accepted(GATE(PAIR, "xdp = \"off\"; mode = \"auto\"; standby = \"pass\"; "
                                        "standby_after = \"200ms\"; after_exit = \"detach\";"),
                             ""));
}

#define MIXED                                                                                      \
    "outside = [" NET("af_xdp0", "g0") ", " NET(                                                   \
        "af_packet1", "g1") "];\n"                                                                 \
                            "inside = [\"0000:03:00.0\", \"net_ring0\"];\n"

static void required_needs_af_xdp_everywhere(void **state)
{
    (void)state;
    config_text_refused(
        GATE(MIXED, "xdp = \"required\";"),
        "front.conf:2: gates[0].outside[1]: xdp is \"required\", but net_af_packet has no AF_XDP "
        "socket\n"
        "front.conf:3: gates[0].inside[0]: xdp is \"required\", but a PCI device that DPDK drives "
        "has no interface in the kernel\n"
        "front.conf:3: gates[0].inside[1]: xdp is \"required\", but only net_af_xdp has an AF_XDP "
        "socket\n");
}

static void optional_says_why_it_will_be_off(void **state)
{
    struct settings *s = config_text_accepted(
        GATE(MIXED, "xdp = \"optional\";"),
        "front.conf:2: warning: gates[0].outside[1]: xdp is \"optional\" and will be off here: "
        "net_af_packet has no AF_XDP socket\n");

    (void)state;
    assert_int_equal(s->dataplane.gates[0].xdp.use, XDP_OPTIONAL);
    config_free(s);
    config_free(config_text_accepted(
        GATE("outside = [\"3:00.1,x=y\"];\ninside = [" NET("af_xdp1", "g1") "];\n",
             "xdp = \"optional\";"),
        "front.conf:2: warning: gates[0].outside[0]: xdp is \"optional\" and will be off here: a "
        "PCI device that DPDK drives has no interface in the kernel\n"));
}

static void an_interface_has_one_program(void **state)
{
    (void)state;
    config_text_refused(
        GATE("outside = [" NET("af_xdp0", "g0,xdp_prog=/a.o") "];\ninside = [" NET("af_xdp1",
                                                                                   "g1") "];\n",
             "xdp = \"optional\";"),
        "front.conf:2: gates[0].outside[0]: xdp_prog= and xdp exclude each other: an interface has "
        "one program\n");
    /* The driver's own affair while there is no XDP of ours. */
    config_free(config_text_accepted(
        GATE("outside = [" NET("af_xdp0", "g0,xdp_prog=/a.o") "];\ninside = [\"net_ring0\"];\n",
             ""),
        ""));
}

#define TWO_GATES(first, second)                                                                   \
    "gates = ({ name = \"a\"; outside = [" NET(                                                    \
        "af_xdp0",                                                                                 \
        "g0") "];\n"                                                                               \
              "inside = [" NET("af_xdp1",                                                          \
                               "g1") "]; xdp = \"" first "\"; },\n"                                \
                                     "{ name = \"b\"; outside = [" NET(                            \
                                         "af_xdp2",                                                \
                                         "g2") "];\n"                                              \
                                               "inside = [" NET("af_xdp3",                         \
                                                                "g1") "]; xdp = \"" second         \
                                                                      "\"; });" CONFIG_TENANTS

static void an_interface_is_one_devices(void **state)
{
    static const char shared[] = "front.conf:4: gates[1].inside[0]: interface g1 is that of "
                                 "gates[0].inside[0] already, xdp takes it alone\n";

    (void)state;
    config_text_refused(TWO_GATES("required", "off"), shared);
    config_text_refused(TWO_GATES("off", "optional"), shared);
    config_free(config_text_accepted(TWO_GATES("off", "off"), ""));
    config_text_refused(
        GATE("outside = [" NET("af_xdp0", "g0") "];\ninside = [" NET("af_xdp1", "g0") "];\n",
             "xdp = \"required\";"),
        "front.conf:3: gates[0].inside[0]: interface g0 is that of gates[0].outside[0] already, "
        "xdp "
        "takes it alone\n");
}

static void redirect_needs_a_pair(void **state)
{
    (void)state;
    config_text_refused(GATE("outside = [" NET("af_xdp0", "g0") "];\ninside = [" NET(
                                 "af_xdp1", "g1") ", " NET("af_xdp2", "g2") "];\n",
                             "xdp = \"optional\"; standby = \"redirect\";"),
                        "front.conf:4: gates[0].standby: \"redirect\" needs one device outside and "
                        "one inside, here "
                        "are 1 and 2\n");
    config_free(config_text_accepted(GATE("outside = [" NET("af_xdp0", "g0") "];\ninside = [" NET(
                                              "af_xdp1", "g1") ", " NET("af_xdp2", "g2") "];\n",
                                          "xdp = \"optional\"; standby = \"pass\";"),
                                     ""));
}

static void files_of_the_control_thread(void **state)
{
    struct settings *s = config_text_accepted(
        "control = { socket = \"/run/a\"; pins = \"/sys/fs/bpf/x\"; };" CONFIG_GATES CONFIG_TENANTS,
        "");

    (void)state;
    assert_string_equal(s->control.pins, "/sys/fs/bpf/x");
    assert_string_equal(s->control.deny, "/run/a.deny");
    config_free(s);
    s = config_text_accepted("control = { deny = \"/var/lib/d\"; };" CONFIG_GATES CONFIG_TENANTS,
                             "");
    assert_string_equal(s->control.deny, "/var/lib/d");
    config_free(s);
    config_text_refused("control = { pins = \"bpf\";\ndeny = \"\"; };" CONFIG_GATES CONFIG_TENANTS,
                        "front.conf:1: control.pins: the path must start with /\n"
                        "front.conf:2: control.deny: \"\" is too short (1..255 bytes, no control "
                        "characters)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_unless_asked_for),
        cmocka_unit_test(every_word_has_its_meaning),
        cmocka_unit_test(other_words_and_times_are_refused),
        cmocka_unit_test(what_has_no_effect_is_said),
        cmocka_unit_test(required_needs_af_xdp_everywhere),
        cmocka_unit_test(optional_says_why_it_will_be_off),
        cmocka_unit_test(an_interface_has_one_program),
        cmocka_unit_test(an_interface_is_one_devices),
        cmocka_unit_test(redirect_needs_a_pair),
        cmocka_unit_test(files_of_the_control_thread),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
