/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/bucket.h"
#include "dataplane/admission/demand.h"
#include "dataplane/admission/ledger.h"

#define S  1000000000ull
#define MS 1000000ull

static void quotas_say_when_a_token_is_there(void **state)
{
    struct bucket_rate rate;
    struct bucket bucket;

    (void)state;
    assert_int_equal(demand_retry_quota_s(0), 1);
    assert_int_equal(demand_retry_quota_s(S), 1);
    assert_int_equal(demand_retry_quota_s(S + 1), 2);
    assert_int_equal(demand_retry_quota_s(60 * S), 60);
    assert_int_equal(demand_retry_quota_s(60 * S + 1), 60);
    assert_int_equal(demand_retry_quota_s(UINT64_MAX), 60);
    /* 5/s and a burst of 10, all spent: the next token in 200 ms, one second in the header. */
    assert_true(bucket_rate_events(&rate, 5, 1, 10));
    bucket_init(&bucket, &rate, 0);
    while (bucket_take(&bucket, &rate, 1, 0))
        ;
    assert_int_equal(bucket_wait_ns(&bucket, &rate, 1, 0), 200 * MS);
    assert_int_equal(demand_retry_quota_s(bucket_wait_ns(&bucket, &rate, 1, 0)), 1);
    /* 4 a minute: 15 s, and 14.5 s half a second later. */
    assert_true(bucket_rate_events(&rate, 4, 60, 0));
    bucket_init(&bucket, &rate, 0);
    assert_true(bucket_take(&bucket, &rate, 1, 0));
    assert_int_equal(demand_retry_quota_s(bucket_wait_ns(&bucket, &rate, 1, 0)), 15);
    assert_int_equal(demand_retry_quota_s(bucket_wait_ns(&bucket, &rate, 1, S)), 14);
    assert_int_equal(demand_retry_quota_s(bucket_wait_ns(&bucket, &rate, 1, S + 1)), 14);
}

static uint32_t retry_s(double backlog, double capacity_per_s, double arrival_per_s)
{
    return demand_retry_capacity_s(&(struct demand){backlog, capacity_per_s, arrival_per_s});
}

static void full_services_say_when_the_backlog_is_gone(void **state)
{
    (void)state;
    assert_int_equal(retry_s(300, 170, 130), 8); /* 7.5 s, as published */
    assert_int_equal(retry_s(320, 170, 130), 8);
    assert_int_equal(retry_s(321, 170, 130), 9);
    assert_int_equal(retry_s(300, 170, 0), 2);
    /* Under overload a tenth of the capacity is taken as spare. */
    assert_int_equal(retry_s(340, 170, 170), 20);
    assert_int_equal(retry_s(340, 170, 1700), 20);
    assert_int_equal(retry_s(341, 170, 1700), 21);
    assert_int_equal(retry_s(0, 170, 1700), 1);
    assert_int_equal(retry_s(1e9, 170, 0), 60);
    assert_int_equal(retry_s(1000, 0, 10), 1);
}

static void jitter_is_up_to_half(void **state)
{
    (void)state;
    assert_int_equal(demand_jitter_s(8, 0), 8);
    assert_int_equal(demand_jitter_s(8, UINT32_MAX), 11);
    assert_int_equal(demand_jitter_s(8, 1u << 31), 10);
    assert_int_equal(demand_jitter_s(60, UINT32_MAX), 89);
    assert_int_equal(demand_jitter_s(1, UINT32_MAX), 1);
}

/* An instance has four slots and needs 20 ms for a piece of work: 200/s, 170/s at 85 %. */
static void published_instances(void **state)
{
    (void)state;
    assert_int_equal(demand_instances(1690, .020, 4, DEMAND_UTILISATION), 13);
    /* 1300/s with room for 1.3 times as much: 1690 <= 10 * 170, but not 9 * 170 = 1530. */
    assert_int_equal(demand_instances(1300, .020, 4, DEMAND_UTILISATION), 10);
    assert_int_equal(demand_instances(1690, .020, 4, .85), 10);
    assert_int_equal(demand_instances(1700, .020, 4, .85), 10);
    assert_int_equal(demand_instances(1701, .020, 4, .85), 11);
    assert_int_equal(demand_instances(1530, .020, 4, .85), 9);
    /* Three sharp, where doubles make 3.0000000000000004 of it. */
    assert_int_equal(demand_instances(510, .020, 4, .85), 3);
}

static void instances_of_nothing_are_none(void **state)
{
    (void)state;
    assert_int_equal(demand_instances(0, .020, 4, .85), 0);
    assert_int_equal(demand_instances(100, 0, 4, .85), 0);
    assert_int_equal(demand_instances(100, .020, 0, .85), 0);
    assert_int_equal(demand_instances(100, .020, 4, 0), 0);
    assert_int_equal(demand_instances(1e-3, 1e-3, 4, .85), 1);
    assert_int_equal(demand_instances(1e18, 1, 1, 1), UINT32_MAX);
}

/* Little: 100/s of 30 ms keep 3 busy. A backend that slows from .1 s to 1 s hides 90. */
static void hidden_queues_by_littles_law(void **state)
{
    (void)state;
    assert_float_equal(demand_hidden(3, 100, 30 * MS), 0, 1e-9);
    assert_float_equal(demand_hidden(20, 100, 200 * MS), 0, 1e-9);
    assert_float_equal(demand_hidden(100, 100, 100 * MS), 90, 1e-9);
    assert_float_equal(demand_hidden(2, 100, 30 * MS), 0, 0); /* never negative */
    assert_float_equal(demand_hidden(5, 0, 30 * MS), 5, 0);
}

/* 40 refused a second of which 10 come back and are served, deadline 1.6 s: cells of 100 ms. */
static void backlog_is_what_may_still_come(void **state)
{
    struct demand_backlog b = {0};
    uint64_t now_ns = 1000 * S, refused = 5000, served = 400;

    (void)state;
    demand_backlog_feed(&b, refused, served, 1600 * MS, now_ns);
    assert_float_equal(demand_backlog(&b), 0, 0); /* the past is not known */
    for (unsigned i = 1; i <= 16; i++) {
        now_ns += 100 * MS;
        demand_backlog_feed(&b, refused += 4, served += 1, 1600 * MS, now_ns);
        assert_float_equal(demand_backlog(&b), 3 * i, 0);
    }
    assert_float_equal(demand_unmet_per_s(&b), 30, 1e-9);
    now_ns += 100 * MS; /* the first cell held nothing, the second goes next */
    demand_backlog_feed(&b, refused += 4, served += 1, 1600 * MS, now_ns);
    assert_float_equal(demand_backlog(&b), 51, 0);
    for (unsigned i = 0; i < 16; i++) {
        assert_float_equal(demand_backlog(&b), 51 - 3. * i, 0);
        now_ns += 100 * MS;
        demand_backlog_feed(&b, refused, served, 1600 * MS, now_ns);
    }
    assert_float_equal(demand_backlog(&b), 3, 0);
    demand_backlog_feed(&b, refused, served, 1600 * MS, now_ns + 99 * MS);
    assert_float_equal(demand_backlog(&b), 3, 0);
    demand_backlog_feed(&b, refused, served, 1600 * MS, now_ns + 100 * MS);
    assert_float_equal(demand_backlog(&b), 0, 0);
    assert_float_equal(demand_unmet_per_s(&b), 0, 0);
}

static void backlog_survives_pauses_and_new_deadlines(void **state)
{
    struct demand_backlog b = {0};

    (void)state;
    assert_float_equal(demand_unmet_per_s(&b), 0, 0);
    demand_backlog_feed(&b, 0, 0, S, 50 * S);
    demand_backlog_feed(&b, 70, 0, S, 50 * S + MS);
    assert_float_equal(demand_backlog(&b), 70, 0);
    demand_backlog_feed(&b, 80, 0, S, 49 * S); /* a clock that went back moves nothing */
    assert_float_equal(demand_backlog(&b), 80, 0);
    demand_backlog_feed(&b, 80, 90, S, 50 * S + 2 * MS); /* served: older work, too */
    assert_float_equal(demand_backlog(&b), 0, 0);
    demand_backlog_feed(&b, 100, 90, S, 500 * S);
    assert_float_equal(demand_backlog(&b), 20, 0);
    demand_backlog_feed(&b, 200, 90, 2 * S, 500 * S);
    assert_float_equal(demand_backlog(&b), 0, 0);
    demand_backlog_feed(&b, 203, 90, 2 * S, 501 * S);
    assert_float_equal(demand_backlog(&b), 3, 0);
    assert_float_equal(demand_unmet_per_s(&b), 1.5, 1e-9);
    demand_backlog_feed(&b, 203, 90, 0, 600 * S); /* none: ten seconds */
    demand_backlog_feed(&b, 210, 90, 0, 609 * S);
    assert_float_equal(demand_unmet_per_s(&b), .7, 1e-9);
}

static void ledgers_count_pieces_and_slot_time(void **state)
{
    struct ledger workers[2] = {0}, sum = {0};

    (void)state;
    ledger_book(&workers[0], LEDGER_USEFUL, 20 * MS + 499);
    ledger_book(&workers[0], LEDGER_USEFUL, 20 * MS + 500);
    ledger_book(&workers[0], LEDGER_LATE, 2 * S);
    ledger_book(&workers[1], LEDGER_UNFINISHED, 300 * S);
    ledger_book(&workers[1], LEDGER_USEFUL, 1);
    for (unsigned w = 0; w < 2; w++)
        ledger_sum(&sum, &workers[w]);
    assert_int_equal(sum.pieces[LEDGER_USEFUL], 3);
    assert_int_equal(sum.pieces[LEDGER_LATE], 1);
    assert_int_equal(sum.pieces[LEDGER_UNFINISHED], 1);
    assert_int_equal(sum.held_us[LEDGER_USEFUL], 40001);
    assert_int_equal(sum.held_us[LEDGER_LATE], 2000000);
    assert_int_equal(sum.held_us[LEDGER_UNFINISHED], 300000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_say_when_a_token_is_there),
        cmocka_unit_test(full_services_say_when_the_backlog_is_gone),
        cmocka_unit_test(jitter_is_up_to_half),
        cmocka_unit_test(published_instances),
        cmocka_unit_test(instances_of_nothing_are_none),
        cmocka_unit_test(hidden_queues_by_littles_law),
        cmocka_unit_test(backlog_is_what_may_still_come),
        cmocka_unit_test(backlog_survives_pauses_and_new_deadlines),
        cmocka_unit_test(ledgers_count_pieces_and_slot_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
