/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overload control on four workers as they run in the daemon, with its control loop: more work than
 * two services have slots for, peers that do anything, hand-over rings that overflow, and limits
 * that change fifty times a second. Afterwards nothing is left of it: no slot, place or packet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/admission/state.h"
#include "tests/unit/core.h"
#include "tests/workers/crowd.h"

#define PERIOD_NS   (20 * CORE_MS) /* of the control loop; each time with a new policy */
#define PHASE_NS    (500 * CORE_MS)
#define PHASES      6    /* at least; more until the crowd has met with everything, */
#define PHASES_MAX  36   /* for a machine may be slow */
#define CALM        800u /* packets under way: they all fit into any hand-over ring */
#define WAITERS     64u
#define FEW         4u /* slots */
#define PATIENCE_NS (30 * CORE_S)

static uint64_t now_ns(void)
{
    return dataplane_now_ns(gate.dp);
}

/* -- the control thread -- */

static struct {
    uint64_t due_ns, published;
    bool still; /* policies stay as they are */
} control;

static void be_the_control_thread(void)
{
    if (now_ns() < control.due_ns)
        return;
    control.due_ns = now_ns() + PERIOD_NS;
    if (!control.still && publication_has_room(&gate.dp->publication)) {
        control.published++;
        assert_int_equal(dataplane_publish(gate.dp, crowd_policy(control.published)), 0);
    }
    dataplane_tend(gate.dp);
}

static uint32_t flows(void)
{
    uint32_t sum = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        sum += view.flows;
    }
    return sum;
}

static void wait_for(bool (*done)(void))
{
    uint64_t start_ns = now_ns();

    while (!done()) {
        if (now_ns() - start_ns > PATIENCE_NS)
            fail_msg("in vain: %u under way, %u flows, %" PRIu64 " slots, %" PRIu64 " sent",
                     crowd_under_way(), flows(), gate_slots(), crowd.sent);
        be_the_control_thread();
        if (crowd_answer() == 0)
            sched_yield();
    }
}

/* -- what is left -- */

static uint64_t held(void)
{
    uint64_t sum = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        sum += view.held;
    }
    return sum;
}

static bool all_balanced(void)
{
    struct worker_counters sum = gate_counters();

    for (uint32_t w = 0; w < WORKERS; w++)
        if (!gate_balanced(w))
            return false;
    return sum.handed_in == sum.handed_out;
}

static bool nothing_is_under_way(void)
{
    return crowd_under_way() == 0 && held() == 0 && all_balanced();
}

/* A flow goes when it has given back all it held: what is taken then is lost. */
static bool no_flow_is_left(void)
{
    return flows() == 0;
}

static void nothing_is_left_of_a_service(const struct service_shared *s)
{
    assert_int_equal(window_used(&s->window), 0);
    assert_int_equal(window_used(&s->waiting), 0);
    assert_int_equal(window_used(&s->connections), 0);
    assert_int_equal(window_opening(&s->window), 0);
    assert_int_equal(window_used(&s->health), 0);
    for (unsigned share = 0; share <= SHARES_MAX; share++) {
        assert_int_equal(window_used(&s->shares[share]), 0);
        assert_int_equal(window_used(&s->places[share]), 0);
    }
}

static uint64_t sum_of(const uint64_t *counts, unsigned n)
{
    uint64_t sum = 0;

    while (n-- > 0)
        sum += counts[n];
    return sum;
}

/* Every attempt is accounted for, and every slot was given back once. */
static struct admission_service_counters check_service(uint32_t service)
{
    struct admission_service_counters c;
    uint64_t refused, unstarted;

    dataplane_service_counters(gate.dp, service, &c);
    refused = sum_of(c.refused, REASON_ATTEMPT_MAX);
    unstarted = c.attempts - c.admitted - refused - c.cancelled -
                window_used(&gate.dp->shared->services[service].waiting);
    if (service == CROWD_WEB)
        assert_int_equal(unstarted, 0);
    assert_true(unstarted <= c.connected); /* without a first request */
    assert_int_equal(sum_of(c.outcomes, OUTCOME_MAX), c.admitted + c.adopted);
    assert_int_equal(sum_of(c.ledger.pieces, LEDGER_MAX), c.admitted - c.health);
    assert_int_equal(c.reclaimed, 0);
    return c;
}

static void nothing_is_left(void)
{
    struct admission_service_counters web, api;
    uint64_t attempts = 0, admitted = 0, cancelled = 0;

    assert_int_equal(gate_slots(), 0);
    for (uint32_t i = 0; i < CROWD_SERVICES; i++)
        nothing_is_left_of_a_service(&gate.dp->shared->services[i]);
    web = check_service(CROWD_WEB);
    api = check_service(CROWD_API);
    for (uint32_t t = 0; t < CROWD_TENANTS; t++) {
        struct admission_tenant_counters tenant;

        assert_int_equal(window_used(dataplane_tenant_window(gate.dp, t)), 0);
        dataplane_tenant_counters(gate.dp, t, &tenant);
        attempts += tenant.attempts;
        admitted += tenant.admitted;
        cancelled += tenant.cancelled;
    }
    assert_int_equal(attempts, web.attempts + api.attempts);
    assert_int_equal(admitted, web.admitted + api.admitted);
    assert_int_equal(cancelled, web.cancelled + api.cancelled);
    assert_int_equal(web.outcomes[OUTCOME_AGED] + api.outcomes[OUTCOME_AGED],
                     gate_counters().aged_slots);
    assert_int_equal(rte_mempool_in_use_count(gate.dp->pool), 0);
}

/* -- in order -- */

static void the_workers_start(void **state)
{
    (void)state;
    assert_int_equal(dataplane_start(gate.dp), 0);
    control.due_ns = now_ns();
    wait_for(nothing_is_under_way);
}

/* As many at once as fit into `most` packets under way, of one owner or (WORKERS) of all. */
static void let_them_ask(unsigned most, uint32_t owner)
{
    uint64_t start_ns = now_ns();

    for (unsigned i = 0; now_ns() - start_ns < PHASE_NS; i++) {
        unsigned sent = 0;

        while (sent < 256 && crowd_under_way() < most &&
               crowd_begin((enum crowd_service)(i++ % CROWD_SERVICES), owner))
            sent++;
        be_the_control_thread();
        if (crowd_answer() + sent == 0)
            sched_yield();
    }
}

static void print_service(const char *name, uint32_t service)
{
    struct admission_service_counters c;

    dataplane_service_counters(gate.dp, service, &c);
    print_message("# %s: attempts %" PRIu64 ", admitted %" PRIu64 ", waited %" PRIu64
                  ", cancelled %" PRIu64 ", adopted %" PRIu64 ", health %" PRIu64
                  ", connected %" PRIu64 ", aged %" PRIu64 "\n",
                  name, c.attempts, c.admitted, c.waited, c.cancelled, c.adopted, c.health,
                  c.connected, c.outcomes[OUTCOME_AGED]);
    for (unsigned r = 0; r < REASON_ATTEMPT_MAX; r++)
        if (c.refused[r])
            print_message("#   refused %s %" PRIu64 "\n", reason_name((enum reason)r),
                          c.refused[r]);
}

static bool met_with_all_of(uint32_t service)
{
    struct admission_service_counters c;

    dataplane_service_counters(gate.dp, service, &c);
    return c.admitted > 100 && c.waited > 100 && c.cancelled > 0 &&
           c.refused[REASON_CAPACITY] > 0 && c.refused[REASON_BREAKER] > 0 &&
           c.outcomes[OUTCOME_AGED] > 0 && c.outcomes[OUTCOME_RESET] > 0;
}

/* A run that never came to a place proves nothing about it. */
static bool met_with_everything(void)
{
    return gate_counters().handoff_failed > 0 && gate_counters().made > 0 && crowd.replies > 100 &&
           crowd.resets > 100 && met_with_all_of(CROWD_WEB) && met_with_all_of(CROWD_API);
}

static void nothing_is_left_of_a_crowd(void **state)
{
    (void)state;
    crowd.oddity_percent = 12;
    for (uint32_t phase = 0; phase < PHASES || (phase < PHASES_MAX && !met_with_everything());
         phase++) {
        let_them_ask(phase % 2 ? UINT32_MAX : CALM, phase % 2 ? phase / 2 % WORKERS : WORKERS);
        wait_for(nothing_is_under_way);
        wait_for(no_flow_is_left); /* what their peers have forgotten goes by age */
        nothing_is_left();
    }
    print_service("web", CROWD_WEB);
    print_service("api", CROWD_API);
    print_message("# %" PRIu64 " policies, %" PRIu64 " packets, %" PRIu64 " not handed over\n",
                  control.published, crowd.sent, gate_counters().handoff_failed);
    assert_true(met_with_everything());
}

/* -- the end -- */

static bool all_are_judged(void)
{
    return gate_counters().received == crowd.sent && crowd_under_way() == held() && all_balanced();
}

static bool somebody_waits_everywhere(void)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        if (view.held == 0)
            return false;
    }
    return true;
}

/* Few slots, and places in which one may wait for longer than this test takes. */
static void publish_a_long_wait(void)
{
    struct policy_ports ports = {CROWD_PORT, CROWD_PORT};
    struct address address = core_address(CROWD_WEB_ADDRESS);
    struct policy_tenant tenant = core_tenant(0);
    struct policy_service service = core_service(CROWD_WEB, &address, &ports);
    struct policy_spec spec = {.tenants = &tenant,
                               .services = &service,
                               .n_tenants = 1,
                               .n_services = 1,
                               .epoch = ++control.published};
    struct policy *policy;

    service.window = FEW;
    service.wait = (struct policy_wait){.places = WAITERS, .age_ns = 60 * CORE_S};
    assert_int_equal(policy_create(&spec, &policy), 0);
    assert_int_equal(dataplane_publish(gate.dp, policy), 0);
    control.still = true;
}

static bool the_policy_is_taken(void)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        if (view.policy_epoch != control.published)
            return false;
    }
    return true;
}

/* Of what the gateway sheds after the storm, and of retries, not everything comes to wait. */
static uint64_t ask_until_somebody_waits_everywhere(void)
{
    uint64_t start_ns = now_ns(), asked = 0;

    for (; !somebody_waits_everywhere(); asked += WORKERS) {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        for (uint32_t w = 0; w < WORKERS; w++)
            assert_true(crowd_begin(CROWD_WEB, w));
        be_the_control_thread();
        wait_for(all_are_judged);
    }
    return asked;
}

/* Stopped while packets wait and more come: each is answered or counted, and none is lost. */
static void workers_that_stop_dismiss_who_waits(void **state)
{
    struct admission_service_counters before, after;
    uint64_t asked;
    char why[128];

    (void)state;
    publish_a_long_wait();
    wait_for(the_policy_is_taken);
    dataplane_service_counters(gate.dp, CROWD_WEB, &before);
    crowd.oddity_percent = 0;
    crowd.services_are_silent = true; /* opening slots age, so somebody gets in; they stay full */
    asked = ask_until_somebody_waits_everywhere();
    for (unsigned i = 0; i < 1000; i++)
        assert_true(crowd_begin(CROWD_WEB, WORKERS));
    if (dataplane_stop(gate.dp, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    assert_true(all_balanced());
    assert_int_equal(held(), 0);
    while (crowd_discard() > 0)
        ;
    assert_int_equal(crowd_under_way(), 0);
    assert_int_equal(gate_counters().received, crowd.sent);
    dataplane_service_counters(gate.dp, CROWD_WEB, &after);
    assert_int_equal(window_used(&gate.dp->shared->services[CROWD_WEB].waiting), 0);
    assert_int_equal(after.attempts - before.attempts, asked + 1000);
    assert_int_equal(after.attempts,
                     after.admitted + sum_of(after.refused, REASON_ATTEMPT_MAX) + after.cancelled);
    assert_true(after.refused[REASON_GATEWAY] - before.refused[REASON_GATEWAY] >= WORKERS);
    crowd_close();
    dataplane_destroy(gate.dp);
}

static int open_all(void **state)
{
    const struct gate_plan plan = {.policy = crowd_policy(0),
                                   .n_tenants = CROWD_TENANTS,
                                   .n_services = CROWD_SERVICES,
                                   .waiting_max = WAITERS};

    (void)state;
    gate_open_as(&plan);
    crowd_open();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workers_start),
        cmocka_unit_test(nothing_is_left_of_a_crowd),
        cmocka_unit_test(workers_that_stop_dismiss_who_waits),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
