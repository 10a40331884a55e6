/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file names and a machine does not have; the machine is a folder with a /sys and a /proc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config_text.h"

#define REST "\ntenants = ({ name = \"default\"; });"
#define GATE(outside, inside)                                                                      \
    "gates = ({ name = \"g\"; outside = [" outside "];\ninside = [" inside "]; });" REST
#define EAL(settings) "eal = { " settings " };\n" GATE("\"net_ring0\"", "\"net_ring1\"")

static const char *const files[][2] = {
    {"m/sys/devices/system/cpu/online", "0-2,8,10-11\n"},
    {"m/proc/net/dev", "Inter-|   Receive |  Transmit\n face |bytes |bytes\n"
                       "    lo: 12 0 0\n  eth0:3 0 0\nveth_of_15_byte: 0\n"},
    {"m/sys/bus/pci/devices/0000:00:01.0/class", "0x060000\n"},
    {"m/sys/bus/pci/devices/0000:03:00.0/class", "0x020000\n"},
    {"m/sys/bus/pci/devices/0000:03:00.1/class", "0x020700\n"},
};
#define FILES (sizeof(files) / sizeof(files[0]))

/* CPU 8 is outside of the cpuset. */
static bool may_run_on(uint32_t cpu)
{
    return cpu != 8;
}

/* veth counts its queues as rx and tx, a network card as combined; lo does not tell. */
static bool channels_of(const char *interface, struct config_channels *channels)
{
    *channels = (struct config_channels){0, 0};
    if (!strcmp(interface, "eth0"))
        channels->combined = 4;
    else if (!strcmp(interface, "veth_of_15_byte"))
        channels->rx = 2;
    return strcmp(interface, "lo") != 0;
}

static const struct config_host here = {"m", may_run_on, channels_of, true},
                                elsewhere = {"m", may_run_on, channels_of, false},
                                empty = {"nowhere", may_run_on, channels_of, true};

static void make(const char *path, const char *text)
{
    char folder[128];
    FILE *file;

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    if (config_text_setup(state))
        return -1;
    for (size_t i = 0; i < FILES; i++)
        make(files[i][0], files[i][1]);
    return 0;
}

/* Each folder goes with the last file in it. */
static int teardown(void **state)
{
    for (size_t i = 0; i < FILES; i++) {
        char path[128], *slash;

        snprintf(path, sizeof(path), "%s", files[i][0]);
        unlink(path);
        while ((slash = strrchr(path, '/')) != NULL) {
            *slash = '\0';
            if (rmdir(path))
                break;
        }
    }
    return config_text_teardown(state);
}

static void accepted(const struct config_host *host, const char *text, const char *report)
{
    config_text_on(host);
    config_free(config_text_accepted(text, report));
}

static void refused(const struct config_host *host, const char *text, const char *report)
{
    config_text_on(host);
    config_text_refused_as(-ENODEV, text, report);
}

static void cpus_must_be_online(void **state)
{
    (void)state;
    accepted(&here, EAL("main = 0; workers = [1, 2, 10,\n11];"), "");
    refused(&here, EAL("main = 3; workers = [1, 7,\n9, 12];"),
            "front.conf:1: eal.main: there is no CPU 3 here (online: 0-2,8,10-11)\n"
            "front.conf:1: eal.workers[1]: there is no CPU 7 here (online: 0-2,8,10-11)\n"
            "front.conf:2: eal.workers[2]: there is no CPU 9 here (online: 0-2,8,10-11)\n"
            "front.conf:2: eal.workers[3]: there is no CPU 12 here (online: 0-2,8,10-11)\n");
    refused(&here, EAL("main = 0; workers = [1, 8];"),
            "front.conf:1: eal.workers[1]: CPU 8 is not for this process (its cpuset; taskset -cp "
            "$$ shows it)\n");
}

static void the_default_cpu_is_checked_too(void **state)
{
    (void)state;
    make("m/sys/devices/system/cpu/online", "0\n");
    refused(&here, EAL("idle = \"sleep\";"),
            "front.conf:1: eal: there is no CPU 1 here, the default of eal.workers (online: 0)\n");
    refused(&here, GATE("\"net_ring0\"", "\"net_ring1\""),
            "front.conf:1: there is no CPU 1 here, the default of eal.workers (online: 0)\n");
    make("m/sys/devices/system/cpu/online", "1-3\n");
    refused(&here, EAL("workers = [2];"),
            "front.conf:1: eal: there is no CPU 0 here, the default of eal.main (online: 1-3)\n");
    refused(&here, GATE("\"net_ring0\"", "\"net_ring1\""),
            "front.conf:1: there is no CPU 0 here, the default of eal.main (online: 1-3)\n");
    make("m/sys/devices/system/cpu/online", files[0][1]);
}

static void interfaces_must_be_there(void **state)
{
    (void)state;
    accepted(&here, GATE("\"net_af_packet0,iface=eth0,qpairs=2\"", "\"net_af_xdp0,iface=lo\""), "");
    accepted(&here, GATE("\"net_af_packet,qpairs=1,iface=veth_of_15_byte\"", "\"net_tap0\""), "");
    refused(&here, GATE("\"net_ring0\", \"net_af_packet0,iface=eth\"", "\"net_af_xdp0,iface=g1\""),
            "front.conf:1: gates[0].outside[1]: there is no interface \"eth\" in this network "
            "namespace (there are: lo, eth0, veth_of_15_byte)\n"
            "front.conf:2: gates[0].inside[0]: there is no interface \"g1\" in this network "
            "namespace (there are: lo, eth0, veth_of_15_byte)\n");
    /* These make their interface. */
    accepted(&here, GATE("\"net_tap0,iface=t0\"", "\"net_virtio_user0,iface=t1\""), "");
}

static void many_interfaces_are_not_all_listed(void **state)
{
    char text[2048] = "Inter-|\n face |\n";
    size_t used = strlen(text);

    (void)state;
    for (int i = 10; i < 60; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "veth%d: 0\n", i);
    make("m/proc/net/dev", text);
    accepted(&here, GATE("\"net_af_packet0,iface=veth59\"", "\"net_ring0\""), "");
    refused(&here, GATE("\"net_af_packet0,iface=veth60\"", "\"net_ring0\""),
            "front.conf:1: gates[0].outside[0]: there is no interface \"veth60\" in this network "
            "namespace (there are: veth10, veth11, veth12, veth13, veth14, veth15, veth16, veth17, "
            "veth18, veth19, veth20, veth21, veth22, veth23, veth24, veth25, veth26, veth27, "
            "veth28, ...)\n");
    make("m/proc/net/dev", files[1][1]);
}

static void pci_devices_must_be_there(void **state)
{
    (void)state;
    accepted(&here, GATE("\"0000:03:00.0\"", "\"03:00.1,representor=0\""), "");
    refused(&here, GATE("\"0000:03:00.2\"", "\"3:1.0\""),
            "front.conf:1: gates[0].outside[0]: there is no PCI device 0000:03:00.2 here (network "
            "cards: 0000:03:00.0, 0000:03:00.1)\n"
            "front.conf:2: gates[0].inside[0]: there is no PCI device 0000:03:01.0 here (network "
            "cards: 0000:03:00.0, 0000:03:00.1)\n");
}

#define CARD "net_af_xdp0,iface=eth0"
#define VETH "busy_budget=0,iface=veth_of_15_byte"

static void case_S7_all_queues_must_be_taken(void **state)
{
    (void)state;
    accepted(&here, GATE("\"" CARD ",queue_count=4\"", "\"net_af_xdp1,iface=lo\""), "");
    accepted(
        &here,
        GATE("\"net_af_xdp0," VETH "\",\n\"net_af_xdp1," VETH ",start_queue=1\"", "\"net_ring0\""),
        "");
    /* The rest of the queues has somebody else: sockets of AF_PACKET see all of them. */
    accepted(&here, GATE("\"net_af_packet0,iface=eth0\"", "\"net_ring0\""), "");
    refused(&here, GATE("\"" CARD "\"", "\"net_af_xdp1," VETH "\""),
            "front.conf:1: gates[0].outside: interface eth0 has 4 receive queues, of which AF_XDP "
            "takes 1 here, and what arrives on others is lost: take them all (queue_count=4), or "
            "give it no more than that (ethtool -L eth0 combined 1)\n"
            "front.conf:2: gates[0].inside: interface veth_of_15_byte has 2 receive queues, of "
            "which AF_XDP takes 1 here, and what arrives on others is lost: take them all (a "
            "device for each, start_queue=0 to 1), or give it no more than that (ethtool -L "
            "veth_of_15_byte rx 1, and tx 1 at the peer of a veth)\n");
}

/* Told once for each interface; a smaller number of queues is no help where queue 0 is left. */
static void case_S7_queues_behind_a_gap_are_no_fewer(void **state)
{
    (void)state;
    refused(&here,
            GATE("\"net_af_xdp0,iface=eth0,start_queue=1\", \"net_af_xdp1," VETH
                 "\", \"net_af_xdp2,start_queue=2,queue_count=2,iface=eth0\"",
                 "\"net_af_xdp3," VETH ",start_queue=1\""),
            "front.conf:1: gates[0].outside: interface eth0 has 4 receive queues, of which AF_XDP "
            "takes 3 here, and what arrives on others is lost: take them all (queue_count=4)\n"
            "front.conf:1: gates[0].outside: interface veth_of_15_byte has 2 receive queues, of "
            "which AF_XDP takes 1 here, and what arrives on others is lost: take them all (a "
            "device for each, start_queue=0 to 1), or give it no more than that (ethtool -L "
            "veth_of_15_byte rx 1, and tx 1 at the peer of a veth)\n"
            "front.conf:2: gates[0].inside: interface veth_of_15_byte has 2 receive queues, of "
            "which AF_XDP takes 1 here, and what arrives on others is lost: take them all (a "
            "device for each, start_queue=0 to 1)\n");
}

/* A file may be checked on another machine; and mistakes of the file come first. */
static void elsewhere_it_is_a_warning(void **state)
{
    (void)state;
    accepted(&elsewhere,
             "eal = { main = 0; workers = [3]; };\n" GATE("\"0000:04:00.0\"",
                                                          "\"net_af_packet0,iface=g1\""),
             "front.conf:1: warning: eal.workers[0]: there is no CPU 3 here (online: "
             "0-2,8,10-11)\n"
             "front.conf:2: warning: gates[0].outside[0]: there is no PCI device 0000:04:00.0 here "
             "(network cards: 0000:03:00.0, 0000:03:00.1)\n"
             "front.conf:3: warning: gates[0].inside[0]: there is no interface \"g1\" in this "
             "network namespace (there are: lo, eth0, veth_of_15_byte)\n");
    config_text_on(&here);
    config_text_refused(EAL("main = 3; memory = \"big\";"),
                        "front.conf:1: eal.main: there is no CPU 3 here (online: 0-2,8,10-11)\n"
                        "front.conf:1: eal.memory: \"big\" is not one of its words (auto, huge or "
                        "none)\n");
}

/* Without /sys and /proc nothing is known, so nothing is said of CPUs and interfaces. */
static void a_machine_that_cannot_be_asked(void **state)
{
    (void)state;
    accepted(&empty,
             "eal = { workers = [99]; };\n" GATE("\"net_af_packet0,iface=g0\"", "\"net_ring0\""),
             "");
    refused(&empty, GATE("\"0000:03:00.0\"", "\"net_ring0\""),
            "front.conf:1: gates[0].outside[0]: there is no PCI device 0000:03:00.0 here (network "
            "cards: none)\n");
}

/* The one these tests run on has a CPU 0 and a loopback interface. */
static void this_host_is_asked(void **state)
{
    const struct config_host host = config_this_host(true);
    int error;

    (void)state;
    config_text_on(&host);
    assert_null(config_text_load("eal = { main = 0; workers = [1023]; };\n" GATE(
                                     "\"net_af_packet0,iface=lo\"", "\"net_ring0\""),
                                 &error));
    assert_int_equal(error, -ENODEV);
    assert_non_null(strstr(config_text_report(), "eal.workers[0]: there is no CPU 1023 here"));
    assert_null(strstr(config_text_report(), "gates"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_must_be_online),
        cmocka_unit_test(the_default_cpu_is_checked_too),
        cmocka_unit_test(interfaces_must_be_there),
        cmocka_unit_test(many_interfaces_are_not_all_listed),
        cmocka_unit_test(pci_devices_must_be_there),
        cmocka_unit_test(case_S7_all_queues_must_be_taken),
        cmocka_unit_test(case_S7_queues_behind_a_gap_are_no_fewer),
        cmocka_unit_test(elsewhere_it_is_a_warning),
        cmocka_unit_test(a_machine_that_cannot_be_asked),
        cmocka_unit_test(this_host_is_asked),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
