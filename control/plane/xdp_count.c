/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs have counted, CPU by CPU: summed up for listings, for the data plane's sums,
 * and for the control loop, which must see what was shed in front of the workers.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

/* Entries in one call of the kernel, and calls in one period: more tenants take their turns. */
#define ENTRIES_MAX 256u
#define CALLS_MAX   4u

/* Attempts of a tenant as they were last counted, for struct xdp_seen. */
struct xdp_counted {
    uint64_t admitted, refused;
};

/* Sums `n` words over the CPUs. Counters are words only. */
static void sum_words(const uint64_t *values, uint32_t cpus, size_t n, uint64_t *sum)
{
    memset(sum, 0, n * sizeof(*sum));
    for (uint32_t c = 0; c < cpus; c++)
        for (size_t w = 0; w < n; w++)
            sum[w] += values[c * n + w];
}

#define WORDS(type) (sizeof(type) / sizeof(uint64_t))

/* A map whose entries are looked at in order: each is handed on as the sum over all CPUs. */
struct reading {
    int map;
    uint32_t cpus, words;
    void *values; /* room for ENTRIES_MAX of all CPUs */
    void (*take)(void *context, uint32_t number, const uint64_t *sum);
    void *context;
};

/* Up to ENTRIES_MAX from number `first` on; how many were read, 0 at the end or on failure. */
static uint32_t read_some(const struct reading *reading, uint32_t first, uint32_t end)
{
    uint32_t n = end - first < ENTRIES_MAX ? end - first : ENTRIES_MAX;
    uint32_t keys[ENTRIES_MAX], before = first - 1, last;
    uint64_t sum[64];
    int err;

    if (n == 0)
        return 0;
    err = bpf_map_lookup_batch(reading->map, first ? &before : NULL, &last, keys, reading->values,
                               &n, NULL);
    if (err && err != -ENOENT) /* which means: that was the end */
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *values = (const uint64_t *)reading->values;

        sum_words(values + (size_t)i * reading->cpus * reading->words, reading->cpus,
                  reading->words, sum);
        reading->take(reading->context, keys[i], sum);
    }
    return n;
}

/* The next `calls` calls' worth from `first`; where to go on, 0 behind the last. */
static uint32_t read_on(const struct reading *reading, uint32_t first, uint32_t end, unsigned calls)
{
    for (unsigned call = 0; call < calls; call++) {
        uint32_t n = read_some(reading, first, end);

        if (n == 0)
            return 0;
        first += n;
    }
    return first < end ? first : 0;
}

static uint64_t sum_of(const uint64_t *counts, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* -- single entries -- */

static bool read_entry(int map, uint32_t number, uint32_t cpus, size_t words, void *sum)
{
    uint64_t *values = calloc(cpus, words * sizeof(*values));
    bool good = values && bpf_map_lookup_elem(map, &number, values) == 0;

    if (good)
        sum_words(values, cpus, words, sum);
    free(values);
    return good;
}

static bool read_port(int map, uint32_t port, uint32_t cpus, struct xdp_port_counters *sum)
{
    return read_entry(map, port, cpus, WORDS(*sum), sum);
}

static bool read_floods(int map, uint32_t block, uint32_t cpus, struct xdp_floods *sum)
{
    return read_entry(map, block, cpus, WORDS(*sum), sum);
}

/* -- to the data plane -- */

/* Of `n` tenants from `first` on. A block that cannot be read stays as it is. */
static void tend_floods(struct xdp *xdp, uint32_t first, uint32_t n)
{
    const int map = xdp_maps_fd(&xdp->maps, "tenant_floods");

    for (uint32_t block = first / XDP_FLOODS;
         block < xdp->maps.arrays.sizes.floods && block * XDP_FLOODS < first + n; block++)
        read_floods(map, block, xdp->cpus, &xdp->floods[block]);
}

static void take_tenant(void *context, uint32_t id, const uint64_t *words)
{
    struct xdp *xdp = context;
    struct admission_tenant_counters *front = dataplane_front_tenant(xdp->dataplane, id);
    struct xdp_counted *counted = &xdp->counted[id];
    const uint64_t flood = xdp->floods[id / XDP_FLOODS].refused[id % XDP_FLOODS];
    struct xdp_tenant_counters c;

    memcpy(&c, words, sizeof(c));
    c.attempts += flood;
    c.refused[REASON_RATE] += flood;
    front->attempts = front->attempt_packets = c.attempts;
    front->admitted = c.admitted;
    front->packets[DIRECTION_IN] = c.packets;
    front->bytes[DIRECTION_IN] = c.bytes;
    front->dropped_packets = c.dropped_packets;
    front->dropped_bits = c.dropped_bits;
    memcpy(front->refused, c.refused, sizeof(front->refused));
    xdp->maps.seen->admitted += c.admitted - counted->admitted;
    counted->admitted = c.admitted;
    xdp->maps.seen->refused += sum_of(c.refused, REASON_ATTEMPT_MAX) - counted->refused;
    counted->refused = sum_of(c.refused, REASON_ATTEMPT_MAX);
}

static void take_service(void *context, uint32_t id, const uint64_t *words)
{
    struct xdp *xdp = context;
    struct admission_service_counters *front = dataplane_front_service(xdp->dataplane, id);
    struct xdp_service_counters c;

    memcpy(&c, words, sizeof(c));
    front->attempts = front->attempt_packets = c.attempts;
    front->admitted = c.admitted;
    front->unanswered = c.unanswered;
    memcpy(front->reached, c.reached, sizeof(front->reached));
    memcpy(front->refused, c.refused, sizeof(front->refused));
}

/* -- interfaces -- */

struct xdp_counts xdp_count_port(const struct xdp *xdp, uint32_t port)
{
    struct xdp_counts counts = {0};
    struct xdp_port_counters c;

    if (!read_port(xdp_maps_fd(&xdp->maps, "port_counters"), port, xdp->cpus, &c))
        return counts;
    counts = (struct xdp_counts){.received = c.received,
                                 .guarded = c.guarded,
                                 .socket = c.socket,
                                 .passed = c.passed,
                                 .redirected = c.redirected};
    memcpy(counts.dropped, c.dropped, sizeof(counts.dropped));
    return counts;
}

static void note_port(struct xdp *xdp, uint32_t port)
{
    struct xdp_counts counts = xdp_count_port(xdp, port);

    xdp->maps.seen->ports[port].passed = counts.passed + counts.redirected;
    xdp->maps.seen->ports[port].dropped = sum_of(counts.dropped, REASON_MAX);
}

/* -- while nobody was there -- */

static void take_away(void *context, uint32_t id, const uint64_t *words)
{
    struct xdp_away *away = context;
    struct xdp_tenant_counters c;

    (void)id;
    memcpy(&c, words, sizeof(c));
    away->admitted += c.admitted;
    away->refused += sum_of(c.refused, REASON_ATTEMPT_MAX);
}

/* A map of a former daemon's, if its elements are as large as ours; how many it has. */
static int map_of_size(uint32_t program, const char *name, size_t bytes, uint32_t *n)
{
    struct bpf_map_info info = {0};
    uint32_t info_bytes = sizeof(info);
    int map = xdp_map_of(program, name);

    if (map < 0)
        return map;
    if (bpf_obj_get_info_by_fd(map, &info, &info_bytes) == 0 && info.value_size == bytes) {
        *n = info.max_entries;
        return map;
    }
    close(map);
    return -EPROTO;
}

static int read_seen(uint32_t program, struct xdp_seen *seen)
{
    uint32_t first = 0, n;
    int map = map_of_size(program, "seen", sizeof(*seen), &n), err;

    if (map < 0)
        return map;
    err = bpf_map_lookup_elem(map, &first, seen);
    close(map);
    return err;
}

static int count_attempts(uint32_t program, uint32_t cpus, struct xdp_away *away)
{
    uint32_t n;
    struct reading reading = {.cpus = cpus,
                              .words = WORDS(struct xdp_tenant_counters),
                              .take = take_away,
                              .context = away};

    reading.map = map_of_size(program, "tenant_counters", sizeof(struct xdp_tenant_counters), &n);
    if (reading.map < 0)
        return reading.map;
    reading.values = calloc((size_t)cpus * ENTRIES_MAX, sizeof(struct xdp_tenant_counters));
    if (reading.values)
        read_on(&reading, 0, n, n / ENTRIES_MAX + 1);
    free(reading.values);
    close(reading.map);
    return reading.values ? 0 : -ENOMEM;
}

static int count_floods(uint32_t program, uint32_t cpus, struct xdp_away *away)
{
    struct xdp_floods floods;
    uint32_t n;
    int map = map_of_size(program, "tenant_floods", sizeof(floods), &n);

    if (map < 0)
        return map;
    for (uint32_t block = 0; block < n; block++)
        if (read_floods(map, block, cpus, &floods))
            away->refused += sum_of(floods.refused, XDP_FLOODS);
    close(map);
    return 0;
}

static int count_packets(uint32_t program, uint32_t port, uint32_t cpus, struct xdp_away *away)
{
    struct xdp_port_counters c;
    uint32_t n;
    int map = map_of_size(program, "port_counters", sizeof(c), &n);

    if (map < 0)
        return map;
    if (read_port(map, port, cpus, &c)) {
        away->passed = c.passed + c.redirected;
        away->dropped = sum_of(c.dropped, REASON_MAX);
    }
    close(map);
    return 0;
}

int xdp_count_away(uint32_t program, unsigned interface, struct xdp_away *away)
{
    int cpus = libbpf_num_possible_cpus(), err;
    struct xdp_seen seen;
    uint32_t port = 0;

    *away = (struct xdp_away){.admitted = 0};
    err = cpus < 0 ? cpus : read_seen(program, &seen);
    if (err)
        return err;
    while (port < XDP_PORTS_MAX && seen.ports[port].interface != interface)
        port++;
    if (port == XDP_PORTS_MAX)
        return -ENOENT;
    away->promiscuous = seen.ports[port].promiscuous;
    err = count_packets(program, port, (uint32_t)cpus, away);
    if (!err)
        err = count_attempts(program, (uint32_t)cpus, away);
    if (!err)
        err = count_floods(program, (uint32_t)cpus, away);
    if (err)
        return err;
    away->admitted -= seen.admitted;
    away->refused -= seen.refused;
    away->passed -= seen.ports[port].passed;
    away->dropped -= seen.ports[port].dropped;
    return 0;
}

/* -- life -- */

int xdp_count_start(struct xdp *xdp)
{
    int cpus = libbpf_num_possible_cpus();

    if (cpus < 0)
        return cpus;
    xdp->cpus = (uint32_t)cpus;
    xdp->values = calloc((size_t)cpus * ENTRIES_MAX,
                         sizeof(struct xdp_tenant_counters) > sizeof(struct xdp_service_counters)
                             ? sizeof(struct xdp_tenant_counters)
                             : sizeof(struct xdp_service_counters));
    xdp->counted = calloc(xdp->maps.arrays.sizes.tenants, sizeof(*xdp->counted));
    xdp->floods = calloc(xdp->maps.arrays.sizes.floods, sizeof(*xdp->floods));
    return xdp->values && xdp->counted && xdp->floods ? 0 : -ENOMEM;
}

void xdp_count_tend(struct xdp *xdp)
{
    const struct xdp_sizes *sizes = &xdp->maps.arrays.sizes;
    const struct reading tenants = {.map = xdp_maps_fd(&xdp->maps, "tenant_counters"),
                                    .cpus = xdp->cpus,
                                    .words = WORDS(struct xdp_tenant_counters),
                                    .values = xdp->values,
                                    .take = take_tenant,
                                    .context = xdp};
    const struct reading services = {.map = xdp_maps_fd(&xdp->maps, "service_counters"),
                                     .cpus = xdp->cpus,
                                     .words = WORDS(struct xdp_service_counters),
                                     .values = xdp->values,
                                     .take = take_service,
                                     .context = xdp};

    tend_floods(xdp, xdp->next_tenant, ENTRIES_MAX * CALLS_MAX);
    xdp->next_tenant = read_on(&tenants, xdp->next_tenant, sizes->tenants, CALLS_MAX);
    xdp->next_service = read_on(&services, xdp->next_service, sizes->services, CALLS_MAX);
    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        if (xdp->interfaces[i].on)
            note_port(xdp, xdp->interfaces[i].port);
}

void xdp_count_stop(struct xdp *xdp)
{
    free(xdp->values);
    free(xdp->counted);
    free(xdp->floods);
}
