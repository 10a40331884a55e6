/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "bpf/maps.h"
#include "dataplane/policy/policy.h"
#include "tools/bench/xdp/gate_scene.h"
#include "tools/bench/xdp/subject.h"

#include <gate.skel.h>

struct gate_details {
    struct gate_scene scene;
    enum gate_fate fate; /* of every packet */
    enum reason reason;
};

enum { TEN = 10 << 24, ADDRESSES_24 = 256, PREFIXES_64K = 65536 };

/* A token a day, and plenty of them. */
#define ONE_A_DAY                                                                                  \
    {                                                                                              \
        .rate = 1, .cost = 86400 * BUCKET_NS_PER_S, .cap = 86400 * BUCKET_NS_PER_S,                \
        .fill_ns = 86400 * BUCKET_NS_PER_S                                                         \
    }
#define PLENTY                                                                                     \
    {                                                                                              \
        .rate = BUCKET_RATE_MAX, .cost = BUCKET_NS_PER_S,                                          \
        .cap = BUCKET_RATE_MAX * BUCKET_NS_PER_S, .fill_ns = BUCKET_NS_PER_S                       \
    }

/* /24 side by side, so that every address is in one. */
#define NETWORKS(n_)                                                                               \
    {                                                                                              \
        .first = TEN, .step = ADDRESSES_24, .n = (n_), .bits = 24                                  \
    }

/* Every other address, so that no two make one range. */
#define DENY(n_)                                                                                   \
    {                                                                                              \
        .scene = {.denied = {.first = TEN, .step = 2, .n = (n_), .bits = 32}, .n_tenants = 1},     \
        .reason = REASON_DENIED                                                                    \
    }

static const struct gate_details
    deny_1 = DENY(1),
    deny_64 = DENY(64), deny_4k = DENY(4096),
    quota_64 = {.scene = {.tenants = NETWORKS(64),
                          .n_tenants = 64,
                          .attempts = ONE_A_DAY,
                          .spent = true,
                          .coarse = true},
                .reason = REASON_RATE},
    quota_64_fine =
        {.scene = {.tenants = NETWORKS(64), .n_tenants = 64, .attempts = ONE_A_DAY, .spent = true},
         .reason = REASON_RATE},
    quota_64k = {.scene = {.tenants = NETWORKS(PREFIXES_64K),
                           .n_tenants = 64,
                           .attempts = ONE_A_DAY,
                           .spent = true,
                           .coarse = true},
                 .reason = REASON_RATE},
    quota_64k_tenants = {.scene = {.tenants = NETWORKS(PREFIXES_64K),
                                   .n_tenants = POLICY_TENANTS_MAX - 1,
                                   .attempts = ONE_A_DAY,
                                   .spent = true,
                                   .coarse = true},
                         .reason = REASON_RATE},
    /* One network in each 16-bit prefix there is: of all sources 255 in 256 are nobody's. */
    scattered = {.scene = {.tenants = {.step = 1 << 16, .n = PREFIXES_64K, .bits = 24},
                           .n_tenants = 64,
                           .attempts = ONE_A_DAY,
                           .spent = true,
                           .coarse = true},
                 .reason = REASON_RATE},
    pass = {.scene = {.tenants = NETWORKS(64), .n_tenants = 64, .attempts = PLENTY, .coarse = true},
            .fate = GATE_PASSED},
    guard_socket = {.scene = {.tenants = NETWORKS(64),
                              .n_tenants = 64,
                              .attempts = PLENTY,
                              .coarse = true,
                              .guards = true},
                    .fate = GATE_TO_SOCKET},
    guard_quota = {.scene = {.tenants = NETWORKS(64),
                             .n_tenants = 64,
                             .attempts = ONE_A_DAY,
                             .spent = true,
                             .coarse = true,
                             .guards = true},
                   .reason = REASON_RATE};

static int open_gate(struct subject *subject)
{
    const struct gate_details *details = subject->details;
    struct gate *gate;
    int error = gate_scene_open(&details->scene, &gate);

    if (error)
        return error;
    subject->loaded = gate;
    subject->program = bpf_program__fd(gate->progs.sluice_gate);
    return 0;
}

static int count_gate(const struct subject *subject, uint64_t *packets)
{
    const struct gate_details *details = subject->details;

    return gate_scene_count(subject->loaded, details->fate, details->reason, packets);
}

static void close_gate(struct subject *subject)
{
    gate__destroy(subject->loaded);
}

#define SUBJECT(name_, details_, verdict_, first_, step_, sources_)                                \
    {                                                                                              \
        .name = #name_, .plan = {.first = (first_), .step = (step_), .sources = (sources_)},       \
        .verdict = (verdict_), .details = (details_), .open = open_gate, .count = count_gate,      \
        .close = close_gate                                                                        \
    }

const struct subject subjects_gate[] = {
    SUBJECT(deny_1, &deny_1, XDP_DROP, TEN, 2, 1),
    SUBJECT(deny_64, &deny_64, XDP_DROP, TEN, 2, 64),
    SUBJECT(deny_4k, &deny_4k, XDP_DROP, TEN, 2, 4096),
    SUBJECT(quota_64, &quota_64, XDP_DROP, TEN, 1, 64 * ADDRESSES_24),
    SUBJECT(quota_64_fine, &quota_64_fine, XDP_DROP, TEN, 1, 64 * ADDRESSES_24),
    SUBJECT(quota_64k, &quota_64k, XDP_DROP, TEN, 1, PREFIXES_64K *ADDRESSES_24),
    SUBJECT(quota_64k_tenants, &quota_64k_tenants, XDP_DROP, TEN, 1, PREFIXES_64K *ADDRESSES_24),
    SUBJECT(known, &scattered, XDP_DROP, 0, 1 << 16, PREFIXES_64K),
    SUBJECT(spoofed, &scattered, XDP_DROP, 0, 1, 1ull << 32),
    SUBJECT(pass, &pass, XDP_PASS, TEN, 1, 64 * ADDRESSES_24),
    SUBJECT(guard_socket, &guard_socket, XDP_REDIRECT, TEN, 1, 64 * ADDRESSES_24),
    SUBJECT(guard_quota, &guard_quota, XDP_DROP, TEN, 1, 64 * ADDRESSES_24),
};
const size_t n_subjects_gate = sizeof(subjects_gate) / sizeof(subjects_gate[0]);
