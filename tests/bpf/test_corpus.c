/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TWIN: the frames of corpus/ through the program and through a worker's journey.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/bpf/corpus.h"
#include "tests/bpf/kernel.h"
#include "tests/bpf/site.h"
#include "tests/bpf/workers.h"

#define FRAMES_MIN 100 /* fewer: a file was not found */

static struct site site;
static struct kernel standby, guard;
static uint64_t now_ns;
static unsigned wrong;

static const char *tenant_name(uint32_t id)
{
    return id == NO_TENANT ? "" : site.tenants[SITE_ID(id, SITE_TENANTS)].name;
}

/* -- both paths, as the corpus says -- */

static void compare(const struct corpus_frame *f, const char *path, struct judgement got)
{
    if (got.reason == f->reason && strcmp(tenant_name(got.tenant), f->tenant) == 0)
        return;
    print_error("%s %s: %s says %s %s, not %s %s\n", f->where, f->name, path,
                reason_name(got.reason), tenant_name(got.tenant), reason_name(f->reason),
                f->tenant);
    wrong++;
}

static void ask_both(const struct corpus_frame *f, void *context)
{
    (void)context;
    now_ns += CORE_S; /* every bucket is full again */
    compare(f, "the program",
            kernel_judge(&standby, f->direction, f->frame.bytes, f->frame.length, now_ns));
    compare(f, "a worker", workers_judge(f->direction, f->frame.bytes, f->frame.length, now_ns));
}

static void every_frame_meets_the_same_verdict_on_both_paths(void **state)
{
    (void)state;
    wrong = 0;
    assert_in_range(corpus_visit(SLUICE_CORPUS, ask_both, NULL), FRAMES_MIN, 10000);
    assert_int_equal(wrong, 0);
    assert_true(kernel_balanced(&standby));
}

/* -- as a guard -- */

static void ask_guard(const struct corpus_frame *f, void *context)
{
    struct judgement got;

    (void)context;
    now_ns += CORE_S;
    got = kernel_judge(&guard, f->direction, f->frame.bytes, f->frame.length, now_ns);
    if (got.reason == REASON_NONE && guard.last.way != XDP_WAY_SOCKET) {
        print_error("%s %s: neither dropped nor a worker's\n", f->where, f->name);
        wrong++;
    }
    /* What is denied or malformed has nobody to be told; and datagrams of a blocked tenant. */
    if (f->reason >= REASON_DENIED && f->reason != REASON_CONTROL && got.reason != f->reason) {
        print_error("%s %s: let through\n", f->where, f->name);
        wrong++;
    }
    if (got.reason != REASON_NONE && got.reason != f->reason) {
        print_error("%s %s: dropped, %s, though a worker would not\n", f->where, f->name,
                    reason_name(got.reason));
        wrong++;
    }
}

static void a_guard_drops_what_a_worker_would_and_nothing_else(void **state)
{
    (void)state;
    wrong = 0;
    corpus_visit(SLUICE_CORPUS, ask_guard, NULL);
    assert_int_equal(wrong, 0);
    assert_true(kernel_balanced(&guard));
}

/* -- cut by every length -- */

static const char *const whole[] = {
    "ip4 10.1.0.1 10.9.0.10 options 8 / tcp 6001 80 S / data 8",
    "ip4 10.66.0.1 10.9.0.10 / tcp 6002 80 S / data 8",
    "vlan 88a8 7 / vlan 8100 8 / ip4 10.1.0.1 10.9.0.10 / udp 6003 53 / data 8",
    "ip4 10.1.0.1 10.9.0.10 / icmp 8 0 / data 8",
    "ip6 2001:db8:1::1 2001:db8:9::10 / extension 0 8 / extension 60 24 / tcp 6004 80 S",
    "ip6 2001:db8:66::1 2001:db8:9::10 / fragment 0 more / udp 6005 53 / data 8",
    "ip6 2001:db8:1::1 2001:db8:9::10 / icmp 128 0 / data 8",
    "vlan 8100 7 / vlan 8100 8 / vlan 8100 9 / ip4 10.1.0.1 10.9.0.10 / tcp 6006 80 S",
};

#define SHORTEST 14 /* the kernel has no shorter frames */

static void case_H05_a_frame_cut_anywhere_is_malformed_alike(void **state)
{
    unsigned dropped = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        struct frame frame;

        corpus_build(&frame, whole[i]);
        for (uint32_t bytes = SHORTEST; bytes < frame.length; bytes++) {
            struct judgement program, worker;

            now_ns += CORE_S;
            program = kernel_judge(&standby, DIRECTION_IN, frame.bytes, bytes, now_ns);
            worker = workers_judge(DIRECTION_IN, frame.bytes, bytes, now_ns);
            if (program.reason != worker.reason || program.tenant != worker.tenant)
                fail_msg("%s, cut to %u: %s and %s", whole[i], bytes, reason_name(program.reason),
                         reason_name(worker.reason));
            dropped += program.reason != REASON_NONE;
        }
    }
    assert_in_range(dropped, 300, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_meets_the_same_verdict_on_both_paths),
        cmocka_unit_test(a_guard_drops_what_a_worker_would_and_nothing_else),
        cmocka_unit_test(case_H05_a_frame_cut_anywhere_is_malformed_alike),
    };
    int failed;

    kernel_skip_if_missing();
    site_init(&site);
    workers_open(site_policy(&site));
    struct policy *policy = site_policy(&site);
    kernel_open(&standby, &(struct kernel_plan){.policy = policy});
    kernel_open(&guard, &(struct kernel_plan){.policy = policy, .guards = true});
    now_ns = workers_now_ns() + CORE_S;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_close(&standby);
    kernel_close(&guard);
    policy_free(policy);
    workers_close();
    return failed;
}
