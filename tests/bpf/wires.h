/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two veth pairs in a network namespace of the test's, a BPF file system of its own, and a daemon
 * at them without a data plane: its care is called as the data plane calls it, around a driver that
 * attaches and detaches as DPDK 22.11's does.
 */
#ifndef SLUICE_TESTS_BPF_WIRES_H
#define SLUICE_TESTS_BPF_WIRES_H

#include <bpf/libbpf.h>
#include <sys/types.h>

#include "control/plane/xdp.h"
#include "control/plane/xdp_parts.h"
#include "tests/bpf/site.h"

#define WIRES_TENANTS_MAX 1100 /* whose counters its data plane keeps */

#define WIRES 2 /* the gate's interfaces: out0, outside, and in0 */

struct house {
    struct site site;
    struct settings settings;
    struct policy *policy;
    struct xdp *xdp;
    struct bpf_object *driver[WIRES]; /* what it has attached */
    char why[512];                    /* of the last step that failed */
};

extern const char *const wires_names[WIRES], *const wires_devices[WIRES];

/* A namespace without interfaces, and mounts that nobody else sees; once in a process. Ends it as
 * skipped, with the reason, where that cannot be had. */
void wires_enter(void);
/* Where the maps are pinned: a folder that is not there yet, on the test's BPF file system. */
const char *wires_pins(void);
/* `kind` is one of `ip link add`: "veth", or "ifb", whose driver has no XDP. False: this kernel has
 * none. */
bool wires_add(const char *kind);
void wires_remove(void);

/* Who is attached, and what stands in its map of sockets. */
struct xdp_attached wires_attached(unsigned wire);
/* Attaches a program that is nobody's, by name "foreign"; its id. */
uint32_t wires_attach_foreign(unsigned wire, uint32_t flags);

void wires_assert_nobody(void); /* is attached */

/* Does the text, a single line, say that? If not it is shown on stderr. */
bool wires_says(const char *text, const char *part);
void wires_assert_says(const char *text, const char *part);

/* What is said on stderr while it runs; the caller frees it. */
char *wires_said_by(void (*run)(void));

/* A gate that requires XDP, in any mode, and leaves nothing behind; to be changed by the test. */
void house_init(struct house *house);
int house_start(struct house *house);
/* Sets both devices up; the error of the first that fails, and the second is left alone. */
int house_open(struct house *house);
int house_open_one(struct house *house, unsigned wire);
/* The workers' side is there. */
void house_serve(struct house *house);
void house_close(struct house *house);
void house_stop(struct house *house);
void house_free(struct house *house);
/* Closed, and stopped. */
void house_end(struct house *house);

/* Around a test, by cmocka: the pairs are there ("veth"), and so is its house, as house_init()
 * leaves it. */
extern struct house tested;
int wires_set_up(void **state);
int wires_tear_down(void **state);
struct xdp_view house_view(unsigned wire, uint64_t now_ns); /* of that house */
#define WIRES_TEST(name) cmocka_unit_test_setup_teardown(name, wires_set_up, wires_tear_down)

/* A daemon in a process of its own, with its devices set up, `attempts` of them counted, which then
 * does nothing more; and its end by SIGKILL. */
pid_t house_live(struct house *house, unsigned attempts);
void house_kill(pid_t pid);

/* So many attempts of one client, by the program that is attached. */
void wires_ask(unsigned wire, unsigned attempts);

#endif
