/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/shop.h"

#define MS 1000000ull

/* -- a queue of one worker -- */

#define POOL 8

struct queue {
    struct wait_pool *pool;
    struct wait_queue queue;
};

static void queue_start(struct queue *q, uint32_t max)
{
    q->pool = wait_pool_init(aligned_alloc(64, wait_pool_bytes(max)), max);
    wait_queue_init(&q->queue);
}

static struct waiter *add(struct queue *q, uint64_t cookie, uint8_t share, uint8_t class)
{
    /* Arrives at its cookie. */
    const struct waiter proto = {.cookie = cookie,
                                 .since_ns = cookie,
                                 .until_ns = WAIT_FOREVER,
                                 .share = share,
                                 .class = class,
                                 .tenant = 7,
                                 .ip_bytes = 60,
                                 .flags = 3};

    return wait_add(q->pool, &q->queue, &proto, ORDER_FIFO);
}

static uint64_t take(struct queue *q, enum policy_order order, bool overloaded, uint64_t allowed)
{
    struct waiter *w = wait_next(q->pool, &q->queue, order, overloaded, allowed);
    uint64_t cookie;

    if (!w)
        return 0;
    cookie = w->cookie;
    wait_taken(&q->queue, w);
    wait_remove(q->pool, &q->queue, w);
    return cookie;
}

static void pool_is_bounded_and_reused(void **state)
{
    struct queue q;

    (void)state;
    queue_start(&q, POOL);
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t i = 1; i <= POOL; i++)
            assert_non_null(add(&q, i, 0, CLASS_BULK));
        assert_null(add(&q, 99, 0, CLASS_BULK));
        assert_int_equal(wait_length(&q.queue), POOL);
        for (uint64_t i = 1; i <= POOL; i++) {
            assert_int_equal(wait_oldest_since_ns(&q.queue), i);
            assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), i);
        }
        assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 0);
        assert_int_equal(wait_length(&q.queue), 0);
        assert_true(wait_oldest_since_ns(&q.queue) == UINT64_MAX);
        assert_null(wait_oldest(q.pool, &q.queue));
    }
    free(q.pool);
    queue_start(&q, 0);
    assert_null(add(&q, 1, 0, CLASS_BULK));
    free(q.pool);
}

static void waiter_keeps_what_it_was_given(void **state)
{
    struct queue q;
    struct waiter *w;

    (void)state;
    queue_start(&q, POOL);
    add(&q, 1, 0, CLASS_BULK);
    w = add(&q, 2, SHARES_MAX, CLASS_CRITICAL);
    assert_int_equal(w->line, WAIT_LINES_MAX - 1);
    assert_int_equal(w->tenant, 7);
    assert_int_equal(w->ip_bytes, 60);
    assert_int_equal(w->flags, 3);
    assert_int_equal(wait_index(q.pool, w), 1);
    assert_ptr_equal(wait_at(q.pool, 1), w);
    free(q.pool);
}

static void sets_of_lines(void **state)
{
    uint64_t all = 0;

    (void)state;
    for (unsigned c = 0; c < CLASS_MAX; c++) {
        assert_int_equal(__builtin_popcountll(wait_class_lines(c)), SHARES_MAX + 1);
        assert_true(wait_class_lines(c) >> wait_line(5, (uint8_t)c) & 1);
        assert_true((all & wait_class_lines(c)) == 0);
        all |= wait_class_lines(c);
    }
    assert_true(all == WAIT_ALL_LINES);
    assert_true(wait_share_lines(1) == 0x38);
    assert_true(wait_share_lines(SHARES_MAX) == (uint64_t)7 << 60);
}

static void next_of_each_order(void **state)
{
    static const uint64_t until[] = {50, 20, 90, 20, WAIT_FOREVER, 70};
    static const uint64_t by_deadline[] = {2, 4, 1, 6, 3, 5};
    struct queue q;

    (void)state;
    queue_start(&q, POOL);
    for (uint64_t i = 1; i <= 6; i++)
        add(&q, i, 0, CLASS_BULK);
    assert_int_equal(take(&q, ORDER_ADAPTIVE, false, WAIT_ALL_LINES), 1);
    assert_int_equal(take(&q, ORDER_ADAPTIVE, true, WAIT_ALL_LINES), 6);
    assert_int_equal(take(&q, ORDER_FIFO, true, WAIT_ALL_LINES), 2);
    assert_int_equal(take(&q, ORDER_ADAPTIVE, true, WAIT_ALL_LINES), 5);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 3);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 4);

    for (uint64_t i = 0; i < 6; i++)
        wait_add(q.pool, &q.queue,
                 &(struct waiter){.cookie = i + 1, .since_ns = i, .until_ns = until[i]},
                 ORDER_DEADLINE);
    for (unsigned i = 0; i < 6; i++) /* of equal deadlines, the first to come */
        assert_int_equal(take(&q, ORDER_DEADLINE, true, WAIT_ALL_LINES), by_deadline[i]);
    free(q.pool);
}

/* Asking changes nothing; a line that has no slot left is passed over and has its turn later. */
static void lines_take_turns(void **state)
{
    const uint64_t second = (uint64_t)1 << wait_line(1, CLASS_BULK);
    struct queue q;

    (void)state;
    queue_start(&q, 16);
    wait_set_weight(&q.queue, wait_line(1, CLASS_BULK), 2);
    for (uint64_t i = 1; i <= 4; i++) {
        add(&q, i, 0, CLASS_CRITICAL);
        add(&q, 10 + i, 1, CLASS_BULK);
        add(&q, 20 + i, SHARES_MAX, CLASS_CRITICAL);
    }
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 1);
    for (unsigned again = 0; again < 5; again++)
        assert_int_equal(wait_next(q.pool, &q.queue, ORDER_FIFO, false, WAIT_ALL_LINES)->cookie,
                         11);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 11);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES & ~second), 21);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 2);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 12);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 13);
    assert_int_equal(take(&q, ORDER_FIFO, false, WAIT_ALL_LINES), 22);
    assert_int_equal(take(&q, ORDER_FIFO, false, second), 14);
    assert_int_equal(take(&q, ORDER_FIFO, false, second), 0);
    free(q.pool);
}

static void neediest_holds_least_for_its_weight(void **state)
{
    static const struct share_rules rules[4] = {{0, 9, 1}, {0, 9, 2}, {0, 9, 1}, {0, 9, 3}};
    struct window shares[4] = {{.slots = 3}, {.slots = 4}, {.slots = 1}, {.slots = 6}};
    const uint64_t all = WAIT_ALL_LINES;
    struct queue q;

    (void)state;
    queue_start(&q, POOL);
    assert_true(wait_neediest(&q.queue, shares, rules, 4, all) == 0);
    assert_true(wait_neediest(&q.queue, NULL, NULL, 0, 5) == 5);
    add(&q, 1, 0, CLASS_BULK);
    add(&q, 2, 1, CLASS_BULK);
    add(&q, 3, 1, CLASS_CRITICAL);
    assert_true(wait_neediest(&q.queue, shares, rules, 4, all) == 0x28); /* 2 to 3 */
    add(&q, 4, 3, CLASS_NORMAL);
    assert_true(wait_neediest(&q.queue, shares, rules, 4, all) == 0x428); /* 2 each */
    assert_true(wait_neediest(&q.queue, shares, rules, 4, ~(uint64_t)0x20) == 0x408);
    assert_true(wait_neediest(&q.queue, shares, rules, 4, 1) == 1);
    add(&q, 5, 2, CLASS_BULK);
    assert_true(wait_neediest(&q.queue, shares, rules, 4, all) == 0x40);
    shares[0].slots = 0;
    assert_true(wait_neediest(&q.queue, shares, rules, 4, all) == 1);
    free(q.pool);
}

static void displaced_is_the_newest_of_the_lowest_class(void **state)
{
    struct queue q;
    struct waiter *bulk, *normal;

    (void)state;
    queue_start(&q, POOL);
    add(&q, 1, 0, CLASS_NORMAL);
    assert_null(wait_newest_of(q.pool, &q.queue, CLASS_NORMAL));
    add(&q, 2, 3, CLASS_BULK);
    bulk = add(&q, 3, 0, CLASS_BULK);
    normal = add(&q, 4, 0, CLASS_NORMAL);
    add(&q, 5, 0, CLASS_CRITICAL);
    assert_null(wait_newest_of(q.pool, &q.queue, CLASS_BULK));
    assert_ptr_equal(wait_newest_of(q.pool, &q.queue, CLASS_NORMAL), bulk);
    assert_ptr_equal(wait_newest_of(q.pool, &q.queue, CLASS_CRITICAL), bulk);
    wait_remove(q.pool, &q.queue, bulk);
    wait_remove(q.pool, &q.queue, wait_newest_of(q.pool, &q.queue, CLASS_CRITICAL));
    assert_ptr_equal(wait_newest_of(q.pool, &q.queue, CLASS_CRITICAL), normal);
    free(q.pool);
}

static void queue_stands_after_an_interval_above_target(void **state)
{
    struct wait_sojourn s = {0};

    (void)state;
    for (uint64_t now = 0; now < 100 * MS; now += MS) {
        wait_sojourn_note(&s, 6 * MS, now);
        assert_false(s.overloaded);
    }
    wait_sojourn_note(&s, 5 * MS, 99 * MS); /* at the target: all begins anew */
    for (uint64_t now = 100 * MS; now < 200 * MS; now += MS) {
        wait_sojourn_note(&s, 5 * MS + 1, now);
        assert_false(s.overloaded);
    }
    wait_sojourn_note(&s, 5 * MS + 1, 200 * MS);
    assert_true(s.overloaded);
    wait_sojourn_note(&s, 80 * MS, 900 * MS);
    assert_true(s.overloaded);
    wait_sojourn_note(&s, 0, 901 * MS);
    assert_false(s.overloaded);
    wait_sojourn_note(&s, 80 * MS, 902 * MS);
    assert_false(s.overloaded);
}

static void reservations_are_for_the_classes_above(void **state)
{
    static const uint32_t reserve[CLASS_MAX] = {7, 2, 4};

    (void)state;
    assert_int_equal(reserve_limit(10, reserve, CLASS_CRITICAL), 10);
    assert_int_equal(reserve_limit(10, reserve, CLASS_NORMAL), 6);
    assert_int_equal(reserve_limit(10, reserve, CLASS_BULK), 4);
    assert_int_equal(reserve_limit(3, reserve, CLASS_NORMAL), 0);
    assert_int_equal(reserve_limit(5, reserve, CLASS_BULK), 0);
    assert_int_equal(reserve_limit(3, reserve, CLASS_CRITICAL), 3);
}

/* -- a door -- */

static void ninth_of_six_and_two_is_refused(void **state)
{
    const struct door_rules rules = {.slots = 6, .places = 2, .age_ns = WAIT_FOREVER};
    struct waiter w = {.until_ns = WAIT_FOREVER}, out;
    struct door d;

    (void)state;
    door_start(&d, &rules, 1);
    for (unsigned i = 1; i <= 6; i++)
        assert_int_equal(door_offer(&d, 0, &w, &out), DOOR_ENTERED);
    assert_int_equal(door_offer(&d, 0, &w, &out), DOOR_WAITS);
    assert_int_equal(door_offer(&d, 0, &w, &out), DOOR_WAITS);
    assert_int_equal(door_offer(&d, 0, &w, &out), DOOR_REFUSED);
    assert_int_equal(window_used(&d.slots), 6);
    assert_int_equal(window_used(&d.places), 2);
    assert_int_equal(door_poll(&d, 0, 1, &out), DOOR_NOTHING);
    door_leave(&d, &w);
    assert_int_equal(door_poll(&d, 0, 1, &out), DOOR_ENTERED);
    assert_int_equal(door_poll(&d, 0, 1, &out), DOOR_NOTHING);
    door_stop(&d);
}

/*
 * Four cores that serve 170/s, 130/s that become 200/s for 10 s. Times are in ticks of 1/44200 s,
 * in which all of it is whole numbers; nothing here depends on their being nanoseconds.
 */
#define TICKS    44200ull
#define BURST    (100 * TICKS) /* begins */
#define BURST_TO (BURST + 10 * TICKS)

struct burst {
    uint64_t refused, longest, drained; /* drained: since the end of the burst */
    uint64_t most_waiting;
};

static void note_burst(struct shop *s, enum door_event event, const struct waiter *w)
{
    struct burst *b = s->context;
    uint64_t waiting = wait_length(&s->door.queues[0]);

    b->refused += event == DOOR_REFUSED;
    if (event == DOOR_ENTERED && s->now_ns - w->since_ns > b->longest)
        b->longest = s->now_ns - w->since_ns;
    if (waiting > b->most_waiting)
        b->most_waiting = waiting;
    if (event == DOOR_ENTERED && waiting == 0 && s->now_ns > BURST_TO && b->drained == 0)
        b->drained = s->now_ns - BURST_TO;
}

static struct burst play_burst(uint32_t places)
{
    const struct door_rules rules = {.slots = 4, .places = places, .age_ns = WAIT_FOREVER};
    const struct waiter w = {.cookie = 4 * TICKS / 170, .until_ns = WAIT_FOREVER};
    struct burst b = {0};
    struct shop s = {.note = note_burst, .context = &b};

    shop_start(&s, &rules, 1);
    for (uint64_t t = 0; t < BURST_TO + 60 * TICKS;) {
        shop_arrive(&s, 0, &w, t);
        t += t >= BURST && t < BURST_TO ? TICKS / 200 : TICKS / 130;
    }
    shop_advance(&s, UINT64_MAX - 1);
    assert_int_equal(window_used(&s.door.slots), 0);
    assert_int_equal(window_used(&s.door.places), 0);
    shop_stop(&s);
    return b;
}

static void burst_is_bounded_by_places(void **state)
{
    /* Places; refused; longest wait and time to drain in ms, rounded. */
    static const uint64_t golden[][4] = {
        {17, 283, 102, 392}, {16, 284, 94, 369}, {40, 260, 235, 975}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct burst b = play_burst((uint32_t)golden[i][0]);

        assert_int_equal(b.most_waiting, golden[i][0]);
        assert_int_equal(b.refused, golden[i][1]);
        assert_int_equal((b.longest * 1000 + TICKS / 2) / TICKS, golden[i][2]);
        assert_int_equal((b.drained * 1000 + TICKS / 2) / TICKS, golden[i][3]);
    }
}

/* 30/s too many for 10 s: 300 wait, and at 40/s to spare they are gone 7.47 s later. */
static void burst_without_a_bound_is_felt_long_after(void **state)
{
    struct burst b = play_burst(100000);

    (void)state;
    assert_int_equal(b.refused, 0);
    assert_int_equal(b.most_waiting, 300);
    assert_int_equal(b.longest, 300 * TICKS / 170); /* 1.76 s */
    assert_int_equal((b.drained * 1000 + TICKS / 2) / TICKS, 7469);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_is_bounded_and_reused),
        cmocka_unit_test(waiter_keeps_what_it_was_given),
        cmocka_unit_test(sets_of_lines),
        cmocka_unit_test(next_of_each_order),
        cmocka_unit_test(lines_take_turns),
        cmocka_unit_test(neediest_holds_least_for_its_weight),
        cmocka_unit_test(displaced_is_the_newest_of_the_lowest_class),
        cmocka_unit_test(queue_stands_after_an_interval_above_target),
        cmocka_unit_test(reservations_are_for_the_classes_above),
        cmocka_unit_test(ninth_of_six_and_two_is_refused),
        cmocka_unit_test(burst_is_bounded_by_places),
        cmocka_unit_test(burst_without_a_bound_is_felt_long_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
