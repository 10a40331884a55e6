/* SPDX-License-Identifier: BSD-3-Clause */
/* Why there is no program where one is wanted: what this kernel, its mounts or our rights lack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/kernel.h"
#include "tests/bpf/wires.h"

/* The daemon goes on; the driver is asked for nothing of ours. */
static void assert_off(const char *why)
{
    tested.settings.dataplane.gates[0].xdp.use = XDP_OPTIONAL;
    assert_int_equal(house_start(&tested), 0);
    for (unsigned w = 0; w < WIRES; w++) {
        struct xdp_view view = house_view(w, 1);

        assert_string_equal(tested.xdp->care.arguments(tested.xdp->care.context, wires_devices[w]),
                            "");
        assert_int_equal(view.state, XDP_STATE_OFF);
        assert_int_equal(view.program, 0);
        wires_assert_says(view.why, why);
    }
    assert_int_equal(house_open(&tested), 0);
    wires_assert_nobody();
    assert_null(tested.settings.dataplane.heartbeats);
    house_serve(&tested);
    xdp_tend(tested.xdp);
    xdp_publish(tested.xdp, tested.policy);
    house_end(&tested);
}

/* As under `ip netns exec`: whatever is mounted there is out of sight. */
static void hide_bpffs(void)
{
    while (umount("/sys/fs/bpf") == 0)
        ;
}

static void case_X04_without_a_bpf_file_system(void **state)
{
    (void)state;
    hide_bpffs();
    tested.settings.control.pins = "/sys/fs/bpf/nowhere/v1";
    assert_int_equal(house_start(&tested), -ENOTSUP);
    assert_string_equal(
        tested.why,
        "gate front, interface out0: xdp is \"required\", but control.pins is "
        "/sys/fs/bpf/nowhere/v1, and /sys/fs/bpf is on no BPF file system: mount one (mount -t bpf "
        "bpf /sys/fs/bpf); `ip netns exec` hides it, nsenter --net=/run/netns/NAME does not");
    assert_off("mount -t bpf bpf /sys/fs/bpf");
}

static void case_X04_with_pins_elsewhere_than_on_the_bpf_file_system(void **state)
{
    (void)state;
    tested.settings.control.pins = "/tmp/nowhere/sluice/v1";
    assert_int_equal(mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL), 0);
    assert_int_equal(house_start(&tested), -ENOTSUP);
    wires_assert_says(tested.why,
                      "/tmp/nowhere/sluice/v1, and /tmp is on no BPF file system: name a "
                      "folder below /sys/fs/bpf, which is one");
    assert_int_equal(access("/tmp/nowhere", F_OK), -1);
    tested.settings.control.pins = "/nowhere/v1/";
    assert_int_equal(house_start(&tested), -ENOTSUP);
    wires_assert_says(tested.why, "/nowhere/v1/, and / is on no");
    assert_int_equal(umount("/sys/fs/bpf"), 0);
}

static void drop_capability(unsigned bit)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) != 0)
        abort();
    data[bit / 32].effective &= ~(1u << bit % 32);
    data[bit / 32].permitted &= ~(1u << bit % 32);
    if (syscall(SYS_capset, &header, data) != 0)
        abort();
}

/* In a process that may be spoiled; its exit code. */
static int in_child(int (*run)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(run());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int load_unprivileged(void)
{
    drop_capability(CAP_BPF);
    drop_capability(CAP_SYS_ADMIN);
    return house_start(&tested) != 0 && wires_says(tested.why, "XDP programs without CAP_BPF") &&
                   wires_attached(0).id == 0
               ? 0
               : 1;
}

static void case_X04_without_the_capability(void **state)
{
    (void)state;
    assert_int_equal(in_child(load_unprivileged), 0);
}

/* Kernels from 5.11 on count maps by memory cgroup: there it loads, the older ones say why not. */
static int load_in_little_memory(void)
{
    const struct rlimit little = {65536, 65536};

    drop_capability(CAP_SYS_RESOURCE);
    drop_capability(CAP_IPC_LOCK);
    if (setrlimit(RLIMIT_MEMLOCK, &little) != 0)
        return 2;
    if (house_start(&tested) != 0)
        return wires_says(tested.why, "locked memory is limited to 64 KiB") ? 0 : 1;
    if (house_open(&tested) != 0 || strcmp(wires_attached(0).name, GATE_PROGRAM) != 0)
        return 3;
    house_end(&tested);
    return 0;
}

static void case_X04_with_little_locked_memory(void **state)
{
    (void)state;
    assert_int_equal(in_child(load_in_little_memory), 0);
    wires_assert_nobody();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRES_TEST(case_X04_without_a_bpf_file_system),
        WIRES_TEST(case_X04_with_pins_elsewhere_than_on_the_bpf_file_system),
        WIRES_TEST(case_X04_without_the_capability),
        WIRES_TEST(case_X04_with_little_locked_memory),
    };

    kernel_skip_if_missing();
    wires_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
