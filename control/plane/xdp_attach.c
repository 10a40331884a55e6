/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs at interfaces, by netlink: a bpf_link would take the program along when the daemon is
 * killed, and DPDK's driver neither makes one nor bears one.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

#define MAPS_MAX 64 /* of one program */

static uint32_t flags_of(uint8_t mode)
{
    switch (mode) {
    case XDP_ATTACHED_SKB:
        return XDP_FLAGS_SKB_MODE;
    case XDP_ATTACHED_HW:
        return XDP_FLAGS_HW_MODE;
    default:
        return XDP_FLAGS_DRV_MODE;
    }
}

const char *xdp_mode_name(uint8_t mode)
{
    switch (mode) {
    case XDP_ATTACHED_SKB:
        return "generic";
    case XDP_ATTACHED_HW:
        return "offloaded";
    default:
        return "native";
    }
}

static int program_info(uint32_t program, struct bpf_prog_info *info)
{
    uint32_t bytes = sizeof(*info);
    int fd = bpf_prog_get_fd_by_id(program), err;

    if (fd < 0)
        return -errno;
    err = bpf_obj_get_info_by_fd(fd, info, &bytes);
    close(fd);
    return err;
}

int xdp_query(unsigned index, struct xdp_attached *out)
{
    LIBBPF_OPTS(bpf_xdp_query_opts, found);
    int err = bpf_xdp_query((int)index, 0, &found);
    struct bpf_prog_info info = {0};

    *out = (struct xdp_attached){.id = 0};
    if (err)
        return err;
    out->id = found.drv_prog_id  ? found.drv_prog_id
              : found.hw_prog_id ? found.hw_prog_id
                                 : found.skb_prog_id;
    out->mode = found.drv_prog_id  ? XDP_ATTACHED_DRV
                : found.hw_prog_id ? XDP_ATTACHED_HW
                                   : XDP_ATTACHED_SKB;
    if (out->id == 0)
        return 0;
    err = program_info(out->id, &info);
    if (err == -ENOENT) /* it went while we looked */
        *out = (struct xdp_attached){.id = 0};
    else if (!err)
        memcpy(out->name, info.name, sizeof(out->name));
    return err == -ENOENT ? 0 : err;
}

bool xdp_is_ours(const struct xdp_attached *attached)
{
    return !strcmp(attached->name, GATE_PROGRAM) || !strcmp(attached->name, SOCKET_PROGRAM);
}

/* The kernel keeps 15 bytes of a map's name. */
static bool is_named(int map, const char *name)
{
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);

    return bpf_obj_get_info_by_fd(map, &info, &bytes) == 0 &&
           !strncmp(info.name, name, sizeof(info.name) - 1);
}

static int find_map(const uint32_t *ids, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        int map = bpf_map_get_fd_by_id(ids[i]);

        if (map < 0)
            continue;
        if (is_named(map, name))
            return map;
        close(map);
    }
    return -ENOENT;
}

int xdp_map_of(uint32_t program, const char *name)
{
    uint32_t ids[MAPS_MAX] = {0};
    struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids};
    int err = program_info(program, &info);

    if (err)
        return err;
    return find_map(ids, info.nr_map_ids < MAPS_MAX ? info.nr_map_ids : MAPS_MAX, name);
}

int xdp_attach(unsigned index, int program, uint8_t mode)
{
    return bpf_xdp_attach((int)index, program, flags_of(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
}

/* By `old` alone: what has come in its place meanwhile stays. */
static int change(unsigned index, const struct xdp_attached *old, int program)
{
    LIBBPF_OPTS(bpf_xdp_attach_opts, options);
    int fd = bpf_prog_get_fd_by_id(old->id), err;

    if (fd < 0)
        return -errno;
    options.old_prog_fd = fd;
    err = bpf_xdp_attach((int)index, program, flags_of(old->mode) | XDP_FLAGS_REPLACE, &options);
    close(fd);
    return err;
}

int xdp_replace(unsigned index, const struct xdp_attached *old, int program)
{
    return change(index, old, program);
}

int xdp_detach(unsigned index, const struct xdp_attached *old)
{
    int err = change(index, old, -1);

    return err == -ENOENT ? 0 : err;
}
