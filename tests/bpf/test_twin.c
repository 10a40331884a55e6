/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TWIN: random traces through the program, standing in, and through a worker. Quotas are the same
 * buckets, so verdicts, reasons and tokens are, to the last one. Every attempt is of a new flow and
 * every client tries once, for what only flows or a memory tell the program cannot know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dataplane/admission/quota.h"
#include "dataplane/packet/packet.h"
#include "tests/bpf/kernel.h"
#include "tests/bpf/site.h"
#include "tests/bpf/workers.h"
#include "tests/property/random.h"
#include "tests/unit/frames.h"

#define TRACE_PACKETS 6000u
#define HALF          0x80000000u

static struct site site;
static struct kernel kernel;
static struct policy *policy;
static uint64_t seed = 20240611, now_ns;
static uint32_t made; /* clients and ports so far: none comes twice */

/* -- packets -- */

enum what { WHAT_SYN, WHAT_DATAGRAM, WHAT_ACK, WHAT_ECHO, WHAT_FRAGMENT, WHAT_CHAIN, WHATS };

static void write_chain(struct frame *f, const char *client)
{
    frame_ipv6(f, &(struct frame_ipv6){.source = client, .destination = "2001:db8:9::10"});
    for (unsigned i = 0; i < 9; i++)
        frame_extension(f, 60, 8);
}

static void write_packet(struct frame *f, enum what what, const char *client, uint32_t data)
{
    static const uint8_t zeros[1500];
    uint16_t port = (uint16_t)(1024 + made % 60000);
    uint8_t flags = what == WHAT_SYN || what == WHAT_CHAIN ? TCP_SYN : TCP_ACK;

    frame_ethernet(f);
    if (what == WHAT_CHAIN)
        write_chain(f, client);
    else
        frame_ipv4(f, &(struct frame_ipv4){.source = client,
                                           .destination = "10.9.0.10",
                                           .fragment = what == WHAT_FRAGMENT ? 8 : 0});
    if (what == WHAT_DATAGRAM)
        frame_udp(f, port, 53);
    else if (what == WHAT_ECHO)
        frame_icmp(f, 8, 0);
    else if (what == WHAT_FRAGMENT)
        frame_protocol(f, 17);
    else
        frame_tcp(f, &(struct frame_tcp){
                         .source_port = port, .destination_port = 80, .seq = made, .flags = flags});
    frame_payload(f, zeros, data);
    frame_finish(f);
}

/* A client that has not been there yet, of tenant `network` (10.NETWORK.0.0/16). */
static const char *new_client(unsigned network)
{
    static char text[32];

    made++;
    snprintf(text, sizeof(text), "10.%u.%u.%u", network, made >> 8 & 0x7f, made & 0xff);
    return text;
}

/* -- both paths -- */

static unsigned refused[REASON_MAX];

static enum reason ask_both(const struct frame *f, const char *what)
{
    struct judgement program = kernel_judge(&kernel, DIRECTION_IN, f->bytes, f->length, now_ns);
    struct judgement worker = workers_judge(DIRECTION_IN, f->bytes, f->length, now_ns);

    if (program.reason != worker.reason || program.tenant != worker.tenant)
        fail_msg("packet %u, %s: the program says %s to tenant %u, a worker %s to %u", made, what,
                 reason_name(program.reason), program.tenant, reason_name(worker.reason),
                 worker.tenant);
    refused[program.reason]++;
    return program.reason;
}

static enum reason ask_syn(unsigned network)
{
    struct frame f;

    write_packet(&f, WHAT_SYN, new_client(network), 0);
    return ask_both(&f, "SYN");
}

static uint64_t program_tokens(enum site_tenant tenant)
{
    const struct xdp_tenant_state state = kernel_tenant_state(&kernel, site_tenant_id(tenant));
    struct bucket_rate rate = quota_rate_of_events(&site.tenants[tenant].attempts);

    return bucket_tokens(&state.attempts, &rate, now_ns);
}

/* How many attempts a tenant has left, found out by making them. */
static unsigned drain(unsigned network)
{
    unsigned n = 0;

    while (ask_syn(network) == REASON_NONE)
        n++;
    return n;
}

/* -- traces -- */

static const char *random_client(enum what what, unsigned *network)
{
    static const unsigned networks[] = {1, 1, 1, 2, 3, 4, 7}; /* 7: nobody's */
    static char text[48];

    *network = networks[random_below(&seed, sizeof(networks) / sizeof(*networks))];
    if (what != WHAT_CHAIN)
        return new_client(*network);
    made++;
    snprintf(text, sizeof(text), "2001:db8:%u::%x", *network, made);
    return text;
}

static void random_packet(void)
{
    static const char *const names[WHATS] = {"SYN", "datagram", "ACK", "echo", "fragment", "chain"};
    enum what what = (enum what)random_below(&seed, WHATS + 3);
    unsigned network;
    struct frame f;

    what = what >= WHATS ? WHAT_SYN : what;
    const char *client = random_client(what, &network);

    write_packet(&f, what, client, (uint32_t)random_below(&seed, 1200));
    ask_both(&f, names[what]);
}

static void case_A08_quotas_of_a_random_trace_are_the_same_on_both_paths(void **state)
{
    uint64_t tokens;

    (void)state;
    memset(refused, 0, sizeof(refused));
    for (uint32_t i = 0; i < TRACE_PACKETS; i++) {
        now_ns += random_below(&seed, 10) ? random_below(&seed, 4 * CORE_MS)
                                          : random_below(&seed, CORE_S / 10);
        random_packet();
    }
    /* Each limit was met, and so was none of them. */
    assert_in_range(refused[REASON_NONE], 3000, 4000);
    assert_in_range(refused[REASON_RATE], 1000, 2000);
    assert_in_range(refused[REASON_PACKETS], 300, 900);
    assert_in_range(refused[REASON_BITS], 300, 900);
    now_ns += CORE_S / 5;
    tokens = program_tokens(SITE_ACME);
    assert_in_range(tokens, 4, 11);
    assert_int_equal(drain(1), tokens);
    assert_int_equal(program_tokens(SITE_ACME), 0);
    assert_true(kernel_balanced(&kernel));
}

/* A11 of one tenant: after idling burst + 1 at once, then rate x t. */
static void case_A01_a_burst_and_then_the_rate_on_both_paths(void **state)
{
    unsigned admitted = 0;

    (void)state;
    now_ns += 100 * CORE_S;
    assert_int_equal(drain(1), 11);
    for (unsigned i = 0; i < 400; i++) { /* 4 s of 100/s against 20/s */
        now_ns += 10 * CORE_MS;
        admitted += ask_syn(1) == REASON_NONE;
    }
    assert_int_equal(admitted, 80);
}

static void health_checks_have_tokens_of_their_own_on_both_paths(void **state)
{
    unsigned passed = 0;

    (void)state;
    for (unsigned i = 0; i < 10; i++) /* tenant `blocked`, but for what probes may */
        passed += ask_syn(2) == REASON_NONE;
    assert_int_equal(passed, 0);
    for (unsigned i = 0; i < 10; i++) {
        struct frame f;
        char client[32];

        made++;
        snprintf(client, sizeof(client), "10.2.200.%u", i + 1);
        write_packet(&f, WHAT_SYN, client, 0);
        passed += ask_both(&f, "health check") == REASON_NONE;
    }
    assert_int_equal(passed, 3);
}

static void publish_shed(const struct advice *said)
{
    uint32_t id = site_service_id(SITE_WEB);

    *workers_advice(id) = *said;
    xdp_advice_write(&kernel.arrays.advice[id], said, 0);
}

static void the_same_clients_are_shed_on_both_paths(void **state)
{
    struct advice said = {.shed = {HALF / 2, HALF, HALF / 4}, .turned_away = HALF / 8, .epoch = 5};

    (void)state;
    memset(refused, 0, sizeof(refused));
    for (unsigned i = 0; i < 2000; i++) {
        now_ns += CORE_MS;
        said.stamped_ns = now_ns - 300 * CORE_MS;
        publish_shed(&said);
        ask_syn(7);
    }
    /* bulk: a quarter, and a sixteenth of the rest: 2000 x (1 - 3/4 x 15/16) = 594 */
    assert_in_range(refused[REASON_SHED], 520, 670);
    assert_int_equal(refused[REASON_NONE] + refused[REASON_SHED], 2000);
    publish_shed(&(struct advice){0});
}

/* -- life -- */

static void limit_site(void)
{
    static struct policy_network probes;

    site.tenants[SITE_ACME].attempts = core_rate(20, 1, 10);
    site.tenants[SITE_ACME].packets = core_rate(400, 1, 50);
    site.tenants[SITE_ACME].bits = core_rate(2000000, 1, 20000);
    site.tenants[SITE_FEW].attempts = core_rate(300, 60, 3);
    site.tenants[SITE_FEW].packets = core_rate(4, 1, 2);
    site.tenants[SITE_NARROW].bits = core_rate(16000, 1, 3000);
    probes = site_network("10.2.200.0", 24);
    site.services[SITE_WEB].probes =
        (struct policy_probes){.prefixes = &probes, .n = 1, .attempts = core_rate(5, 1, 2)};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_A08_quotas_of_a_random_trace_are_the_same_on_both_paths),
        cmocka_unit_test(case_A01_a_burst_and_then_the_rate_on_both_paths),
        cmocka_unit_test(health_checks_have_tokens_of_their_own_on_both_paths),
        cmocka_unit_test(the_same_clients_are_shed_on_both_paths),
    };
    int failed;

    kernel_skip_if_missing();
    site_init(&site);
    limit_site();
    policy = site_policy(&site);
    workers_open(site_policy(&site));
    kernel_open(&kernel, &(struct kernel_plan){.policy = policy});
    kernel.arrays.control->seed = workers_seed();
    now_ns = workers_now_ns() + CORE_S;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_close(&kernel);
    policy_free(policy);
    workers_close();
    return failed;
}
