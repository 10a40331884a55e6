/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

/* The maps that all programs share: how many elements, and where they are mapped. */
static const struct shared_map {
    const char *name;
    size_t size;  /* offset in struct xdp_sizes, FIXED_SIZE */
    size_t array; /* offset in struct xdp_arrays, NO_ARRAY */
    uint32_t banks;
} shared_maps[] = {
#define FIXED_SIZE  SIZE_MAX
#define NO_ARRAY    SIZE_MAX
#define SIZE(what)  offsetof(struct xdp_sizes, what)
#define ARRAY(what) offsetof(struct xdp_arrays, what)
    {"control", FIXED_SIZE, ARRAY(control), 1},
    {"heartbeats", FIXED_SIZE, ARRAY(heartbeats), 1},
    {"ports", FIXED_SIZE, ARRAY(ports), 1},
    {"images", FIXED_SIZE, ARRAY(images), 1},
    {"slots", SIZE(slots), ARRAY(slots), XDP_BANKS},
    {"ranges", SIZE(ranges), ARRAY(ranges), XDP_BANKS},
    {"denied_hosts", FIXED_SIZE, ARRAY(denied_hosts), 1},
    {"spans", SIZE(spans), ARRAY(spans), XDP_BANKS},
    {"tenants", SIZE(tenants), ARRAY(tenants), XDP_BANKS},
    {"tenant_volumes", SIZE(tenants), ARRAY(tenant_volumes), XDP_BANKS},
    {"services", SIZE(services), ARRAY(services), XDP_BANKS},
    {"advice", SIZE(services), ARRAY(advice), 1},
    {"tenant_state", SIZE(tenants), NO_ARRAY, 1},
    {"volume_state", SIZE(tenants), NO_ARRAY, 1},
    {"service_state", SIZE(services), NO_ARRAY, 1},
    {"control_state", FIXED_SIZE, NO_ARRAY, 1},
    {"port_counters", FIXED_SIZE, NO_ARRAY, 1},
    {"tenant_counters", SIZE(tenants), NO_ARRAY, 1},
    {"tenant_floods", SIZE(floods), NO_ARRAY, 1},
    {"service_counters", SIZE(services), NO_ARRAY, 1},
    {"trace", FIXED_SIZE, NO_ARRAY, 1},
    {"devices", FIXED_SIZE, NO_ARRAY, 1},
};

#define SHARED_COUNT (sizeof(shared_maps) / sizeof(shared_maps[0]))
_Static_assert(SHARED_COUNT <= XDP_SHARED_MAX, "there is a place for each map");

void xdp_maps_init(struct xdp_maps *maps, const struct xdp_sizes *sizes)
{
    *maps = (struct xdp_maps){
        .seen_fd = -1, .grace_fd = -1, .pins_lock = -1, .arrays = {.sizes = *sizes}};
    for (unsigned i = 0; i < XDP_SHARED_MAX; i++)
        maps->shared[i] = -1;
}

/* -- the first object makes them, the others take them -- */

static int prepare(struct xdp_maps *maps, unsigned i, struct bpf_object *object)
{
    const struct shared_map *shared = &shared_maps[i];
    struct bpf_map *map = bpf_object__find_map_by_name(object, shared->name);
    uint32_t n;

    if (!map)
        return -ENOENT;
    if (maps->shared[i] >= 0)
        return bpf_map__reuse_fd(map, maps->shared[i]);
    if (shared->size == FIXED_SIZE)
        return 0;
    memcpy(&n, (const char *)&maps->arrays.sizes + shared->size, sizeof(n));
    return bpf_map__set_max_entries(map, n * shared->banks);
}

int xdp_maps_prepare(struct xdp_maps *maps, struct bpf_object *object)
{
    int err = 0;

    for (unsigned i = 0; i < SHARED_COUNT && !err; i++)
        err = prepare(maps, i, object);
    return err;
}

/* As the kernel lays an array out that can be mapped. */
static int map_array(const struct bpf_map *map, void **out)
{
    size_t bytes = ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);

    *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return *out == MAP_FAILED ? -errno : 0;
}

static int make_own(struct xdp_maps *maps)
{
    LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
    LIBBPF_OPTS(bpf_map_create_opts, nested);
    int inner;
    void *seen;

    maps->seen_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "seen", 4, sizeof(*maps->seen), 1, &mapped);
    if (maps->seen_fd < 0)
        return -errno;
    seen = mmap(NULL, sizeof(*maps->seen), PROT_READ | PROT_WRITE, MAP_SHARED, maps->seen_fd, 0);
    if (seen == MAP_FAILED)
        return -errno;
    maps->seen = seen;
    inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_inner", 4, 4, 1, NULL);
    if (inner < 0)
        return -errno;
    nested.inner_map_fd = (uint32_t)inner;
    maps->grace_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "grace", 4, 4, 1, &nested);
    close(inner);
    return maps->grace_fd < 0 ? -errno : 0;
}

int xdp_maps_keep(struct xdp_maps *maps, const struct bpf_object *object, char *why,
                  size_t why_bytes)
{
    int err = maps->seen_fd >= 0 ? 0 : make_own(maps);

    for (unsigned i = 0; i < SHARED_COUNT && !err; i++) {
        const struct shared_map *shared = &shared_maps[i];
        const struct bpf_map *map = bpf_object__find_map_by_name(object, shared->name);

        if (maps->shared[i] >= 0)
            continue;
        maps->shared[i] = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 0);
        if (maps->shared[i] < 0)
            err = -errno;
        else if (shared->array != NO_ARRAY)
            err = map_array(map, (void **)((char *)&maps->arrays + shared->array));
    }
    if (err)
        snprintf(why, why_bytes, "the maps of the XDP program cannot be mapped into memory: %s",
                 strerror(-err));
    return err;
}

/* They stay mapped until the process ends: a worker that hangs may still write its heartbeat. */
void xdp_maps_close(struct xdp_maps *maps)
{
    for (unsigned i = 0; i < SHARED_COUNT; i++)
        if (maps->shared[i] >= 0)
            close(maps->shared[i]);
    if (maps->seen_fd >= 0)
        close(maps->seen_fd);
    if (maps->grace_fd >= 0)
        close(maps->grace_fd);
    if (maps->pins_lock >= 0)
        close(maps->pins_lock);
}

int xdp_maps_fd(const struct xdp_maps *maps, const char *name)
{
    for (unsigned i = 0; i < SHARED_COUNT; i++)
        if (!strcmp(shared_maps[i].name, name))
            return maps->shared[i];
    return -1;
}

const char *xdp_maps_name(unsigned number)
{
    return number < SHARED_COUNT ? shared_maps[number].name : NULL;
}

/* An update of a map of maps returns after a grace period of RCU; membarrier() has none to offer
 * where a CPU runs without a tick (nohz_full), as those of workers often do. */
int xdp_maps_wait(const struct xdp_maps *maps)
{
    int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_inner", 4, 4, 1, NULL), err;
    uint32_t first = 0;

    if (inner < 0)
        return -errno;
    err = bpf_map_update_elem(maps->grace_fd, &first, &inner, BPF_ANY);
    close(inner);
    return err;
}
