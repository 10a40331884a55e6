/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon leaves at its interfaces, on purpose or because it was killed, and what its
 * successor makes of that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bpf/kernel.h"
#include "tests/bpf/wires.h"

static bool is_promiscuous(unsigned wire)
{
    struct xdp_interface interface = {.index = 0};

    snprintf(interface.name, sizeof(interface.name), "%s", wires_names[wire]);
    return xdp_is_promiscuous(&interface);
}

static void set_promiscuous(unsigned wire)
{
    struct xdp_interface interface = {.index = 0};

    snprintf(interface.name, sizeof(interface.name), "%s", wires_names[wire]);
    xdp_set_promiscuous(&interface, true);
}

static bool is_pinned(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/control", wires_pins());
    return access(path, F_OK) == 0;
}

static void open_house(void)
{
    assert_int_equal(house_open(&tested), 0);
}

static void assert_said(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not said: \"%s\" in:\n%s", part, text ? text : "");
}

/* Five attempts while it was there, of which three pass; then four that nobody but the stand-in
 * sees. Its successor tells them apart. */
static void taken_over(enum xdp_mode mode, uint8_t attached)
{
    struct xdp_attached left;
    char expected[256], *said;
    pid_t pid;

    tested.settings.dataplane.gates[0].xdp.mode = mode;
    pid = house_live(&tested, 5);
    house_kill(pid);
    left = wires_attached(0);
    assert_string_equal(left.name, GATE_PROGRAM);
    assert_int_equal(left.mode, attached);
    wires_ask(0, 4);

    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(wires_attached(0).id, left.id); /* it stands in until the last moment */
    said = wires_said_by(open_house);
    snprintf(
        expected, sizeof(expected),
        "sluiced: out0: took over from its stand-in (program %u): while we were away it passed "
        "0 packets and dropped 4; attempts, over all interfaces: 0 admitted, 4 refused\n",
        left.id);
    assert_said(said, expected);
    assert_said(said, "sluiced: in0: took over");
    free(said);
    assert_int_not_equal(wires_attached(0).id, left.id);
    assert_string_equal(wires_attached(0).name, GATE_PROGRAM);
    house_serve(&tested);
    house_end(&tested);
    assert_int_equal(wires_attached(0).id, 0);
    assert_false(is_pinned());
}

static void case_L03_a_killed_daemons_program_is_recognised_and_replaced(void **state)
{
    (void)state;
    taken_over(XDP_AUTO, XDP_ATTACHED_DRV);
}

static void case_L03_in_generic_mode_too(void **state)
{
    (void)state;
    taken_over(XDP_GENERIC, XDP_ATTACHED_SKB);
}

/* The former stand-in there still takes what comes out: the first interface need not wait. */
static void what_is_left_at_the_other_interface_is_redirected_to(void **state)
{
    (void)state;
    tested.settings.dataplane.gates[0].xdp.redirect = true;
    house_kill(house_live(&tested, 0));
    assert_int_equal(house_start(&tested), 0);
    for (unsigned w = 0; w < WIRES; w++)
        assert_int_equal(tested.xdp->maps.arrays.ports[w].standby, XDP_STANDBY_REDIRECT);
    assert_int_equal(house_open(&tested), 0);
    house_end(&tested);
}

/* Killed before the driver's program was replaced. */
static void case_X01_the_drivers_own_leftover_is_ours(void **state)
{
    struct bpf_object *driver;

    (void)state;
    assert_int_equal(house_start(&tested), 0);
    driver = bpf_object__open_file(
        tested.xdp->care.arguments(tested.xdp->care.context, wires_devices[0]) + 10, NULL);
    assert_int_equal(bpf_object__load(driver), 0);
    assert_int_equal(bpf_xdp_attach((int)if_nametoindex("out0"),
                                    bpf_program__fd(bpf_object__next_program(driver, NULL)), 0,
                                    NULL),
                     0);
    bpf_object__close(driver);
    house_stop(&tested);
    assert_string_equal(wires_attached(0).name, SOCKET_PROGRAM);

    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    assert_string_equal(wires_attached(0).name, GATE_PROGRAM);
    house_end(&tested);
}

/* Without XDP the driver needs the place as well. */
static void case_L03_a_gate_without_xdp_clears_it_away(void **state)
{
    (void)state;
    house_kill(house_live(&tested, 0));
    tested.settings.dataplane.gates[0].xdp.use = XDP_OFF;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    assert_int_equal(wires_attached(0).id, 0);
    house_end(&tested);
}

/* A gate of devices without AF_XDP sockets, after a daemon that had them. */
static void start_on_packet_sockets(void)
{
    static const char *const devices[WIRES] = {"net_af_packet0,iface=out0",
                                               "net_af_packet1,iface=in0"};
    struct gate_settings *gate = &tested.settings.dataplane.gates[0];

    gate->outside.devices[0] = devices[0];
    gate->inside.devices[0] = devices[1];
    gate->xdp.use = XDP_OFF;
    assert_int_equal(house_start(&tested), 0);
    for (unsigned w = 0; w < WIRES; w++)
        assert_int_equal(tested.xdp->care.before(tested.xdp->care.context, devices[w], tested.why,
                                                 sizeof(tested.why)),
                         0);
}

static void case_L03_other_devices_are_rid_of_it_too(void **state)
{
    char expected[64], *said;

    (void)state;
    tested.settings.dataplane.gates[0].xdp.redirect = true;
    set_promiscuous(1);
    house_kill(house_live(&tested, 0));
    set_promiscuous(0); /* the killed one's */
    snprintf(expected, sizeof(expected), "out0: took over from its stand-in (program %u)",
             wires_attached(0).id);
    said = wires_said_by(start_on_packet_sockets);
    assert_said(said, expected);
    free(said);
    for (unsigned w = 0; w < WIRES; w++) {
        assert_int_equal(wires_attached(w).id, 0);
        assert_int_equal(is_promiscuous(w), w == 1);
    }
    house_serve(&tested);
    house_stop(&tested);
    assert_int_equal(wires_attached(0).id, 0);
}

/* Whatever is attached beside other devices is none of our business, unless it is ours. */
static void case_X01_other_devices_leave_a_foreign_program_alone(void **state)
{
    uint32_t id = wires_attach_foreign(0, XDP_FLAGS_DRV_MODE);

    (void)state;
    set_promiscuous(0);
    start_on_packet_sockets();
    assert_int_equal(wires_attached(0).id, id);
    assert_true(is_promiscuous(0));
    house_stop(&tested);
    assert_int_equal(wires_attached(0).id, id);
}

static void case_L03_a_stand_in_stays_if_it_was_told_to(void **state)
{
    struct xdp_attached standin;
    char *said;

    (void)state;
    tested.settings.dataplane.gates[0].xdp.stays = true;
    tested.settings.dataplane.gates[0].xdp.redirect = true;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
    house_end(&tested);
    standin = wires_attached(0);
    assert_string_equal(standin.name, GATE_PROGRAM);
    assert_int_equal(standin.mode, XDP_ATTACHED_DRV);
    assert_true(is_pinned());
    assert_true(is_promiscuous(0)); /* it forwards what is addressed to others */
    wires_ask(0, 4);

    tested.settings.dataplane.gates[0].xdp.stays = false;
    assert_int_equal(house_start(&tested), 0);
    said = wires_said_by(open_house);
    assert_said(
        said,
        "passed 3 packets and dropped 1; attempts, over all interfaces: 3 admitted, 1 refused\n");
    free(said);
    house_serve(&tested);
    house_end(&tested);
    assert_int_equal(wires_attached(0).id, 0);
    assert_false(is_pinned());
    assert_false(is_promiscuous(0)); /* as the first daemon found it */
}

static void case_L03_promiscuity_is_given_back_as_it_was(void **state)
{
    (void)state;
    set_promiscuous(1);
    house_kill(house_live(&tested, 0));
    set_promiscuous(0); /* the killed one's */
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
    house_end(&tested);
    assert_false(is_promiscuous(0));
    assert_true(is_promiscuous(1));
}

/* A start that fails leaves what it found, nothing included: the workers were never there. */
static void a_start_that_fails_leaves_nothing_of_its_own(void **state)
{
    (void)state;
    tested.settings.dataplane.gates[0].xdp.stays = true;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_end(&tested);
    assert_int_equal(wires_attached(0).id, 0);
    assert_false(is_pinned());
}

static void leaves_what_it_found(enum xdp_mode mode, uint8_t attached, void (*set_up)(void))
{
    struct xdp_attached left[WIRES];

    tested.settings.dataplane.gates[0].xdp.mode = mode;
    house_kill(house_live(&tested, 0));
    set_promiscuous(1);
    for (unsigned w = 0; w < WIRES; w++)
        left[w] = wires_attached(w);
    assert_int_equal(house_start(&tested), 0);
    set_up();
    house_end(&tested);
    for (unsigned w = 0; w < WIRES; w++) {
        assert_int_equal(wires_attached(w).id, left[w].id);
        assert_int_equal(wires_attached(w).mode, attached);
        assert_int_equal(is_promiscuous(w), w == 1);
    }
    wires_ask(0, 1); /* with its maps */
}

static void open_all(void)
{
    assert_int_equal(house_open(&tested), 0);
}

/* Its devices are closed all the same, with the driver's way to do that. */
static void open_none(void) {}

static void open_without_the_object(void)
{
    tested.xdp->interfaces[0].on = false; /* the driver attaches nothing of ours */
    tested.xdp->interfaces[1].on = false;
    assert_int_equal(house_open(&tested), 0);
}

static void a_start_that_fails_puts_back_what_it_had_taken_away(void **state)
{
    (void)state;
    leaves_what_it_found(XDP_AUTO, XDP_ATTACHED_DRV, open_all);
}

static void a_start_that_fails_puts_it_back_in_its_mode(void **state)
{
    (void)state;
    leaves_what_it_found(XDP_GENERIC, XDP_ATTACHED_SKB, open_all);
}

static void a_start_that_fails_puts_back_what_the_driver_took_away(void **state)
{
    (void)state;
    leaves_what_it_found(XDP_AUTO, XDP_ATTACHED_DRV, open_none);
}

static void a_start_that_goes_without_and_fails_puts_it_back_too(void **state)
{
    (void)state;
    leaves_what_it_found(XDP_AUTO, XDP_ATTACHED_DRV, open_without_the_object);
}

static void case_X01_a_live_daemon_keeps_its_interfaces(void **state)
{
    pid_t pid = house_live(&tested, 0);
    uint32_t id = wires_attached(0).id;
    char expected[128];

    (void)state;
    assert_int_equal(house_start(&tested), -EBUSY);
    snprintf(expected, sizeof(expected),
             "interface out0 is served by another daemon already, process %d", (int)pid);
    assert_string_equal(tested.why, expected);
    assert_int_equal(wires_attached(0).id, id);
    house_kill(pid);
    assert_int_equal(house_start(&tested), 0);
    house_stop(&tested);
    assert_int_equal(wires_attached(0).id, id);
}

/* Also one that does not look who asks. */
static void case_X01_a_live_daemon_keeps_them_however_often_others_try(void **state)
{
    pid_t pid = house_live(&tested, 0);
    uint32_t id = wires_attached(0).id;

    (void)state;
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(house_start(&tested), -EBUSY);
    assert_string_equal(tested.why, "interface out0 is served by another daemon already");
    assert_int_equal(wires_attached(0).id, id);
    house_kill(pid);
}

static void case_X01_once_a_period_a_daemon_lets_those_go_who_tried(void **state)
{
    struct xdp_interface claim = {.index = if_nametoindex("out0"), .name = "out0"};
    char why[128], named[128];

    (void)state;
    snprintf(named, sizeof(named), "interface out0 is served by another daemon already, process %d",
             (int)getpid());
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(xdp_lock_interface(&claim, why, sizeof(why)), -EBUSY);
    assert_string_not_equal(why, named);
    xdp_tend(tested.xdp);
    assert_int_equal(xdp_lock_interface(&claim, why, sizeof(why)), -EBUSY);
    assert_string_equal(why, named);
    house_end(&tested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRES_TEST(case_L03_a_killed_daemons_program_is_recognised_and_replaced),
        WIRES_TEST(case_L03_in_generic_mode_too),
        WIRES_TEST(what_is_left_at_the_other_interface_is_redirected_to),
        WIRES_TEST(case_X01_the_drivers_own_leftover_is_ours),
        WIRES_TEST(case_L03_a_gate_without_xdp_clears_it_away),
        WIRES_TEST(case_L03_other_devices_are_rid_of_it_too),
        WIRES_TEST(case_X01_other_devices_leave_a_foreign_program_alone),
        WIRES_TEST(case_L03_a_stand_in_stays_if_it_was_told_to),
        WIRES_TEST(case_L03_promiscuity_is_given_back_as_it_was),
        WIRES_TEST(a_start_that_fails_leaves_nothing_of_its_own),
        WIRES_TEST(a_start_that_fails_puts_back_what_it_had_taken_away),
        WIRES_TEST(a_start_that_fails_puts_it_back_in_its_mode),
        WIRES_TEST(a_start_that_fails_puts_back_what_the_driver_took_away),
        WIRES_TEST(a_start_that_goes_without_and_fails_puts_it_back_too),
        WIRES_TEST(case_X01_a_live_daemon_keeps_its_interfaces),
        WIRES_TEST(case_X01_a_live_daemon_keeps_them_however_often_others_try),
        WIRES_TEST(case_X01_once_a_period_a_daemon_lets_those_go_who_tried),
    };

    kernel_skip_if_missing();
    wires_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
