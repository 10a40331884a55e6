/* SPDX-License-Identifier: BSD-3-Clause */
/* When the client of a refused attempt may come again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

#define BACKLOG_S 42 /* what the control thread says of the service; no quota's answer */

/* What worker `worker` tells an attempt of NORMAL with so many bytes, which it refuses. */
static uint32_t told_s(struct gate *g, uint32_t worker, uint32_t ip_bytes, enum reason reason)
{
    struct attempt a = gate_attempt(g, NORMAL, WEB);

    a.ip_bytes = ip_bytes;
    assert_int_equal(gate_offer(g, worker, &a).reason, reason);
    return admission_retry_after_s(g->crew.workers[worker], &a, reason, g->now_ns);
}

static void start(struct gate *g)
{
    gate_adopt(g);
    g->crew.shared->services[WEB].advice.retry_after_s = BACKLOG_S;
}

/* Two a minute, on two workers: the next after half of one, whoever took the last. */
static void attempts_may_come_when_one_is_earned(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].attempts = core_rate(2, 60, 0);
    start(g);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(told_s(g, 0, 60, REASON_RATE), 30);
    g->now_ns += 1;
    assert_int_equal(told_s(g, 1, 60, REASON_RATE), 30);
    g->now_ns += CORE_S - 1;
    assert_int_equal(told_s(g, 1, 60, REASON_RATE), 29);
    g->now_ns += 28 * CORE_S + 1;
    assert_int_equal(told_s(g, 0, 60, REASON_RATE), 1);
    g->now_ns += CORE_S - 1;
    gate_fill(g, NORMAL, 1);
}

static void packets_and_bits_have_their_own_times(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].attempts = core_rate(1, 86400, 99);
    g->tenants[NORMAL].packets = core_rate(3, 60, 0);
    start(g);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(told_s(g, 0, 60, REASON_PACKETS), 20);
    g->tenants[NORMAL].packets = CORE_UNLIMITED;
    g->tenants[NORMAL].bits = core_rate(80, 1, 100); /* ten bytes a second */
    start(g);
    g->now_ns += 100 * CORE_S; /* it was unlimited, and began empty */
    gate_fill(g, NORMAL, 1);
    assert_int_equal(told_s(g, 0, 60, REASON_BITS), 2); /* 40 are left */
    assert_int_equal(told_s(g, 0, 61, REASON_BITS), 3);
    assert_int_equal(told_s(g, 0, 100, REASON_BITS), 6);
    assert_int_equal(told_s(g, 0, 101, REASON_BITS), 60); /* never */
}

/* 35 s of a slot where 25 were left: 10 at 2.5 a second, and a moment. */
static void erlangs_are_paid_back_first(void **state)
{
    const struct slot slot = {.tenant = NORMAL, .service = WEB};
    const struct ending ending = {.held_ns = 35 * CORE_S};
    struct gate *g = *state;

    g->tenants[NORMAL].milli_erlangs = 2500;
    start(g);
    gate_fill(g, NORMAL, 1);
    admission_complete(g->crew.workers[0], &slot, &ending, g->now_ns);
    assert_int_equal(told_s(g, 0, 60, REASON_ERLANGS), 5);
    g->now_ns += 1;
    assert_int_equal(told_s(g, 0, 60, REASON_ERLANGS), 4);
    g->now_ns += 4 * CORE_S - 1;
    assert_int_equal(told_s(g, 0, 60, REASON_ERLANGS), 1);
    g->now_ns += 1;
    gate_fill(g, NORMAL, 1);
}

static void what_is_blocked_is_told_the_longest(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].attempts = core_rate(0, 1, 0);
    start(g);
    assert_int_equal(told_s(g, 0, 60, REASON_RATE), 60);
    g->tenants[NORMAL].milli_erlangs = 0;
    start(g);
    assert_int_equal(told_s(g, 0, 60, REASON_ERLANGS), 60);
}

/* Nobody knows when a slot of the tenant's is freed. */
static void a_share_may_be_free_at_once(void **state)
{
    struct gate *g = *state;

    g->tenants[NORMAL].window = 1;
    start(g);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(told_s(g, 0, 60, REASON_SHARE), 1);
}

static void want_of_room_lasts_as_long_as_the_backlog(void **state)
{
    struct gate *g = *state;

    g->services[WEB].window = 1;
    g->tenants[NORMAL].attempts = core_rate(2, 60, 9);
    start(g);
    gate_fill(g, NORMAL, 1);
    assert_int_equal(told_s(g, 0, 60, REASON_CAPACITY), BACKLOG_S);
    g->crew.shared->services[WEB].advice.retry_after_s = 0; /* before the first period */
    assert_int_equal(told_s(g, 0, 60, REASON_CAPACITY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST_FOUR(attempts_may_come_when_one_is_earned),
        OVERLOAD_TEST(packets_and_bits_have_their_own_times),
        OVERLOAD_TEST(erlangs_are_paid_back_first),
        OVERLOAD_TEST(what_is_blocked_is_told_the_longest),
        OVERLOAD_TEST(a_share_may_be_free_at_once),
        OVERLOAD_TEST(want_of_room_lasts_as_long_as_the_backlog),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
