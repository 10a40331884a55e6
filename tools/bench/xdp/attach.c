/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice-xdp-attach: puts the gate's program, standing in for the workers, in front of an
 * interface and leaves it there. Every source of the race is denied, or a tenant of its own.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/xdp/gate_scene.h"
#include "tools/bench/xdp/options.h"

#include "bpf/maps.h"

#include <gate.skel.h>

static int usage(void)
{
    fputs("usage: sluice-xdp-attach deny|quota INTERFACE SOURCES FIRST STEP\n"
          "  deny   each of the addresses FIRST, FIRST + STEP ..., numbers, is on the deny list\n"
          "  quota  each is a tenant's of its own, with one attempt at once, one a second\n",
          stderr);
    return 2;
}

static int attach(const struct gate_scene *scene, unsigned int interface)
{
    struct gate *gate;
    int error = gate_scene_open(scene, &gate);

    if (error)
        return error;
    error = bpf_xdp_attach((int)interface, bpf_program__fd(gate->progs.sluice_gate),
                           XDP_FLAGS_UPDATE_IF_NOEXIST | XDP_FLAGS_DRV_MODE, NULL);
    gate__destroy(gate);
    return error;
}

int main(int argc, char **argv)
{
    double sources, first, step;
    struct gate_scene scene = {.n_tenants = 1, .coarse = true};
    struct gate_networks networks = {.bits = 32};
    unsigned int interface;
    int error;

    if (argc != 6 || !options_number(argv[3], 1, 65535, &sources) ||
        !options_number(argv[4], 0, 0x1p32 - 1, &first) ||
        !options_number(argv[5], 1, 0x1p32 - 1, &step))
        return usage();
    interface = if_nametoindex(argv[2]);
    networks.n = (uint32_t)sources;
    networks.first = (uint32_t)first;
    networks.step = (uint32_t)step;
    if (strcmp(argv[1], "deny") == 0) {
        scene.denied = networks;
    } else if (strcmp(argv[1], "quota") == 0) {
        scene.tenants = networks;
        scene.n_tenants = networks.n;
        bucket_rate_events(&scene.attempts, 1, 1, 0);
    } else {
        return usage();
    }
    error = interface ? attach(&scene, interface) : -errno;
    if (error)
        fprintf(stderr, "sluice-xdp-attach: %s: %s\n", argv[2], strerror(-error));
    return error ? 1 : 0;
}
