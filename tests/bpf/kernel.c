/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bpf/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gate.skel.h>

#define CPUS_MAX 1024
#define SKIPPED  77

const char *kernel_missing(void)
{
    static char why[128];
    int fd;

    if (geteuid() != 0)
        return "BPF programs are loaded by root only";
    fd = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "probe", 4, 4, 1, NULL);
    if (fd < 0) {
        snprintf(why, sizeof(why), "bpf(2) makes no XDP maps here: %s", strerror(errno));
        return why;
    }
    close(fd);
    return NULL;
}

void kernel_skip_if_missing(void)
{
    const char *why = kernel_missing();

    if (!why)
        return;
    puts(why);
    exit(SKIPPED);
}

/* -- life -- */

static void size_maps(struct gate *program, const struct xdp_sizes *sizes)
{
    const struct {
        struct bpf_map *map;
        uint32_t n;
    } tables[] = {
        {program->maps.slots, XDP_BANKS * sizes->slots},
        {program->maps.ranges, XDP_BANKS * sizes->ranges},
        {program->maps.spans, XDP_BANKS * sizes->spans},
        {program->maps.tenants, XDP_BANKS * sizes->tenants},
        {program->maps.tenant_volumes, XDP_BANKS * sizes->tenants},
        {program->maps.services, XDP_BANKS * sizes->services},
        {program->maps.advice, sizes->services},
        {program->maps.tenant_state, sizes->tenants},
        {program->maps.volume_state, sizes->tenants},
        {program->maps.service_state, sizes->services},
        {program->maps.tenant_counters, sizes->tenants},
        {program->maps.tenant_floods, sizes->floods},
        {program->maps.service_counters, sizes->services},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        assert_int_equal(bpf_map__set_max_entries(tables[i].map, tables[i].n), 0);
    program->rodata->options.n_tenants = sizes->tenants;
    program->rodata->options.n_services = sizes->services;
}

static size_t mapped_bytes(const struct bpf_map *map)
{
    return ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);
}

static void *map_memory(const struct bpf_map *map)
{
    void *memory =
        mmap(NULL, mapped_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static struct xdp_arrays map_arrays(const struct gate *program, const struct xdp_sizes *sizes)
{
    return (struct xdp_arrays){
        .sizes = *sizes,
        .control = map_memory(program->maps.control),
        .heartbeats = map_memory(program->maps.heartbeats),
        .ports = map_memory(program->maps.ports),
        .images = map_memory(program->maps.images),
        .slots = map_memory(program->maps.slots),
        .ranges = map_memory(program->maps.ranges),
        .denied_hosts = map_memory(program->maps.denied_hosts),
        .spans = map_memory(program->maps.spans),
        .tenants = map_memory(program->maps.tenants),
        .tenant_volumes = map_memory(program->maps.tenant_volumes),
        .services = map_memory(program->maps.services),
        .advice = map_memory(program->maps.advice),
    };
}

void kernel_open(struct kernel *kernel, const struct kernel_plan *plan)
{
    struct xdp_sizes sizes = plan->sizes;

    if (sizes.tenants == 0)
        sizes = xdp_sizes_of(plan->policy);
    *kernel = (struct kernel){.program = gate__open()};
    assert_non_null(kernel->program);
    kernel->program->rodata->options.traces = true;
    kernel->program->rodata->options.timed = !plan->untimed;
    kernel->program->rodata->options.guards = plan->guards;
    size_maps(kernel->program, &sizes);
    assert_int_equal(gate__load(kernel->program), 0);
    kernel->fd = bpf_program__fd(kernel->program->progs.sluice_gate);
    kernel->cpus = libbpf_num_possible_cpus();
    assert_in_range(kernel->cpus, 1, CPUS_MAX);
    kernel->arrays = map_arrays(kernel->program, &sizes);
    kernel->arrays.ports[0].control.cost = 0; /* unlimited */
    if (plan->policy)
        kernel_publish(kernel, plan->policy);
}

void kernel_publish(struct kernel *kernel, const struct policy *policy)
{
    struct xdp_control *control = kernel->arrays.control;
    uint32_t bank = control->ready ? 1 - control->bank : 0;

    assert_int_equal(xdp_bank_fill(&kernel->arrays, bank, policy), 0);
    control->bank = bank;
    control->ready = 1;
}

void kernel_close(struct kernel *kernel)
{
    const struct gate *program = kernel->program;
    const struct xdp_arrays *arrays = &kernel->arrays;

    munmap(arrays->control, mapped_bytes(program->maps.control));
    munmap(arrays->heartbeats, mapped_bytes(program->maps.heartbeats));
    munmap(arrays->ports, mapped_bytes(program->maps.ports));
    munmap(arrays->images, mapped_bytes(program->maps.images));
    munmap(arrays->slots, mapped_bytes(program->maps.slots));
    munmap(arrays->ranges, mapped_bytes(program->maps.ranges));
    munmap(arrays->denied_hosts, mapped_bytes(program->maps.denied_hosts));
    munmap(arrays->spans, mapped_bytes(program->maps.spans));
    munmap(arrays->tenants, mapped_bytes(program->maps.tenants));
    munmap(arrays->tenant_volumes, mapped_bytes(program->maps.tenant_volumes));
    munmap(arrays->services, mapped_bytes(program->maps.services));
    munmap(arrays->advice, mapped_bytes(program->maps.advice));
    gate__destroy(kernel->program);
}

/* -- reading -- */

/* Adds up an element of a per-CPU map that is made of 64-bit words. */
static void sum(const struct kernel *kernel, const struct bpf_map *map, uint32_t key, void *into)
{
    size_t words = bpf_map__value_size(map) / sizeof(uint64_t);
    uint64_t *values = calloc((size_t)kernel->cpus * words, sizeof(uint64_t)), *to = into;

    assert_non_null(values);
    assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(map), &key, values), 0);
    for (int cpu = 0; cpu < kernel->cpus; cpu++)
        for (size_t i = 0; i < words; i++)
            to[i] += values[(size_t)cpu * words + i];
    free(values);
}

struct xdp_port_counters kernel_port(const struct kernel *kernel)
{
    struct xdp_port_counters counters = {0};

    sum(kernel, kernel->program->maps.port_counters, 0, &counters);
    return counters;
}

struct xdp_tenant_counters kernel_tenant(const struct kernel *kernel, uint32_t id)
{
    struct xdp_tenant_counters counters = {0};
    struct xdp_floods floods = {{0}};

    sum(kernel, kernel->program->maps.tenant_counters, id, &counters);
    sum(kernel, kernel->program->maps.tenant_floods, id / XDP_FLOODS, &floods);
    counters.attempts += floods.refused[id % XDP_FLOODS];
    counters.refused[REASON_RATE] += floods.refused[id % XDP_FLOODS];
    return counters;
}

struct xdp_service_counters kernel_service(const struct kernel *kernel, uint32_t id)
{
    struct xdp_service_counters counters = {0};

    sum(kernel, kernel->program->maps.service_counters, id, &counters);
    return counters;
}

struct xdp_tenant_state kernel_tenant_state(const struct kernel *kernel, uint32_t id)
{
    struct xdp_tenant_state state;

    assert_int_equal(
        bpf_map_lookup_elem(bpf_map__fd(kernel->program->maps.tenant_state), &id, &state), 0);
    return state;
}

bool kernel_balanced(const struct kernel *kernel)
{
    const struct xdp_port_counters c = kernel_port(kernel);
    uint64_t out = c.socket + c.passed + c.redirected;

    for (unsigned i = 0; i < REASON_MAX; i++)
        out += c.dropped[i];
    return c.received == out;
}

bool kernel_has_only_arrays(const struct kernel *kernel)
{
    const struct bpf_map *map;

    bpf_object__for_each_map (map, kernel->program->obj) {
        enum bpf_map_type type = bpf_map__type(map);

        if (type != BPF_MAP_TYPE_ARRAY && type != BPF_MAP_TYPE_PERCPU_ARRAY &&
            type != BPF_MAP_TYPE_XSKMAP && type != BPF_MAP_TYPE_DEVMAP)
            return false;
    }
    return true;
}

/* -- asking -- */

void kernel_repeat(struct kernel *kernel, const void *frame, uint32_t bytes, uint32_t n,
                   uint64_t now_ns)
{
    LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = bytes, .repeat = (int)n);

    __atomic_store_n(&kernel->program->bss->test_now_ns, now_ns, __ATOMIC_RELAXED);
    assert_int_equal(bpf_prog_test_run_opts(kernel->fd, &run), 0);
}

/* The trace is that of the CPU that ran it: ours, as long as we stay there. */
static struct xdp_trace traced(const struct kernel *kernel)
{
    struct xdp_trace traces[CPUS_MAX];
    uint32_t key = 0;

    assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(kernel->program->maps.trace), &key, traces),
                     0);
    return traces[sched_getcpu()];
}

static void stay_on_this_cpu(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

struct judgement kernel_judge(struct kernel *kernel, uint32_t direction, const void *frame,
                              uint32_t bytes, uint64_t now_ns)
{
    cpu_set_t before;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    stay_on_this_cpu();
    kernel->arrays.ports[0].direction = (uint8_t)direction;
    kernel_repeat(kernel, frame, bytes, 1, now_ns);
    kernel->last = traced(kernel);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    return (struct judgement){.reason = (enum reason)kernel->last.reason,
                              .tenant = kernel->last.tenant};
}
