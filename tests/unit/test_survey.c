/* SPDX-License-Identifier: BSD-3-Clause */
/* The survey of a worker's slots: how long they have been held, and which are lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

/* A pass in which so many slots of tenants and services are found. */
static void survey(struct gate *g, uint32_t bulk_web, uint32_t normal_web, uint32_t normal_api)
{
    struct admission *adm = g->crew.workers[0];

    while (bulk_web--)
        admission_survey_slot(adm, &(struct slot){BULK, WEB, 0, 0}, CORE_MS);
    while (normal_web--)
        admission_survey_slot(adm, &(struct slot){NORMAL, WEB, 0, 0}, CORE_MS);
    while (normal_api--)
        admission_survey_slot(adm, &(struct slot){NORMAL, API, 0, 0}, CORE_MS);
    admission_survey_end(adm);
}

static void fill(struct gate *g, uint32_t tenant, uint32_t service, unsigned n)
{
    while (n--) {
        struct attempt a = gate_attempt(g, tenant, service);

        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    }
}

static void done(struct gate *g, uint32_t tenant, uint32_t service)
{
    core_complete(g->crew.workers[0], &(struct slot){.tenant = tenant, .service = service},
                  OUTCOME_FINISHED);
}

/* Two of five slots are held by no flow: after two quiet passes they are free, and not before. */
static void case_B05_lost_slots_come_back(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 5;
    g->tenants[BULK].window = 5;
    gate_adopt(g);
    fill(g, BULK, WEB, 5);
    survey(g, 3, 0, 0); /* things moved */
    survey(g, 3, 0, 0);
    assert_int_equal(gate_used(g, WEB), 5);
    survey(g, 3, 0, 0);
    assert_int_equal(gate_used(g, WEB), 3);
    assert_int_equal(gate_share_used(g, BULK), 3);
    assert_int_equal(gate_counts(g, WEB).reclaimed, 2);
    survey(g, 3, 0, 0);
    survey(g, 3, 0, 0);
    assert_int_equal(gate_used(g, WEB), 3);
    fill(g, BULK, WEB, 2);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_SHARE);
}

static void nothing_is_lost_while_slots_come_and_go(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    fill(g, BULK, WEB, 5);
    for (unsigned i = 0; i < 100; i++) {
        done(g, BULK, WEB);
        fill(g, BULK, WEB, 1);
        survey(g, 4, 0, 0); /* the new one lies where the pass had been */
    }
    for (unsigned i = 0; i < 100; i++)
        survey(g, i & 1 ? 4 : 3, 0, 0); /* never the same number twice */
    assert_int_equal(gate_used(g, WEB), 5);
    assert_int_equal(gate_share_used(g, BULK), 5);
    for (unsigned i = 0; i < 5; i++)
        done(g, BULK, WEB);
    assert_int_equal(gate_used(g, WEB), 0);
}

/* Bulk is busy elsewhere, and fewer of its slots are found than it has; what was lost is normal's.
 */
static void lost_slots_go_to_their_own_tenant(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    fill(g, NORMAL, API, 2);
    fill(g, BULK, WEB, 3);
    for (unsigned i = 0; i < 4; i++) {
        done(g, BULK, WEB);
        fill(g, BULK, WEB, 1);
        survey(g, 2, 0, 1);
    }
    assert_int_equal(gate_used(g, API), 1);
    assert_int_equal(gate_share_used(g, NORMAL), 1);
    assert_int_equal(gate_used(g, WEB), 3);
    assert_int_equal(gate_share_used(g, BULK), 3);
}

/* The tenant's own come back when it is quiet itself, however long that takes. */
static void busy_tenant_gets_its_lost_slots_later(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    fill(g, NORMAL, API, 2);
    fill(g, NORMAL, WEB, 1);
    for (unsigned i = 0; i < 9; i++) {
        done(g, NORMAL, WEB);
        fill(g, NORMAL, WEB, 1);
        survey(g, 0, 1, 1);
    }
    assert_int_equal(gate_used(g, API), 1);
    assert_int_equal(gate_share_used(g, NORMAL), 3);
    survey(g, 0, 1, 1);
    survey(g, 0, 1, 1);
    assert_int_equal(gate_share_used(g, NORMAL), 2);
    survey(g, 0, 1, 1);
    assert_int_equal(gate_share_used(g, NORMAL), 2);
}

/* What an earlier pass found of a tenant does not count when none of its slots is left. */
static void all_of_a_tenants_slots_may_be_lost(void **state)
{
    struct gate *g = *state;

    gate_adopt(g);
    fill(g, NORMAL, API, 2);
    survey(g, 0, 0, 2);
    for (unsigned i = 0; i < 3; i++)
        survey(g, 0, 0, 0);
    assert_int_equal(gate_used(g, API), 0);
    assert_int_equal(gate_share_used(g, NORMAL), 0);
    assert_int_equal(gate_counts(g, API).reclaimed, 2);
}

/* One part of its service's window is filled with slots that nobody will free, while others come
 * and go in the rest. */
static void lost_slots_go_to_their_own_share(void **state)
{
    struct gate *g = *state;
    const struct window *shares = g->crew.shared->services[WEB].shares;
    struct attempt bulk = gate_attempt(g, BULK, WEB), normal = gate_attempt(g, NORMAL, WEB);
    const struct slot own = {BULK, WEB, 1, SLOT_SHARED}, free_one = {NORMAL, WEB, 0, SLOT_SHARED};

    g->shares[0] = (struct policy_share){BULK, 2, 3, 1};
    g->services[WEB].shares = g->shares;
    g->services[WEB].n_shares = 1;
    g->services[WEB].window = 5;
    gate_adopt(g);
    bulk.share = 1;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(gate_offer(g, 0, &bulk).reason, i < 3 ? REASON_NONE : REASON_SHARE);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(window_used(&shares[1]), i < 3 ? 3 : 1);
        assert_int_equal(gate_offer(g, 0, &normal).verdict, VERDICT_ADMIT);
        admission_survey_slot(g->crew.workers[0], &own, CORE_MS);
        admission_survey_end(g->crew.workers[0]);
        core_complete(g->crew.workers[0], &free_one, OUTCOME_FINISHED);
    }
    assert_int_equal(gate_used(g, WEB), 1);
    assert_int_equal(window_used(&shares[0]), 0);
    assert_int_equal(gate_share_used(g, BULK), 1);
    assert_int_equal(gate_counts(g, WEB).reclaimed, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(gate_offer(g, 0, &bulk).reason, i < 2 ? REASON_NONE : REASON_SHARE);
}

/* Of four that were opening one is confirmed and one is still opening: the others' places among
 * those come back, and only two slots. */
static void lost_slots_are_opening_no_more(void **state)
{
    struct gate *g = *state;
    const struct window *window = &g->crew.shared->services[WEB].window;
    struct admission *adm = g->crew.workers[0];
    struct slot confirmed = {BULK, WEB, 0, SLOT_OPENING}, opens = confirmed;

    g->services[WEB].window = 64;
    gate_adopt(g);
    for (unsigned i = 0; i < 4; i++) {
        struct attempt a = gate_attempt(g, BULK, WEB);

        a.flags = ATTEMPT_SYN;
        assert_int_equal(gate_offer(g, 0, &a).held, SLOT_OPENING);
    }
    admission_survey_end(adm);
    admission_confirmed(adm, &confirmed);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(window_opening(window), i < 3 ? 3 : 1);
        assert_int_equal(gate_used(g, WEB), i < 2 ? 4 : 2);
        admission_survey_slot(adm, &confirmed, CORE_MS);
        admission_survey_slot(adm, &opens, CORE_MS);
        admission_survey_end(adm);
    }
    assert_int_equal(gate_counts(g, WEB).reclaimed, 2);
    core_complete(adm, &opens, OUTCOME_AGED);
    assert_int_equal(window_opening(window), 0);
}

/* A place among the opening is given back also when all slots are. */
static void lost_slots_leave_nothing(void **state)
{
    struct gate *g = *state;
    struct admission *adm = g->crew.workers[0];
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct slot slot = {BULK, WEB, 0, SLOT_OPENING};

    g->services[WEB].window = 64;
    gate_adopt(g);
    a.flags = ATTEMPT_SYN;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
    admission_survey_end(adm);
    admission_survey_end(adm);
    admission_confirmed(adm, &slot); /* one of them is seen once more, and then lost */
    for (unsigned i = 0; i < 4; i++)
        admission_survey_end(adm);
    assert_int_equal(gate_used(g, WEB), 0);
    assert_int_equal(gate_share_used(g, BULK), 0);
    assert_int_equal(window_opening(&g->crew.shared->services[WEB].window), 0);
}

/* In cells of doubling ns, of the last whole pass. */
static void ages_are_published(void **state)
{
    struct gate *g = *state;
    const uint32_t *running = g->crew.workers[0]->services[WEB].running;
    static const uint64_t held_ns[] = {0, 1023, 1024, 2047};
    struct admission *adm = g->crew.workers[0];

    gate_adopt(g);
    fill(g, BULK, WEB, 4);
    for (unsigned i = 0; i < 4; i++)
        admission_survey_slot(adm, &(struct slot){BULK, WEB, 0, 0}, held_ns[i]);
    assert_int_equal(running[10], 0);
    admission_survey_end(adm);
    assert_int_equal(running[0], 1);
    assert_int_equal(running[9], 1);
    assert_int_equal(running[10], 2);
    for (unsigned i = 0; i < 4; i++)
        done(g, BULK, WEB);
    admission_survey_end(adm);
    assert_int_equal(running[0] + running[9] + running[10], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(case_B05_lost_slots_come_back),
        OVERLOAD_TEST(nothing_is_lost_while_slots_come_and_go),
        OVERLOAD_TEST(lost_slots_go_to_their_own_tenant),
        OVERLOAD_TEST(busy_tenant_gets_its_lost_slots_later),
        OVERLOAD_TEST(all_of_a_tenants_slots_may_be_lost),
        OVERLOAD_TEST(lost_slots_go_to_their_own_share),
        OVERLOAD_TEST(lost_slots_are_opening_no_more),
        OVERLOAD_TEST(lost_slots_leave_nothing),
        OVERLOAD_TEST(ages_are_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
