/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>

#include "tools/bench/xdp/subject.h"

/* As xdp-filter 1.3.1 has them in its common_kern_user.h. */
#define FILTER_OBJECT "/usr/lib/" HOST_TRIPLET "/bpf/xdpfilt_alw_ip.o"
#define FILTER_SOURCE 1ull /* in a value of filter_ipv4: the address is denied as a source */
struct filter_stats {
    uint64_t packets, bytes;
};

enum { FILTER_STEP = 2, FILTER_FIRST = 10 << 24 };

/* xdp-filter pins its maps where all see them; these are ours alone. */
static int load_unpinned(struct bpf_object *object)
{
    struct bpf_map *map;
    int error = 0;

    bpf_object__for_each_map (map, object)
        if (!error)
            error = bpf_map__set_pin_path(map, NULL);
    return error ? error : bpf_object__load(object);
}

static int deny_sources(struct bpf_object *object, uint64_t n_sources)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, "filter_ipv4");
    const size_t n_cpus = (size_t)libbpf_num_possible_cpus();
    uint64_t *values = calloc(n_cpus, sizeof(*values));
    int error = !map ? -ENOENT : !values ? -ENOMEM : 0;

    for (size_t cpu = 0; cpu < n_cpus && !error; cpu++)
        values[cpu] = FILTER_SOURCE;
    for (uint32_t n = 0; n < n_sources && !error; n++) {
        const uint32_t key = htonl(FILTER_FIRST + n * FILTER_STEP);

        error = bpf_map__update_elem(map, &key, sizeof(key), values, n_cpus * sizeof(*values),
                                     BPF_NOEXIST);
    }
    free(values);
    return error;
}

static int open_filter(struct subject *subject)
{
    struct bpf_object *object = bpf_object__open_file(FILTER_OBJECT, NULL);
    int error;

    if (!object)
        return -errno;
    error = load_unpinned(object);
    if (!error)
        error = deny_sources(object, subject->plan.sources);
    if (error) {
        bpf_object__close(object);
        return error;
    }
    subject->loaded = object;
    subject->program = bpf_program__fd(bpf_object__next_program(object, NULL));
    return 0;
}

static int count_filter(const struct subject *subject, uint64_t *packets)
{
    const struct bpf_map *map = bpf_object__find_map_by_name(subject->loaded, "xdp_stats_map");
    const size_t n_cpus = (size_t)libbpf_num_possible_cpus();
    struct filter_stats *stats = calloc(n_cpus, sizeof(*stats));
    const uint32_t key = XDP_DROP;
    int error = !map ? -ENOENT : !stats ? -ENOMEM : 0;

    if (!error)
        error = bpf_map__lookup_elem(map, &key, sizeof(key), stats, n_cpus * sizeof(*stats), 0);
    *packets = 0;
    for (size_t cpu = 0; cpu < n_cpus && !error; cpu++)
        *packets += stats[cpu].packets;
    free(stats);
    return error;
}

static void close_filter(struct subject *subject)
{
    bpf_object__close(subject->loaded);
}

#define SUBJECT(name_, sources_)                                                                   \
    {                                                                                              \
        .name = #name_,                                                                            \
        .plan = {.first = FILTER_FIRST, .step = FILTER_STEP, .sources = (sources_)},               \
        .verdict = XDP_DROP, .open = open_filter, .count = count_filter, .close = close_filter     \
    }

const struct subject subjects_filter[] = {SUBJECT(xdp_filter_64, 64), SUBJECT(xdp_filter_4k, 4096)};
const size_t n_subjects_filter = sizeof(subjects_filter) / sizeof(subjects_filter[0]);
