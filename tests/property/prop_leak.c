/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A million flows through a window while peers vanish: flow table, lifecycle and admission
 * together, in virtual time. Whoever vanishes keeps his slot for the idle timeout; Little's law
 * says what that costs, so a window of W slots loses no more than a twentieth of what it lets
 * through if the timeout is no longer than .05 W / (f * rate), f the share of those who vanish.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/flow/lifecycle.h"
#include "tests/property/random.h"
#include "tests/unit/flows.h"

#define FLOWS      1000000u
#define WINDOW     1000u
#define WORK_NS    (200 * CORE_MS)
#define FULL_PER_S 5000u /* WINDOW / WORK_NS */
#define STEP_NS    (100000ull)
#define OFFERED    750u /* attempts in 1000 steps: half as much again as fits */
#define IDLE_MAX   10000u
#define LONGEST_NS (2000 * CORE_S)
#define SETTLED_NS (300 * CORE_MS) /* after the idle timeout */

struct peer {
    uint32_t number;
    uint64_t ends_ns;
};

struct leak {
    /* set by the test */
    uint32_t vanish_ppm, idle_ms;
    uint32_t flows;      /* to be let in */
    uint32_t lose_every; /* one slot in so many is one that no flow holds; 0: none */
    /* what it works with */
    struct admission_shared *shared;
    struct admission *adm;
    struct flow_table *table;
    struct policy *policy;
    struct flow_timeouts timeouts;
    struct peer peers[WINDOW]; /* a ring; all work takes the same time */
    uint32_t first, n_peers;
    uint64_t seed, now_ns, last_packet_ns, due;
    uint32_t offered, admitted, lost, vanished;
};

static void adopt_policy(struct leak *l)
{
    struct address address = core_address("10.9.0.10");
    struct policy_ports ports = {80, 80};
    struct policy_tenant tenant = core_tenant(0);
    struct policy_service service = core_service(0, &address, &ports);
    const struct policy_spec spec = {
        .tenants = &tenant, .services = &service, .n_tenants = 1, .n_services = 1};

    service.window = WINDOW;
    tenant.window = WINDOW;
    assert_int_equal(policy_create(&spec, &l->policy), 0);
    admission_shared_adopt(l->shared, l->policy, l->now_ns);
    admission_adopt(l->adm, l->policy, l->now_ns);
}

static void leak_start(struct leak *l)
{
    const struct admission_size size = {.n_tenants = 1, .n_services = 1, .n_workers = 1};

    l->seed = 1;
    l->now_ns = CORE_S;
    l->timeouts = (struct flow_timeouts){.embryonic_ms = 3000,
                                         .tcp_idle_ms = l->idle_ms,
                                         .udp_idle_ms = 30000,
                                         .fin_ms = 2000,
                                         .linger_ms = 1000,
                                         .owed_max_ms = l->idle_ms};
    l->shared = admission_shared_init(core_memory(admission_shared_bytes(&size)), &size);
    l->adm = admission_init(core_memory(admission_bytes(&size)), l->shared, 0);
    l->table = flows_start(1u << 16);
    adopt_policy(l);
    flow_table_tick(l->table, l->now_ns);
}

static void leak_stop(struct leak *l)
{
    policy_free(l->policy);
    free(l->table);
    free(l->adm);
    free(l->shared);
}

static uint32_t used(const struct leak *l)
{
    uint32_t service = window_used(admission_service_window(l->shared, 0));

    assert_int_equal(window_used(admission_tenant_window(l->shared, 0)), service);
    return service;
}

/* -- what a worker does -- */

static struct flow_moment moment(const struct leak *l)
{
    return flow_moment(flow_table_now_ms(l->table), l->now_ns);
}

static void free_slot(struct leak *l, struct flow *flow, enum outcome outcome)
{
    const struct slot slot = {.held = flow->held};

    if (!(flow->flags & FLOW_HAS_SLOT))
        return;
    flow->flags &= (uint8_t)~FLOW_HAS_SLOT;
    admission_complete(l->adm, &slot, &(struct ending){.outcome = outcome}, l->now_ns);
}

static void expire(struct flow_table *table, struct flow *flow, void *context)
{
    struct leak *l = context;
    enum outcome outcome;

    const struct slot slot = {.held = flow->held};

    if (flow->flags & FLOW_HAS_SLOT)
        admission_survey_slot(l->adm, &slot, flow_since_ns(flow->slot_since, l->now_ns));
    if (!flow_expired(flow, &l->timeouts, flow_table_now_ms(table), &outcome))
        return;
    free_slot(l, flow, outcome);
    flow_remove(table, flow);
}

static void sweep(struct leak *l)
{
    flow_table_tick(l->table, l->now_ns);
    while (flow_table_sweep(l->table, expire, l))
        admission_survey_end(l->adm);
}

static void pass(struct leak *l, struct flow *flow, enum direction direction, uint8_t flags,
                 uint32_t payload_bytes)
{
    const struct packet packet = {.kind = PACKET_TCP,
                                  .protocol = PROTOCOL_TCP,
                                  .tcp_flags = flags,
                                  .payload_bytes = payload_bytes};
    struct flow_change change = flow_advance(flow, &packet, direction, moment(l));

    l->last_packet_ns = l->now_ns;
    if (flow->held & SLOT_OPENING && flow->state > FLOW_ANSWERED) {
        struct slot slot = {.held = flow->held};

        admission_confirmed(l->adm, &slot);
        flow->held = slot.held;
    }
    if (change.effect == FLOW_EFFECT_ENDED)
        free_slot(l, flow, (enum outcome)change.outcome);
}

/* -- peers -- */

static bool ask(struct leak *l, uint8_t *held)
{
    const struct attempt attempt = {
        .ip_bytes = 60, .flags = ATTEMPT_SYN, .client = l->offered, .flow = l->offered};
    struct decision decision = admission_offer(l->adm, &attempt, l->now_ns);

    *held = decision.held;
    return decision.verdict == VERDICT_ADMIT;
}

static void arrive(struct leak *l)
{
    const struct packet syn = {.kind = PACKET_TCP, .protocol = PROTOCOL_TCP, .tcp_flags = TCP_SYN};
    struct flow *flow;
    uint8_t held;

    l->offered++;
    if (!ask(l, &held))
        return;
    if (l->lose_every && random_below(&l->seed, l->lose_every) == 0) {
        struct slot slot = {.held = held};

        admission_confirmed(l->adm, &slot);
        l->lost++;
        return;
    }
    flow = flows_insert(l->table, l->admitted);
    assert_non_null(flow);
    flow_restart(flow, &syn, UNIT_CONNECTION, moment(l));
    flow->service = flow->tenant = 0;
    flow->held = held;
    flow->slot_since = flow_time(l->now_ns);
    flow->flags |= FLOW_HAS_SLOT;
    l->peers[(l->first + l->n_peers++) % WINDOW] =
        (struct peer){l->admitted++, l->now_ns + WORK_NS};
    pass(l, flow, DIRECTION_OUT, TCP_SYN | TCP_ACK, 0);
    pass(l, flow, DIRECTION_IN, TCP_ACK, 100);
}

/* The reply; then both close, or the client vanishes and the service with him. */
static void end(struct leak *l, uint32_t number)
{
    struct flow *flow = flows_find(l->table, number);

    assert_non_null(flow);
    pass(l, flow, DIRECTION_OUT, TCP_ACK, 100);
    if (random_below(&l->seed, 1000000) < l->vanish_ppm) {
        l->vanished++;
        return;
    }
    pass(l, flow, DIRECTION_IN, TCP_FIN | TCP_ACK, 0);
    pass(l, flow, DIRECTION_OUT, TCP_FIN | TCP_ACK, 0);
}

static void step(struct leak *l, bool attempts)
{
    l->now_ns += STEP_NS;
    if (l->now_ns % CORE_MS == 0)
        sweep(l);
    while (l->n_peers && l->peers[l->first].ends_ns <= l->now_ns) {
        end(l, l->peers[l->first].number);
        l->first = (l->first + 1) % WINDOW;
        l->n_peers--;
    }
    for (l->due += OFFERED; attempts && l->due >= 1000; l->due -= 1000)
        arrive(l);
}

/* Lets all of them in; returns how many a second once the first of those who vanish have aged. */
static double play(struct leak *l)
{
    const uint64_t from_ns = CORE_S + l->idle_ms * CORE_MS + CORE_S;
    uint32_t before = 0;
    double per_s;

    leak_start(l);
    while (l->admitted < l->flows) {
        assert_true(l->now_ns < LONGEST_NS); /* or nothing moves any more */
        step(l, true);
        if (l->now_ns == from_ns)
            before = l->admitted;
    }
    per_s = (double)(l->admitted - before) * 1e9 / (double)(l->now_ns - from_ns);
    while (l->n_peers)
        step(l, false);
    return per_s;
}

static void settle(struct leak *l, uint64_t for_ns)
{
    const uint64_t until_ns = l->last_packet_ns + for_ns;

    while (l->now_ns < until_ns)
        step(l, false);
}

static struct admission_service_counters counts(const struct leak *l)
{
    return *admission_service_counters(l->adm, 0);
}

/* All slots are free in time, and each was freed by its flow. Returns admissions a second. */
static double play_to_the_end(uint32_t vanish_ppm, uint32_t idle_ms, uint32_t flows)
{
    static struct leak l;
    double per_s;

    l = (struct leak){.vanish_ppm = vanish_ppm, .idle_ms = idle_ms, .flows = flows};
    per_s = play(&l);
    settle(&l, idle_ms * CORE_MS + SETTLED_NS);
    assert_int_equal(used(&l), 0);
    assert_int_equal(counts(&l).reclaimed, 0);
    assert_int_equal(counts(&l).admitted, flows);
    assert_int_equal(counts(&l).outcomes[OUTCOME_AGED], l.vanished);
    assert_int_equal(counts(&l).outcomes[OUTCOME_FINISHED], flows - l.vanished);
    assert_true(l.vanished <= flows * (uint64_t)vanish_ppm / 1000000 * 11 / 10);
    assert_true(l.vanished >= flows * (uint64_t)vanish_ppm / 1000000 * 9 / 10);
    leak_stop(&l);
    print_message(
        "# %6.2f %% vanish, idle timeout %5u ms: %6.1f admitted/s, %4.1f %% less than %u\n",
        vanish_ppm / 1e4, idle_ms, per_s, 100 - 100 * per_s / FULL_PER_S, FULL_PER_S);
    return per_s;
}

/* The timeout, and what the sweep takes to notice, of one in a hundred. */
static const uint32_t fits_ms = 1000 * WINDOW / 20 / (FULL_PER_S / 100) - FLOW_SWEEP_MS;

static void case_B05_nothing_is_left_of_who_vanishes(void **state)
{
    static const uint32_t vanish_ppm[] = {0, 10000, 100000, 1000000};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        play_to_the_end(vanish_ppm[i], fits_ms, FLOWS);
}

static void case_B05_the_window_loses_little_if_the_timeout_fits(void **state)
{
    double all = play_to_the_end(0, fits_ms, FLOWS / 4);
    double fits = play_to_the_end(10000, fits_ms, FLOWS / 4);
    double too_long = play_to_the_end(10000, IDLE_MAX, FLOWS / 4);

    (void)state;
    assert_true(all >= .99 * FULL_PER_S);
    assert_true(fits >= .95 * all);
    /* Little: 1 / (1 + f T / .2 s) */
    assert_true(too_long < .70 * all && too_long > .60 * all);
}

/* Slots that no flow holds, one in 250, fill the window in the end; then nothing moves in it, they
 * are counted, and it goes on. */
static void case_B05_slots_without_a_flow_come_back(void **state)
{
    static struct leak l;

    (void)state;
    l = (struct leak){.idle_ms = fits_ms, .flows = FLOWS / 2, .lose_every = 250};
    play(&l);
    assert_true(l.lost > WINDOW);            /* more than once full of them */
    settle(&l, 4 * FLOW_SWEEP_MS * CORE_MS); /* three whole passes in which nothing moves */
    assert_int_equal(used(&l), 0);
    assert_int_equal(counts(&l).reclaimed, l.lost);
    print_message("# %u slots without a flow, all returned, beside %u flows\n", l.lost, l.admitted);
    leak_stop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_B05_nothing_is_left_of_who_vanishes),
        cmocka_unit_test(case_B05_the_window_loses_little_if_the_timeout_fits),
        cmocka_unit_test(case_B05_slots_without_a_flow_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
