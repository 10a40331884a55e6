/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "tools/bench/xdp/subject.h"

#include <targets.skel.h>

static int open_targets(struct subject *subject)
{
    subject->loaded = targets_bpf__open_and_load();
    return subject->loaded ? 0 : -errno;
}

static void close_targets(struct subject *subject)
{
    targets_bpf__destroy(subject->loaded);
}

static int open_noop(struct subject *subject)
{
    int error = open_targets(subject);

    if (!error)
        subject->program =
            bpf_program__fd(((struct targets_bpf *)subject->loaded)->progs.target_noop);
    return error;
}

/* Fills the table to the last place, with sources that are never drawn. */
static int fill(struct bpf_map *sources)
{
    const uint64_t value = 0;
    int error = 0;

    for (uint32_t n = 0; n < bpf_map__max_entries(sources) && !error; n++) {
        const uint32_t key = htonl(n);

        error =
            bpf_map__update_elem(sources, &key, sizeof(key), &value, sizeof(value), BPF_NOEXIST);
    }
    return error;
}

static int open_miss(struct subject *subject)
{
    int error = open_targets(subject);
    const struct targets_bpf *targets = subject->loaded;

    if (error)
        return error;
    subject->program = bpf_program__fd(targets->progs.target_miss);
    error = fill(targets->maps.miss_sources);
    if (error)
        close_targets(subject);
    return error;
}

static int count_miss(const struct subject *subject, uint64_t *packets)
{
    *packets = ((const struct targets_bpf *)subject->loaded)->bss->miss_packets;
    return 0;
}

const struct subject subject_noop = {.name = "noop",
                                     .plan = {.step = 1, .sources = 1},
                                     .verdict = XDP_DROP,
                                     .open = open_noop,
                                     .close = close_targets};

const struct subject subject_miss = {.name = "miss",
                                     .plan = {.first = 1u << 31, .step = 1, .sources = 1ull << 31},
                                     .verdict = XDP_DROP,
                                     .open = open_miss,
                                     .count = count_miss,
                                     .close = close_targets};
