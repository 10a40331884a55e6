/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmet demand: what was refused for want of capacity and not served since. A piece of work enters
 * it once and leaves it once; what it costs a client in Retry-After follows from that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

static void set_window(struct gate *g, uint32_t slots)
{
    g->services[WEB].window = slots;
    gate_adopt(g);
}

static void assert_unmet(const struct gate *g, uint64_t refused, uint64_t served)
{
    assert_int_equal(gate_counts(g, WEB).refused_unique, refused);
    assert_int_equal(gate_counts(g, WEB).served_late, served);
}

static void end(struct gate *g, const struct attempt *a, enum outcome outcome)
{
    const struct ending ending = {.outcome = outcome, .client = a->client};

    admission_complete(g->crew.workers[0],
                       &(struct slot){.tenant = a->tenant, .service = a->service}, &ending,
                       g->now_ns);
}

/* Neither what quotas refused nor what the gateway had no room for is work that the service still
 * has to serve, so 30 that were shed remain, at 10 a second. */
static void what_quotas_refused_does_not_leave_the_backlog(void **state)
{
    struct gate *g = *state;
    struct attempt late[20], shed;
    struct service_view view;

    g->tenants[BULK].window = 0;
    g->services[WEB].capacity = core_rate(10, 1, 0);
    g->services[WEB].deadline_ns = 1000 * CORE_S;
    gate_adopt(g);
    gate_steer(g);
    g->crew.shared->services[WEB].advice.by_attempt = 0; /* else nobody is a retry */
    for (unsigned i = 0; i < 20; i++) {
        late[i] = gate_attempt(g, BULK, WEB);
        if (i < 10)
            assert_int_equal(gate_offer(g, 0, &late[i]).reason, REASON_SHARE);
        else
            admission_refuse(g->crew.workers[0], &late[i], REASON_TABLE, g->now_ns);
    }
    for (unsigned i = 0; i < 30; i++) {
        shed = gate_attempt(g, NORMAL, WEB);
        admission_refuse(g->crew.workers[0], &shed, REASON_SHED, g->now_ns);
    }
    g->tenants[BULK].window = POLICY_WINDOW_MAX;
    gate_adopt(g);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(gate_offer(g, 0, &late[i]).verdict, VERDICT_ADMIT);
    assert_unmet(g, 30, 0);
    assert_int_equal(gate_counts(g, WEB).offered, 50); /* they were taken for retries */
    g->now_ns += 50 * CORE_MS;
    gate_steer(g);
    admission_control_view(g->control, policy_service(g->crew.policy, WEB), g->now_ns, &view);
    assert_int_equal(view.backlog, 30);
    assert_int_equal(view.retry_after_s, 3);
}

/* It becomes so when capacity is what is missing, and then is served late. */
static void what_quotas_refused_first_may_enter_it(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    g->tenants[BULK].window = 0;
    gate_adopt(g);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_SHARE);
    g->tenants[BULK].window = POLICY_WINDOW_MAX;
    set_window(g, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    assert_unmet(g, 1, 0);
    set_window(g, POLICY_WINDOW_MAX);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_unmet(g, 1, 1);
}

/* Work that was admitted is no unmet demand, even if it fails; refused once more, it is again. */
static void what_failed_leaves_it_once(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);

    set_window(g, 0);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    set_window(g, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        end(g, &a, OUTCOME_RESET);
    }
    assert_unmet(g, 1, 1);
    set_window(g, 0);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    assert_unmet(g, 2, 1);
    set_window(g, 1);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    end(g, &a, OUTCOME_FINISHED);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_unmet(g, 2, 2);
}

/* Three of one client wait in vain side by side. They are three, and not the fourth that comes when
 * there is room. */
static void each_of_a_client_that_waited_leaves_it(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct released r;

    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = 100 * CORE_MS};
    set_window(g, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    g->now_ns += 100 * CORE_MS;
    while (gate_poll(g, 0, &r))
        assert_int_equal(r.decision.reason, REASON_CAPACITY);
    assert_unmet(g, 3, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    g->now_ns += 100 * CORE_MS;
    while (gate_poll(g, 0, &r))
        assert_int_equal(r.decision.reason, REASON_CAPACITY);
    assert_unmet(g, 3, 0); /* the same work */
    set_window(g, POLICY_WINDOW_MAX);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    assert_unmet(g, 3, 3);
}

/* A retry that waits first and then gets its slot leaves it as well. */
static void what_waited_at_last_leaves_it(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct released r;

    set_window(g, 0);
    assert_int_equal(gate_offer(g, 0, &a).reason, REASON_CAPACITY);
    g->services[WEB].wait = (struct policy_wait){.places = 4, .age_ns = 100 * CORE_MS};
    set_window(g, 1);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_WAIT);
    gate_done(g, NORMAL, 0);
    assert_true(gate_poll(g, 0, &r));
    assert_int_equal(r.decision.verdict, VERDICT_ADMIT);
    assert_unmet(g, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(what_quotas_refused_does_not_leave_the_backlog),
        OVERLOAD_TEST(what_quotas_refused_first_may_enter_it),
        OVERLOAD_TEST(what_failed_leaves_it_once),
        OVERLOAD_TEST(each_of_a_client_that_waited_leaves_it),
        OVERLOAD_TEST(what_waited_at_last_leaves_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
