/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of admitted work: how it is booked, timed and remembered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

#define DEADLINE_NS (100 * CORE_MS)
#define UNFINISHED  LEDGER_UNFINISHED

static struct service_state *web(struct gate *g)
{
    return &g->crew.workers[0]->services[WEB];
}

static void with_deadline(struct gate *g)
{
    g->services[WEB].deadline_ns = DEADLINE_NS;
    gate_adopt(g);
}

/* One piece of work that ended so. */
static void end_with(struct gate *g, struct ending ending)
{
    struct attempt a = gate_attempt(g, BULK, WEB);
    struct slot slot = {.tenant = BULK, .service = WEB};
    struct decision d = gate_offer(g, 0, &a);

    assert_int_equal(d.verdict, VERDICT_ADMIT);
    slot.held = d.held;
    admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
}

/* In a histogram's cell of that time, and in all of them. */
static uint64_t at(const struct histogram *h, uint64_t ns)
{
    return h->cells[histogram_index(ns)];
}

static void useful_is_finished_in_time_and_no_failure(void **state)
{
    struct gate *g = *state;
    const struct admission_service_counters *s =
        admission_service_counters(g->crew.workers[0], WEB);
    const struct admission_tenant_counters *t = admission_tenant_counters(g->crew.workers[0], BULK);

    with_deadline(g);
    end_with(g, (struct ending){OUTCOME_FINISHED, false, 1, CORE_MS, DEADLINE_NS});
    end_with(g, (struct ending){OUTCOME_FINISHED, false, 2, 2 * CORE_MS, DEADLINE_NS + 1});
    end_with(g, (struct ending){OUTCOME_FINISHED, true, 3, 4 * CORE_MS, 1});
    end_with(g, (struct ending){OUTCOME_RESET, false, 4, 8 * CORE_MS, 1});
    end_with(g, (struct ending){OUTCOME_ABORTED, false, 5, 16 * CORE_MS, 1});
    end_with(g, (struct ending){OUTCOME_AGED, false, 6, 32 * CORE_MS, 1});
    assert_int_equal(s->ledger.pieces[LEDGER_USEFUL], 1);
    assert_int_equal(s->ledger.pieces[LEDGER_LATE], 1);
    assert_int_equal(s->ledger.pieces[UNFINISHED], 4);
    assert_int_equal(s->ledger.held_us[LEDGER_USEFUL], 1000);
    assert_int_equal(s->ledger.held_us[LEDGER_LATE], 2000);
    assert_int_equal(s->ledger.held_us[UNFINISHED], 4000 + 8000 + 16000 + 32000);
    assert_int_equal(s->failed, 1);
    for (unsigned e = 0; e < LEDGER_MAX; e++)
        assert_int_equal(t->ended[e], s->ledger.pieces[e]);
    assert_int_equal(s->outcomes[OUTCOME_FINISHED], 3);
}

static void latencies(const struct gate *g, enum latency latency, struct histogram *h)
{
    *h = (struct histogram){0};
    admission_sum_latency(g->crew.workers[0], WEB, latency, h);
}

/* Nobody waits beyond the deadline: late work, and what never ended, took as long as that. */
static void what_was_not_useful_took_the_whole_deadline(void **state)
{
    struct gate *g = *state;
    struct histogram h;

    with_deadline(g);
    end_with(g, (struct ending){OUTCOME_FINISHED, false, 1, CORE_MS, 2 * CORE_MS});
    end_with(g, (struct ending){OUTCOME_FINISHED, false, 2, CORE_MS, 500 * CORE_MS});
    end_with(g, (struct ending){OUTCOME_AGED, false, 3, 900 * CORE_MS, 900 * CORE_MS});
    latencies(g, LATENCY_EFFECTIVE, &h);
    assert_int_equal(at(&h, 2 * CORE_MS), 1);
    assert_int_equal(at(&h, DEADLINE_NS), 2);
    assert_int_equal(histogram_count(&h), 3);
    latencies(g, LATENCY_REPLY, &h);
    assert_int_equal(at(&h, 2 * CORE_MS), 1);
    assert_int_equal(at(&h, 500 * CORE_MS), 1);
    assert_int_equal(histogram_count(&h), 2);
    assert_int_equal(at(&web(g)->held_for, CORE_MS), 2);
    assert_int_equal(histogram_count(&web(g)->held_for), 2);
}

static void without_a_deadline_it_took_what_it_took(void **state)
{
    struct gate *g = *state;
    struct histogram h;

    gate_adopt(g);
    end_with(g, (struct ending){OUTCOME_FINISHED, false, 1, CORE_MS, 500 * CORE_MS});
    end_with(g, (struct ending){OUTCOME_AGED, false, 2, CORE_MS, 900 * CORE_MS});
    latencies(g, LATENCY_EFFECTIVE, &h);
    assert_int_equal(at(&h, 500 * CORE_MS), 1);
    assert_int_equal(at(&h, 900 * CORE_MS), 1);
    assert_int_equal(gate_counts(g, WEB).ledger.pieces[LEDGER_USEFUL], 1);
}

/* Who asks again after a failure asks for the same; who was served, if late, for something new. */
static void work_that_failed_is_still_wanted(void **state)
{
    static const struct {
        enum outcome outcome;
        bool failed;
        uint64_t latency_ns, offered;
    } ends[] = {
        {OUTCOME_RESET, false, 0, 1},
        {OUTCOME_AGED, false, 0, 1},
        {OUTCOME_FINISHED, true, 0, 1},
        {OUTCOME_FINISHED, false, DEADLINE_NS, 2},
        {OUTCOME_FINISHED, false, DEADLINE_NS + 1, 2},
    };
    struct gate *g = *state;
    const struct slot slot = {.tenant = BULK, .service = WEB};

    with_deadline(g);
    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        uint64_t before = gate_counts(g, WEB).offered;
        struct attempt a = gate_attempt(g, BULK, WEB);
        struct ending first = {.outcome = OUTCOME_RESET, .client = a.client};
        struct ending second = {ends[i].outcome, ends[i].failed, a.client, 0, ends[i].latency_ns};

        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        admission_complete(g->crew.workers[0], &slot, &first, g->now_ns);
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        assert_int_equal(gate_counts(g, WEB).offered, before + 1);
        admission_complete(g->crew.workers[0], &slot, &second, g->now_ns);
        assert_int_equal(gate_offer(g, 0, &a).verdict, VERDICT_ADMIT);
        assert_int_equal(gate_counts(g, WEB).offered, before + ends[i].offered);
    }
    assert_int_equal(gate_counts(g, WEB).served_late, 0); /* none of it was refused */
}

/* It began nobody knows when: it gives its slot back, and owes for the slot alone. */
static void adopted_work_is_neither_useful_nor_late(void **state)
{
    struct gate *g = *state;
    struct slot slot = {.tenant = BULK, .service = WEB};
    struct histogram h;

    g->tenants[BULK].milli_erlangs = 1000;
    with_deadline(g);
    admission_adopt_flow(g->crew.workers[0], &slot);
    admission_complete(g->crew.workers[0], &slot,
                       &(struct ending){.held_ns = 10 * CORE_S, .latency_ns = 10 * CORE_S},
                       g->now_ns);
    for (unsigned e = 0; e < LEDGER_MAX; e++)
        assert_int_equal(gate_counts(g, WEB).ledger.pieces[e], 0);
    latencies(g, LATENCY_REPLY, &h);
    assert_int_equal(histogram_count(&h), 0);
    assert_int_equal(gate_counts(g, WEB).outcomes[OUTCOME_FINISHED], 1);
    assert_int_equal(gate_used(g, WEB), 0);
    assert_int_equal(gate_ask(g, BULK).reason, REASON_ERLANGS);
}

/* Nor does the breaker hear of a health check's reply. */
static void a_health_checks_reply_is_no_result(void **state)
{
    struct gate *g = *state;
    const struct slot check = {.tenant = BULK, .service = WEB, .held = SLOT_HEALTH | SLOT_RESERVED};
    const struct slot slot = {.tenant = BULK, .service = WEB};

    g->services[WEB].breaker.failures = 3;
    gate_adopt(g);
    gate_fill(g, BULK, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(gate_ask(g, NORMAL).verdict, VERDICT_ADMIT);
        admission_no_answer(g->crew.workers[0], &slot, 0, g->now_ns);
        admission_first_byte(g->crew.workers[0], &check, g->now_ns);
    }
    assert_int_equal(gate_counts(g, WEB).good, 0);
    assert_int_equal(gate_ask(g, NORMAL).reason, REASON_BREAKER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(useful_is_finished_in_time_and_no_failure),
        OVERLOAD_TEST(what_was_not_useful_took_the_whole_deadline),
        OVERLOAD_TEST(without_a_deadline_it_took_what_it_took),
        OVERLOAD_TEST(work_that_failed_is_still_wanted),
        OVERLOAD_TEST(adopted_work_is_neither_useful_nor_late),
        OVERLOAD_TEST(a_health_checks_reply_is_no_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
