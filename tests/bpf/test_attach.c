/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs at real interfaces: whose they are, what they are told, and in which mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bpf/kernel.h"
#include "tests/bpf/wires.h"

/* -- helpers -- */

static void assert_ours(unsigned wire, uint8_t mode)
{
    struct xdp_attached attached = wires_attached(wire);

    assert_string_equal(attached.name, GATE_PROGRAM);
    assert_int_equal(attached.mode, mode);
}

static uint32_t map_id(int fd)
{
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);

    assert_true(fd >= 0);
    assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &bytes), 0);
    return info.id;
}

static bool is_pinned(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", wires_pins(), name);
    return access(path, F_OK) == 0;
}

/* -- life -- */

/* The guard takes the driver's place, and its sockets. Nothing stays. */
static void case_L03_programs_come_and_go_with_the_devices(void **state)
{
    int sockets;

    (void)state;
    assert_int_equal(house_start(&tested), 0);
    wires_assert_nobody();
    assert_int_equal(house_open(&tested), 0);
    for (unsigned w = 0; w < WIRES; w++) {
        assert_ours(w, XDP_ATTACHED_DRV);
        sockets = xdp_map_of(wires_attached(w).id, "xsks_map");
        assert_int_equal(map_id(sockets),
                         map_id(bpf_object__find_map_fd_by_name(tested.driver[w], "xsks_map")));
        close(sockets);
    }
    assert_true(is_pinned("control") && is_pinned("service_counters"));
    house_end(&tested);
    wires_assert_nobody();
    assert_false(is_pinned("control"));
    assert_int_equal(access(wires_pins(), F_OK), -1);
}

/* What the programs are told, as they find it in their maps. */
static void programs_learn_policy_workers_and_advice(void **state)
{
    struct xdp_arrays *arrays;
    uint32_t peer, port = 0;
    int devices;

    (void)state;
    tested.settings.dataplane.gates[0].xdp.redirect = true;
    assert_int_equal(house_start(&tested), 0);
    arrays = &tested.xdp->maps.arrays;
    assert_ptr_equal(tested.settings.dataplane.heartbeats, arrays->heartbeats);
    assert_int_equal(arrays->control->ready, 1);
    assert_int_equal(arrays->control->bank, 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
    xdp_tend(tested.xdp);

    assert_int_equal(arrays->control->seed.words[1], 12);
    assert_int_equal(arrays->ports[0].direction, DIRECTION_IN);
    assert_int_equal(arrays->ports[1].direction, DIRECTION_OUT);
    assert_int_equal(arrays->ports[0].worker[0], 5);
    assert_int_equal(arrays->ports[1].worker[0], 6);
    assert_int_equal(arrays->ports[0].standby, XDP_STANDBY_REDIRECT);
    assert_int_equal(arrays->ports[0].peer, 1);
    assert_int_equal(arrays->ports[0].standby_after_ns, 200 * CORE_MS);
    assert_int_equal(arrays->ports[0].control.rate, 1000);
    assert_int_equal(arrays->advice[1].shed[2], 23);
    assert_int_equal(arrays->advice[1].cap.rate, 11 * 60);
    devices = xdp_map_of(wires_attached(0).id, "devices");
    assert_int_equal(bpf_map_lookup_elem(devices, &port, &peer), 0);
    assert_int_equal(peer, if_nametoindex("out0"));
    close(devices);

    xdp_publish(tested.xdp, tested.policy);
    assert_int_equal(arrays->control->bank, 1);
    xdp_publish(tested.xdp, tested.policy);
    assert_int_equal(arrays->control->bank, 0);
    house_end(&tested);
}

static void assert_standby(unsigned wire, enum xdp_standby standby)
{
    assert_int_equal(tested.xdp->maps.arrays.ports[wire].standby, standby);
}

/* An interface without a program would lose the answers to what comes out of it. */
static void nobody_redirects_to_an_interface_without_a_program(void **state)
{
    const struct device_care *care;

    (void)state;
    tested.settings.dataplane.gates[0].xdp.redirect = true;
    assert_int_equal(house_start(&tested), 0);
    assert_standby(0, XDP_STANDBY_PASS);
    assert_standby(1, XDP_STANDBY_PASS);
    assert_int_equal(house_open_one(&tested, 0), 0);
    assert_standby(0, XDP_STANDBY_PASS);
    assert_standby(1, XDP_STANDBY_REDIRECT);
    assert_int_equal(house_open_one(&tested, 1), 0);
    assert_standby(0, XDP_STANDBY_REDIRECT);
    care = &tested.xdp->care;
    care->closed(care->context, wires_devices[1]);
    assert_standby(0, XDP_STANDBY_PASS);
    assert_standby(1, XDP_STANDBY_REDIRECT);
    house_end(&tested);
}

static void the_view_tells_guard_from_standby(void **state)
{
    struct heartbeat *beats;
    struct xdp_view view;

    (void)state;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
    beats = tested.settings.dataplane.heartbeats;
    assert_int_equal(house_view(0, CORE_S).state, XDP_STATE_STANDBY);
    assert_false(house_view(0, CORE_S).alive);
    beats[5].now_ns = CORE_S;
    view = house_view(0, CORE_S + 200 * CORE_MS);
    assert_int_equal(view.state, XDP_STATE_GUARD);
    assert_int_equal(view.heartbeat_age_ns, 200 * CORE_MS);
    assert_string_equal(view.mode, "native");
    assert_int_equal(view.program, wires_attached(0).id);
    assert_int_equal(house_view(0, CORE_S + 200 * CORE_MS + 1).state, XDP_STATE_STANDBY);
    assert_int_equal(house_view(1, CORE_S).state, XDP_STATE_STANDBY); /* another worker's */

    bpf_xdp_detach((int)if_nametoindex("out0"), 0, NULL);
    view = house_view(0, CORE_S);
    assert_int_equal(view.state, XDP_STATE_OFF);
    wires_assert_says(view.why, "taken program");
    house_end(&tested);
}

/* -- modes -- */

static void generic_mode_is_taken_where_it_is_asked_for(void **state)
{
    (void)state;
    tested.settings.dataplane.gates[0].xdp.mode = XDP_GENERIC;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    assert_ours(0, XDP_ATTACHED_SKB);
    assert_string_equal(house_view(0, 1).mode, "generic");
    house_end(&tested);
    wires_assert_nobody();
}

/* An interface whose driver has no XDP: told and served, or refused. */
static void native_mode_is_never_less(void **state)
{
    (void)state;
    wires_remove();
    if (!wires_add("ifb")) {
        print_message("SKIPPED: this kernel has no interface without XDP of its own (ifb)\n");
        assert_true(wires_add("veth"));
        skip();
    }
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    assert_ours(0, XDP_ATTACHED_SKB);
    assert_string_equal(house_view(0, 1).mode, "generic");
    house_end(&tested);
    wires_assert_nobody();

    tested.settings.dataplane.gates[0].xdp.mode = XDP_NATIVE;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), -ENOTSUP);
    wires_assert_says(tested.why, "interface out0");
    wires_assert_says(tested.why, "mode is \"native\"");
    house_end(&tested);
    wires_assert_nobody();
}

/* -- somebody else's -- */

static void foreign(uint32_t flags, const char *mode)
{
    uint32_t id = wires_attach_foreign(1, flags);
    char text[64];

    assert_int_equal(house_start(&tested), -EEXIST);
    assert_null(tested.xdp);
    snprintf(text, sizeof(text), "in0 has an XDP program that is not ours: id %u", id);
    wires_assert_says(tested.why, text);
    wires_assert_says(tested.why, "name \"foreign\"");
    wires_assert_says(tested.why, mode);
    assert_int_equal(wires_attached(1).id, id);
    assert_int_equal(wires_attached(0).id, 0);
    assert_false(is_pinned("control"));

    /* Optional is about what cannot be had, not about what would be taken from others. */
    tested.settings.dataplane.gates[0].xdp.use = XDP_OPTIONAL;
    assert_int_equal(house_start(&tested), -EEXIST);
    assert_int_equal(wires_attached(1).id, id);
}

static void case_X01_a_foreign_native_program_is_named_and_left_alone(void **state)
{
    (void)state;
    foreign(XDP_FLAGS_DRV_MODE, "native mode");
}

static void case_X01_a_foreign_generic_program_is_named_and_left_alone(void **state)
{
    (void)state;
    foreign(XDP_FLAGS_SKB_MODE, "generic mode");
}

/* Who came while we looked elsewhere stays, too. */
static void case_X01_a_program_that_took_the_place_of_ours_stays(void **state)
{
    uint32_t id;

    (void)state;
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    bpf_xdp_detach((int)if_nametoindex("in0"), XDP_FLAGS_DRV_MODE, NULL);
    id = wires_attach_foreign(1, XDP_FLAGS_SKB_MODE); /* where the driver does not reach */
    assert_int_equal(house_view(1, 1).state, XDP_STATE_OFF);
    house_end(&tested);
    assert_int_equal(wires_attached(1).id, id);
    assert_int_equal(wires_attached(0).id, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRES_TEST(case_L03_programs_come_and_go_with_the_devices),
        WIRES_TEST(programs_learn_policy_workers_and_advice),
        WIRES_TEST(nobody_redirects_to_an_interface_without_a_program),
        WIRES_TEST(the_view_tells_guard_from_standby),
        WIRES_TEST(generic_mode_is_taken_where_it_is_asked_for),
        WIRES_TEST(native_mode_is_never_less),
        WIRES_TEST(case_X01_a_foreign_native_program_is_named_and_left_alone),
        WIRES_TEST(case_X01_a_foreign_generic_program_is_named_and_left_alone),
        WIRES_TEST(case_X01_a_program_that_took_the_place_of_ours_stays),
    };

    kernel_skip_if_missing();
    wires_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
