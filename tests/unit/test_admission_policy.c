/* SPDX-License-Identifier: BSD-3-Clause */
/* What a new policy leaves as it was: tokens, slots, and who is inside. */
#include "tests/unit/admitting.h"

static void new_policy_refills_nothing(void **state)
{
    struct gate *g = *state;

    g->tenants[ACME].attempts = core_rate(20, 1, 10);
    adopt(g);
    for (unsigned i = 0; i < 11; i++)
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    for (unsigned i = 0; i < 100; i++) {
        g->tenants[ACME].attempts = core_rate(i % 2 ? 20 : 2000000, i % 3 ? 1 : 60, i % 7 * 100);
        adopt(g);
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_RATE);
    }
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->admitted, 11);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->refused[REASON_RATE], 100);
    assert_int_equal(share_used(g, ACME), 11);
    assert_int_equal(capacity_used(g, WEB), 11);

    g->tenants[ACME].attempts = core_rate(200, 1, 0);
    adopt(g);
    g->now_ns = CORE_S / 200;
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_RATE);
}

static void new_tenant_starts_full_late_in_life(void **state)
{
    struct gate *g = *state;

    g->now_ns = 400 * 86400 * CORE_S;
    g->tenants[ACME].attempts = core_rate(1, 86400, 2);
    adopt(g);
    assert_int_equal(tokens(g, ACME), 3);
}

static void smaller_window_is_debt(void **state)
{
    struct gate *g = *state;
    const struct window *share = admission_tenant_window(g->shared, ACME);

    adopt(g);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    g->tenants[ACME].window = 3;
    adopt(g);
    assert_int_equal(window_debt(share, 3), 2);
    for (unsigned left = 5; left >= 3; left--) {
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_SHARE);
        complete(g, ACME, WEB);
    }
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    assert_int_equal(window_used(share), 3);
    assert_int_equal(window_peak(share), 5);
}

static void adopted_flows_are_debt_and_no_attempts(void **state)
{
    struct gate *g = *state;
    struct slot slot = {.tenant = ACME, .service = WEB};

    g->tenants[ACME].attempts = core_rate(20, 1, 10);
    g->services[WEB].window = 2;
    adopt(g);
    for (unsigned i = 0; i < 3; i++)
        admission_adopt_flow(g->adm, &slot);
    assert_int_equal(window_debt(admission_service_window(g->shared, WEB), 2), 1);
    assert_int_equal(offer(g, OTHER, WEB, 60), REASON_CAPACITY);
    assert_int_equal(tokens(g, ACME), 11);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->attempts, 0);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->adopted, 3);
    assert_int_equal(admission_service_counters(g->adm, WEB)->adopted, 3);
    core_complete(g->adm, &slot, OUTCOME_AGED);
    core_complete(g->adm, &slot, OUTCOME_RESET);
    assert_int_equal(offer(g, OTHER, WEB, 60), REASON_NONE);
    assert_int_equal(admission_service_counters(g->adm, WEB)->outcomes[OUTCOME_AGED], 1);
    assert_int_equal(admission_service_counters(g->adm, WEB)->outcomes[OUTCOME_RESET], 1);
    assert_int_equal(admission_service_counters(g->adm, WEB)->outcomes[OUTCOME_FINISHED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        gate_test(new_policy_refills_nothing),
        gate_test(new_tenant_starts_full_late_in_life),
        gate_test(smaller_window_is_debt),
        gate_test(adopted_flows_are_debt_and_no_attempts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
