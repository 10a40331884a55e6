/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/xdp/gate_scene.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "bpf/maps.h"
#include "control/plane/xdp_hosts.h"
#include "control/plane/xdp_slots.h"
#include "dataplane/policy/policy.h"
#include "tools/bench/xdp/xsk.h"

#include <gate.skel.h>

enum { SERVICE_ADDRESS = 10 << 24 | 9 << 16 | 10, SERVICE_PORT = 80 };

/* -- what lies in the maps -- */

static int put(const struct bpf_map *map, uint32_t number, const void *value)
{
    return bpf_map__update_elem(map, &number, sizeof(number), value, bpf_map__value_size(map), 0);
}

/* Elements first, first + 1 ...; one system call, for there may be very many. */
static int put_many(const struct bpf_map *map, uint32_t first, const void *values, uint32_t n)
{
    uint32_t *numbers = calloc(n, sizeof(*numbers));
    int error;

    if (!numbers)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = first + i;
    error = bpf_map_update_batch(bpf_map__fd(map), numbers, values, &n, NULL);
    free(numbers);
    return error;
}

static struct address address_of(uint32_t host)
{
    return address_from_v4(htonl(host));
}

/* The value of network n is 1 + n % n_values, where none is `missing`. */
static int build_table(const struct gate_networks *networks, uint32_t n_values, uint32_t missing,
                       struct prefix_table **table)
{
    struct prefix_entry *entries = calloc(networks->n + 1, sizeof(*entries));
    int error;

    if (!entries)
        return -ENOMEM;
    for (uint32_t n = 0; n < networks->n; n++)
        entries[n] =
            (struct prefix_entry){.network = address_of(networks->first + n * networks->step),
                                  .bits = ADDRESS_V4_PREFIX_BITS + networks->bits,
                                  .value = 1 + n % n_values};
    error = prefix_table_create(entries, networks->n, missing, table);
    free(entries);
    return error;
}

static int put_slots(const struct gate *gate, uint32_t first, const struct prefix_view *view)
{
    const uint32_t n = xdp_slots_count(view);
    struct xdp_slot *slots = calloc(n, sizeof(*slots));
    int error;

    if (!slots)
        return -ENOMEM;
    xdp_slots_fill(slots, view, view->ranges);
    error = put_many(gate->maps.slots, first, slots, n);
    free(slots);
    return error;
}

/* Writes a table behind the slots and ranges that are there, and says where it is. */
static int put_table(const struct gate *gate, const struct prefix_table *table, uint32_t first_slot,
                     uint32_t first_range, struct prefix_shape *shape)
{
    const struct prefix_view view = prefix_table_view(table);
    int error = put_slots(gate, first_slot, &view);

    *shape = *view.shape;
    shape->first_slot = first_slot;
    shape->first_range = first_range;
    return error ? error : put_many(gate->maps.ranges, first_range, view.ranges, view.n_ranges);
}

static int put_hosts(const struct gate *gate, const struct prefix_table *denied,
                     struct xdp_image *image)
{
    const struct prefix_view view = prefix_table_view(denied);
    struct hosts_bucket *buckets = calloc(XDP_HOSTS, sizeof(*buckets));
    int error;

    if (!buckets)
        return -ENOMEM;
    xdp_hosts_fill(buckets, &view, image);
    error = put_many(gate->maps.denied_hosts, 0, buckets, XDP_HOSTS);
    free(buckets);
    return error;
}

static int put_image(const struct gate *gate, const struct gate_scene *scene,
                     const struct prefix_table *tenants, const struct prefix_table *denied)
{
    const struct prefix_view view = prefix_table_view(tenants);
    const struct address address = address_of(SERVICE_ADDRESS);
    const struct service_span span = {
        .halves = {address.halves[0], address.halves[1]},
        .first = IPPROTO_TCP << 16 | SERVICE_PORT,
        .last = IPPROTO_TCP << 16 | SERVICE_PORT,
    };
    struct xdp_image image = {.n_spans = 1, .has_denied = scene->denied.n > 0};
    int error = put_table(gate, tenants, 0, 0, &image.tenants_v4);

    if (!error)
        error = put_table(gate, denied, xdp_slots_count(&view), view.n_ranges, &image.denied_v4);
    if (!error)
        error = put_hosts(gate, denied, &image);
    if (!error)
        error = put(gate->maps.spans, 0, &span);
    return error ? error : put(gate->maps.images, 0, &image);
}

static int put_tenants(const struct gate *gate, const struct gate_scene *scene)
{
    const struct xdp_tenant tenant = {.attempts = scene->attempts, .coarse = scene->coarse};
    struct xdp_tenant_state state = {.started = scene->spent};
    const uint32_t n = scene->n_tenants + 1;
    struct xdp_tenant *tenants = calloc(n, sizeof(tenant));
    struct xdp_tenant_state *states = calloc(n, sizeof(state));
    struct timespec now;
    int error = tenants && states ? 0 : -ENOMEM;

    clock_gettime(CLOCK_MONOTONIC, &now);
    state.attempts.last_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    for (uint32_t id = 0; id < n && !error; id++) {
        tenants[id] = tenant;
        states[id] = state;
    }
    if (!error)
        error = put_many(gate->maps.tenants, 0, tenants, n);
    if (!error)
        error = put_many(gate->maps.tenant_state, 0, states, n);
    free(tenants);
    free(states);
    return error;
}

/* A socket, and a worker that has just been seen, for as long as this process lives. */
static int put_worker(const struct gate *gate)
{
    const struct heartbeat beat = {.now_ns = UINT64_MAX};
    const int number = xsk_open();
    int error = number < 0 ? number : put(gate->maps.xsks_map, 0, &number);

    return error ? error : put(gate->maps.heartbeats, 0, &beat);
}

static int put_all(const struct gate *gate, const struct gate_scene *scene,
                   const struct prefix_table *tenants, const struct prefix_table *denied)
{
    const struct xdp_port port = {.direction = 0, .standby_after_ns = 200000000};
    /* Nobody is to be told anything: no refusal goes to the workers. */
    const struct xdp_service service = {.answers = {.cost = BUCKET_NS_PER_S}};
    const struct xdp_control control = {.ready = 1};
    int error = put_image(gate, scene, tenants, denied);

    if (!error)
        error = put_tenants(gate, scene);
    if (!error)
        error = put(gate->maps.ports, 0, &port);
    if (!error)
        error = put(gate->maps.services, 0, &service);
    if (!error && scene->guards)
        error = put_worker(gate);
    return error ? error : put(gate->maps.control, 0, &control);
}

/* -- the program -- */

static int size_maps(const struct gate *gate, const struct gate_scene *scene,
                     const struct prefix_view *tenants, const struct prefix_view *denied)
{
    const uint32_t n_tenants = scene->n_tenants + 1;
    int error = bpf_map__set_max_entries(gate->maps.slots,
                                         xdp_slots_count(tenants) + xdp_slots_count(denied));

    gate->rodata->options.n_tenants = n_tenants;
    if (!error)
        error = bpf_map__set_max_entries(gate->maps.ranges, tenants->n_ranges + denied->n_ranges);
    if (!error)
        error = bpf_map__set_max_entries(gate->maps.tenants, XDP_BANKS * n_tenants);
    if (!error)
        error = bpf_map__set_max_entries(gate->maps.tenant_state, n_tenants);
    if (!error)
        error = bpf_map__set_max_entries(gate->maps.tenant_floods, n_tenants / XDP_FLOODS + 1);
    return error ? error : bpf_map__set_max_entries(gate->maps.tenant_counters, n_tenants);
}

static int load(const struct gate_scene *scene, const struct prefix_table *tenants,
                const struct prefix_table *denied, struct gate **loaded)
{
    const struct prefix_view views[] = {prefix_table_view(tenants), prefix_table_view(denied)};
    struct gate *gate = gate__open();
    int error;

    if (!gate)
        return -errno;
    error = size_maps(gate, scene, &views[0], &views[1]);
    if (!error)
        error = gate__load(gate);
    if (!error)
        error = put_all(gate, scene, tenants, denied);
    if (error)
        gate__destroy(gate);
    else
        *loaded = gate;
    return error;
}

int gate_scene_open(const struct gate_scene *scene, struct gate **gate)
{
    struct prefix_table *tenants, *denied;
    int error = build_table(&scene->tenants, scene->n_tenants, POLICY_NONE, &tenants);

    if (error)
        return error;
    error = build_table(&scene->denied, 1, 0, &denied);
    if (error)
        goto free_tenants;
    error = load(scene, tenants, denied, gate);
    prefix_table_free(denied);
free_tenants:
    prefix_table_free(tenants);
    return error;
}

int gate_scene_count(const struct gate *gate, enum gate_fate fate, enum reason reason,
                     uint64_t *packets)
{
    const size_t n_cpus = (size_t)libbpf_num_possible_cpus();
    struct xdp_port_counters *counters = calloc(n_cpus, sizeof(*counters));
    const uint32_t port = 0;
    int error = counters ? bpf_map__lookup_elem(gate->maps.port_counters, &port, sizeof(port),
                                                counters, n_cpus * sizeof(*counters), 0)
                         : -ENOMEM;

    *packets = 0;
    for (size_t cpu = 0; cpu < n_cpus && !error; cpu++)
        *packets += fate == GATE_PASSED      ? counters[cpu].passed
                    : fate == GATE_TO_SOCKET ? counters[cpu].socket
                                             : counters[cpu].dropped[reason];
    free(counters);
    return error;
}
