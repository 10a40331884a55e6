/* SPDX-License-Identifier: BSD-3-Clause */
/* What listings are told of tenants and services. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

#define DEADLINE_NS (100 * CORE_MS)

static int64_t occupancy_ms(const struct gate *g, uint32_t tenant)
{
    return admission_occupancy_ms(g->crew.shared, &g->tenants[tenant], g->now_ns);
}

/* On worker `worker`, by somebody of NORMAL, and how it ends. */
static void work(struct gate *g, uint32_t worker, struct ending ending)
{
    struct attempt a = gate_attempt(g, NORMAL, WEB);
    struct decision d = gate_offer(g, worker, &a);
    const struct slot slot = {.tenant = NORMAL, .service = WEB, .held = d.held};

    assert_int_equal(d.verdict, VERDICT_ADMIT);
    admission_complete(g->crew.workers[worker], &slot, &ending, g->now_ns);
}

/* Ten seconds of the rate at first, less what was held, and back with time. */
static void level_of_a_quota_in_erlangs(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].milli_erlangs = 2500;
    gate_adopt(g);
    assert_int_equal(occupancy_ms(g, NORMAL), 25000);
    work(g, 0, (struct ending){.held_ns = 26750 * CORE_MS});
    assert_int_equal(occupancy_ms(g, NORMAL), -1750);
    g->now_ns += CORE_S;
    assert_int_equal(occupancy_ms(g, NORMAL), 750);
}

static void retry_budgets_are_each_tenants_own(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    assert_true(retry_take(&g->crew.shared->tenants[NORMAL].retries));
    assert_int_equal(admission_retry_tenths(g->crew.shared, NORMAL), RETRY_RESERVE - RETRY_COST);
    assert_int_equal(admission_retry_tenths(g->crew.shared, BULK), RETRY_RESERVE);
}

static void shares_show_what_they_use(void **state)
{
    struct gate *g = *state;
    struct attempt a = gate_attempt(g, NORMAL, WEB);

    g->shares[0] = (struct policy_share){.tenant = NORMAL, .guaranteed = 2, .ceiling = 4, 1};
    g->services[WEB].window = 8;
    g->services[WEB].shares = g->shares;
    g->services[WEB].n_shares = 1;
    gate_adopt(g);
    a.share = (uint8_t)policy_share_of(g->crew.policy, WEB, NORMAL);
    for (unsigned i = 0; i < 3; i++, a.flow++)
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    gate_fill(g, BULK, 2);
    assert_int_equal(window_used(admission_share_window(g->crew.shared, WEB, 1)), 3);
    assert_int_equal(window_used(admission_share_window(g->crew.shared, WEB, 0)), 2);
}

static uint64_t quantile_ns(const struct gate *g, uint32_t worker, enum latency latency,
                            uint32_t ppm)
{
    struct histogram sum = {0};
    uint64_t ns;

    admission_sum_latency(g->crew.workers[worker], WEB, latency, &sum);
    assert_true(histogram_quantile_ns(&sum, ppm, &ns));
    return ns;
}

static uint64_t count(const struct gate *g, uint32_t worker, uint32_t service, enum latency latency)
{
    struct histogram sum = {0};

    admission_sum_latency(g->crew.workers[worker], service, latency, &sum);
    return histogram_count(&sum);
}

static uint64_t cell_ns(uint64_t ns)
{
    return histogram_upper_ns(histogram_index(ns));
}

/* Late work and work without a reply count as the deadline, to whoever waited for it. */
static void latencies_are_told_apart(void **state)
{
    struct gate *g = *state;
    const struct slot slot = {.tenant = NORMAL, .service = WEB};

    g->services[WEB].deadline_ns = DEADLINE_NS;
    gate_adopt(g);
    admission_connected(g->crew.workers[1], &slot, 3 * CORE_MS);
    work(g, 1, (struct ending){.outcome = OUTCOME_FINISHED, .latency_ns = 20 * CORE_MS});
    work(g, 1, (struct ending){.outcome = OUTCOME_FINISHED, .latency_ns = 300 * CORE_MS});
    work(g, 1, (struct ending){.outcome = OUTCOME_RESET, .latency_ns = 5 * CORE_MS});

    assert_int_equal(count(g, 1, WEB, LATENCY_CONNECT), 1);
    assert_int_equal(quantile_ns(g, 1, LATENCY_CONNECT, 1000000), cell_ns(3 * CORE_MS));
    assert_int_equal(count(g, 1, WEB, LATENCY_REPLY), 2);
    assert_int_equal(quantile_ns(g, 1, LATENCY_REPLY, 1000000), cell_ns(300 * CORE_MS));
    assert_int_equal(count(g, 1, WEB, LATENCY_EFFECTIVE), 3);
    assert_int_equal(quantile_ns(g, 1, LATENCY_EFFECTIVE, 0), cell_ns(20 * CORE_MS));
    assert_int_equal(quantile_ns(g, 1, LATENCY_EFFECTIVE, 500000), cell_ns(DEADLINE_NS));
    assert_int_equal(count(g, 1, API, LATENCY_EFFECTIVE), 0);
    assert_int_equal(count(g, 0, WEB, LATENCY_EFFECTIVE), 0);
}

/* In a replay the loop never runs: nothing is known, and nobody is turned away. */
static void before_the_first_period_all_is_let_in(void **state)
{
    struct gate *g = *state;
    struct service_view view;

    gate_adopt(g);
    g->control = admission_control_init(core_memory(admission_control_bytes(&g->crew.shared->size)),
                                        g->crew.shared, g->crew.workers);
    admission_control_view(g->control, &g->services[API], g->now_ns, &view);
    assert_true(view.admit == 1);
    assert_true(view.capacity_per_s == 0);
    assert_int_equal(view.slots_needed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(level_of_a_quota_in_erlangs),
        OVERLOAD_TEST(retry_budgets_are_each_tenants_own),
        OVERLOAD_TEST(shares_show_what_they_use),
        OVERLOAD_TEST(before_the_first_period_all_is_let_in),
        OVERLOAD_TEST_FOUR(latencies_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
