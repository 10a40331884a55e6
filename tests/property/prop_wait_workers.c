/* SPDX-License-Identifier: BSD-3-Clause */
/* Several workers' queues in front of one service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/door.h"

#define WORKERS    4
#define TICK_NS    100000ull /* a worker looks after its waiters once in so long */
#define AGE_NS     100000000ull
#define ATTEMPTS   200000
#define WAITERS    24
#define SLOTS      8
#define LATE_NS    (AGE_NS + TICK_NS)
#define NOT_INSIDE UINT64_MAX

struct attempt_log {
    uint64_t since_ns;
    enum door_event event;
    uint8_t class;
};

struct crew {
    struct door door;
    uint64_t seed, now_ns, n;
    struct attempt_log *log; /* by cookie */
    uint64_t waiting;        /* counted apart */
    uint64_t inside[SLOTS];  /* ends; NOT_INSIDE: free */
    struct waiter work[SLOTS];
    uint64_t count[DOOR_EXPIRED + 1], displaced;
    uint64_t refused_critical, expired_critical;
};

static void crew_enter(struct crew *c, const struct waiter *w)
{
    unsigned i = 0;

    while (i < SLOTS && c->inside[i] != NOT_INSIDE)
        i++;
    assert_true(i < SLOTS); /* never more than the window, nor into what is reserved */
    if (w->class == CLASS_BULK)
        assert_true(window_used(&c->door.slots) <=
                    SLOTS - c->door.rules.slot_reserve[CLASS_CRITICAL]);
    c->inside[i] = c->now_ns + 1000000 + random_below(&c->seed, 38000000);
    c->work[i] = *w;
}

static void crew_out_of_queue(struct crew *c, enum door_event event, const struct waiter *w)
{
    c->waiting--;
    c->count[event]++;
    assert_int_equal(c->log[w->cookie].event, DOOR_WAITS);
    c->log[w->cookie].event = event;
    c->expired_critical += event == DOOR_EXPIRED && w->class == CLASS_CRITICAL;
    /* Let in within the age, and gone one look later. */
    assert_true(c->now_ns - w->since_ns <= (event == DOOR_ENTERED ? AGE_NS : LATE_NS));
    assert_int_equal(w->since_ns, c->log[w->cookie].since_ns);
    if (event == DOOR_ENTERED)
        crew_enter(c, w);
}

static void crew_offer(struct crew *c, unsigned worker)
{
    struct waiter displaced;
    struct waiter w = {
        .cookie = c->n++,
        .since_ns = c->now_ns,
        .until_ns = WAIT_FOREVER,
        .class = random_below(&c->seed, 20) ? CLASS_BULK : CLASS_CRITICAL,
    };
    enum door_event event = door_offer(&c->door, worker, &w, &displaced);

    c->log[w.cookie] = (struct attempt_log){c->now_ns, event, w.class};
    if (displaced.share != UINT8_MAX) {
        assert_true(displaced.class < w.class);
        crew_out_of_queue(c, DOOR_REFUSED, &displaced);
        c->displaced++;
    }
    /* Nobody overtakes those who wait, on whatever worker. */
    if (event == DOOR_ENTERED)
        assert_int_equal(c->waiting, 0);
    if (event == DOOR_ENTERED)
        crew_enter(c, &w);
    c->waiting += event == DOOR_WAITS;
    c->count[event]++;
    c->refused_critical += event == DOOR_REFUSED && w.class == CLASS_CRITICAL;
    assert_int_equal(window_used(&c->door.places), c->waiting);
    assert_true(c->waiting <= WAITERS);
}

static void crew_tick(struct crew *c, unsigned worker)
{
    enum door_event event;
    struct waiter w;

    for (unsigned i = 0; i < SLOTS; i++)
        if (c->inside[i] <= c->now_ns) {
            c->inside[i] = NOT_INSIDE;
            door_leave(&c->door, &c->work[i]);
        }
    while ((event = door_poll(&c->door, worker, c->now_ns, &w)) != DOOR_NOTHING)
        crew_out_of_queue(c, event, &w);
}

/* Workers take turns; on one of them most attempts arrive. Load comes in waves of up to twice what
 * 8 slots of 20 ms can do. */
static void play_crew(struct crew *c, const struct door_rules *rules)
{
    door_start(&c->door, rules, WORKERS);
    c->log = calloc(ATTEMPTS, sizeof(*c->log));
    assert_non_null(c->log);
    for (unsigned i = 0; i < SLOTS; i++)
        c->inside[i] = NOT_INSIDE;
    while (c->n < ATTEMPTS || c->waiting > 0) {
        unsigned worker = (unsigned)(c->now_ns / (TICK_NS / WORKERS) % WORKERS);
        uint64_t load = c->now_ns / 1000000000 % 4 * 8; /* attempts in 1000 steps of 25 us */

        c->now_ns += TICK_NS / WORKERS;
        if (c->n < ATTEMPTS && random_below(&c->seed, 1000) < load)
            crew_offer(c, random_below(&c->seed, 4) ? 0 : worker);
        crew_tick(c, worker);
    }
    for (unsigned i = 0; i < ATTEMPTS; i++)
        assert_true(c->log[i].event != DOOR_WAITS && c->log[i].event != DOOR_NOTHING);
    assert_true(window_peak(&c->door.slots) <= SLOTS && window_peak(&c->door.places) <= WAITERS);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(wait_length(&c->door.queues[i]), 0);
    free(c->log);
    door_stop(&c->door);
}

static void nobody_overtakes_nor_outstays_on_any_worker(void **state)
{
    (void)state;
    for (unsigned order = 0; order < ORDER_MAX; order++) {
        const struct door_rules rules = {
            .slots = SLOTS, .places = WAITERS, .order = (enum policy_order)order, .age_ns = AGE_NS};
        struct crew c = {.seed = 1 + order};

        play_crew(&c, &rules);
        assert_true(c.count[DOOR_EXPIRED] > 0 && c.displaced > 0);
        assert_int_equal(window_peak(&c.door.slots), SLOTS);
        assert_int_equal(window_peak(&c.door.places), WAITERS);
        /* Displacement reaches no further than the worker's own queue. */
        assert_true(c.refused_critical > 0);
        print_message("# order %u: entered %lu, waited %lu, expired %lu, displaced %lu, critical "
                      "refused %lu\n",
                      order, (unsigned long)c.count[DOOR_ENTERED],
                      (unsigned long)c.count[DOOR_WAITS], (unsigned long)c.count[DOOR_EXPIRED],
                      (unsigned long)c.displaced, (unsigned long)c.refused_critical);
    }
}

/* With places of its own, a class finds one whatever lower classes do, on any worker. */
static void reserved_places_are_found_on_any_worker(void **state)
{
    const struct door_rules rules = {.slots = SLOTS,
                                     .places = WAITERS,
                                     .slot_reserve = {[CLASS_CRITICAL] = 3},
                                     .place_reserve = {[CLASS_CRITICAL] = 6},
                                     .age_ns = AGE_NS};
    struct crew c = {.seed = 9};

    (void)state;
    play_crew(&c, &rules);
    assert_int_equal(c.refused_critical, 0);
    assert_int_equal(c.expired_critical, 0);
    assert_true(c.count[DOOR_REFUSED] > 0 && c.count[DOOR_EXPIRED] > 0); /* bulk is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_overtakes_nor_outstays_on_any_worker),
        cmocka_unit_test(reserved_places_are_found_on_any_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
