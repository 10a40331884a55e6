/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bpf/wires.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED       77
#define REQUIRE(what) ((what) ? (void)0 : give_up(#what, __LINE__))

const char *const wires_names[WIRES] = {"out0", "in0"};
const char *const wires_devices[WIRES] = {"net_af_xdp0,iface=out0", "net_af_xdp1,iface=in0"};

static char folder[] = "/tmp/sluice-bpf-XXXXXX", pins[64];

static _Noreturn void give_up(const char *what, int line)
{
    fprintf(stderr, "wires.c:%d: %s: %s\n", line, what, strerror(errno));
    abort();
}

/* -- the namespace -- */

static _Noreturn void skip_all(const char *why)
{
    printf("1..0 # SKIP %s: %s\n", why, strerror(errno));
    exit(SKIPPED);
}

/* The mounts go with the namespace, and so with the process; the folder does not. */
static void remove_folder(void)
{
    umount(folder);
    rmdir(folder);
}

void wires_enter(void)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        skip_all("no namespaces of its own");
    REQUIRE(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    REQUIRE(mkdtemp(folder));
    if (mount("bpf", folder, "bpf", 0, NULL) != 0) {
        rmdir(folder);
        skip_all("no BPF file system");
    }
    atexit(remove_folder);
    snprintf(pins, sizeof(pins), "%s/sluice/v1", folder);
    if (system("ip link add type veth && ip link del veth0") != 0)
        skip_all("no veth");
}

const char *wires_pins(void)
{
    return pins;
}

bool wires_add(const char *kind)
{
    char command[128];

    for (unsigned w = 0; w < WIRES; w++) {
        snprintf(command, sizeof(command), "ip link add %s type %s && ip link set %s up",
                 wires_names[w], kind, wires_names[w]);
        if (system(command) != 0)
            return false;
    }
    return true;
}

void wires_remove(void)
{
    char command[64];

    for (unsigned w = 0; w < WIRES; w++) {
        snprintf(command, sizeof(command), "ip link del %s", wires_names[w]);
        REQUIRE(system(command) == 0);
    }
}

struct xdp_attached wires_attached(unsigned wire)
{
    struct xdp_attached attached;

    REQUIRE(xdp_query(if_nametoindex(wires_names[wire]), &attached) == 0);
    return attached;
}

uint32_t wires_attach_foreign(unsigned wire, uint32_t flags)
{
    static const struct bpf_insn pass[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT}};
    int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "foreign", "GPL", pass, 2, NULL);

    REQUIRE(fd >= 0);
    REQUIRE(bpf_xdp_attach((int)if_nametoindex(wires_names[wire]), fd, flags, NULL) == 0);
    close(fd);
    return wires_attached(wire).id;
}

void wires_assert_nobody(void)
{
    for (unsigned w = 0; w < WIRES; w++)
        assert_int_equal(wires_attached(w).id, 0);
}

struct xdp_view house_view(unsigned wire, uint64_t now_ns)
{
    struct xdp_view view;

    xdp_view(tested.xdp, wire, now_ns, &view);
    return view;
}

/* -- what is said -- */

bool wires_says(const char *text, const char *part)
{
    if (strstr(text, part) && !strchr(text, '\n'))
        return true;
    fprintf(stderr, "\"%s\" does not say \"%s\" in a line\n", text, part);
    return false;
}

void wires_assert_says(const char *text, const char *part)
{
    assert_true(wires_says(text, part));
}

#define SAID_MAX 65536

char *wires_said_by(void (*run)(void))
{
    char *text = calloc(1, SAID_MAX);
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);

    REQUIRE(text && file && before >= 0);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    run();
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    REQUIRE(fread(text, 1, SAID_MAX - 1, file) < SAID_MAX - 1);
    fclose(file);
    return text;
}

/* -- traffic -- */

/* A SYN of 10.5.0.1, who is `default`, to port 80 of the first service. */
static const uint8_t syn[] = {
    2,    0, 0, 0,  0, 1, 2, 0, 0,  0, 0, 2, 8,    0,                           /* Ethernet */
    0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10,   5, 0,    1,    10, 9, 0, 10, /* IPv4 */
    0x30, 0, 0, 80, 0, 0, 0, 1, 0,  0, 0, 0, 0x50, 2, 0xff, 0xff, 0,  0, 0, 0,
};

void wires_ask(unsigned wire, unsigned attempts)
{
    int fd = bpf_prog_get_fd_by_id(wires_attached(wire).id);

    REQUIRE(fd >= 0);
    for (unsigned i = 0; i < attempts; i++) {
        LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = syn, .data_size_in = sizeof(syn),
                    .repeat = 1);

        REQUIRE(bpf_prog_test_run_opts(fd, &run) == 0);
    }
    close(fd);
}

/* -- the driver -- */

/* As DPDK does: the file that the arguments name, only where nobody is, in the mode there is. */
static int driver_attach(struct house *house, unsigned wire)
{
    const char *arguments =
        house->xdp->care.arguments(house->xdp->care.context, wires_devices[wire]);
    struct bpf_program *program;

    if (!arguments[0])
        return 0; /* it would attach its own */
    REQUIRE(!strncmp(arguments, ",xdp_prog=", 10));
    house->driver[wire] = bpf_object__open_file(arguments + 10, NULL);
    REQUIRE(house->driver[wire] && bpf_object__load(house->driver[wire]) == 0);
    REQUIRE(bpf_object__find_map_by_name(house->driver[wire], "xsks_map"));
    program = bpf_object__next_program(house->driver[wire], NULL);
    return bpf_xdp_attach((int)if_nametoindex(wires_names[wire]), bpf_program__fd(program),
                          XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
}

/* It detaches what is there, whosever it is, and forgets its object. */
static void driver_close(struct house *house, unsigned wire)
{
    bpf_xdp_detach((int)if_nametoindex(wires_names[wire]), XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
    bpf_object__close(house->driver[wire]);
    house->driver[wire] = NULL;
}

/* -- the daemon -- */

void house_init(struct house *house)
{
    *house = (struct house){.xdp = NULL};
    site_init(&house->site);
    /* Three at once, and hardly any more. */
    house->site.tenants[SITE_DEFAULT].attempts = core_rate(1, 86400, 2);
    house->policy = site_policy(&house->site);
    house->settings.dataplane.n_gates = 1;
    house->settings.dataplane.gates[0] = (struct gate_settings){
        .name = "front",
        .outside = {1, {wires_devices[0]}},
        .inside = {1, {wires_devices[1]}},
        .control = core_rate(1000, 1, 1000),
        .xdp = {.use = XDP_REQUIRED, .standby_after_ns = 200 * CORE_MS},
    };
    house->settings.control.pins = pins;
    house->settings.policy = house->site.spec;
}

int house_start(struct house *house)
{
    house->why[0] = '\0';
    return xdp_start(&house->settings, house->policy, &house->xdp, house->why, sizeof(house->why));
}

int house_open_one(struct house *house, unsigned wire)
{
    const struct device_care *care = &house->xdp->care;
    int err = care->before(care->context, wires_devices[wire], house->why, sizeof(house->why));

    if (!err)
        err = driver_attach(house, wire);
    if (!err)
        err = care->after(care->context, wires_devices[wire], house->why, sizeof(house->why));
    return err;
}

int house_open(struct house *house)
{
    int err = 0;

    for (unsigned w = 0; w < WIRES && !err; w++)
        err = house_open_one(house, w);
    return err;
}

/* What the daemon asks its data plane for; there is one. */
static struct dataplane {
    const struct policy *policy;
    struct admission_tenant_counters tenants[WIRES_TENANTS_MAX];
    struct admission_service_counters services[SITE_SERVICES];
} dataplane;

void house_serve(struct house *house)
{
    dataplane = (struct dataplane){.policy = house->policy};
    xdp_serve(house->xdp, &dataplane);
}

void house_close(struct house *house)
{
    for (unsigned w = 0; w < WIRES; w++) {
        driver_close(house, w);
        house->xdp->care.closed(house->xdp->care.context, wires_devices[w]);
    }
}

void house_stop(struct house *house)
{
    xdp_stop(house->xdp);
    house->xdp = NULL;
}

void house_free(struct house *house)
{
    policy_free(house->policy);
}

void house_end(struct house *house)
{
    house_close(house);
    house_stop(house);
}

struct house tested;

int wires_set_up(void **state)
{
    (void)state;
    REQUIRE(wires_add("veth"));
    house_init(&tested);
    return 0;
}

int wires_tear_down(void **state)
{
    (void)state;
    house_free(&tested);
    wires_remove();
    return 0;
}

pid_t house_live(struct house *house, unsigned attempts)
{
    int ready[2];
    char byte;
    pid_t pid;

    REQUIRE(pipe(ready) == 0);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody */
        REQUIRE(house_start(house) == 0);
        REQUIRE(house_open(house) == 0);
        house_serve(house);
        wires_ask(0, attempts);
        xdp_tend(house->xdp);
        REQUIRE(write(ready[1], "r", 1) == 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

void house_kill(pid_t pid)
{
    REQUIRE(kill(pid, SIGKILL) == 0);
    REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* -- what the data plane answers -- */

const struct policy *dataplane_policy(const struct dataplane *dp)
{
    return dp->policy;
}

uint32_t dataplane_receive_count(const struct dataplane *dp)
{
    (void)dp;
    return WIRES;
}

void dataplane_receive_view(const struct dataplane *dp, uint32_t index, struct receive_view *view)
{
    (void)dp;
    *view = (struct receive_view){.device = wires_devices[index], .worker = 5 + index};
}

const struct client_seed *dataplane_client_seed(const struct dataplane *dp)
{
    static const struct client_seed seed = {{11, 12}};

    (void)dp;
    return &seed;
}

const struct advice *dataplane_service_advice(const struct dataplane *dp, uint32_t service)
{
    static const struct advice advice = {.shed = {21, 22, 23}, .epoch = 24};

    (void)dp;
    (void)service;
    return &advice;
}

void dataplane_service_view(const struct dataplane *dp, const struct policy_service *service,
                            struct service_view *view)
{
    (void)dp;
    *view = (struct service_view){.capacity_per_s = 10.0 + service->id};
}

struct admission_tenant_counters *dataplane_front_tenant(struct dataplane *dp, uint32_t tenant)
{
    return &dp->tenants[tenant];
}

struct admission_service_counters *dataplane_front_service(struct dataplane *dp, uint32_t service)
{
    return &dp->services[service];
}
