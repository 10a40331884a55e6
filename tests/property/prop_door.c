/* SPDX-License-Identifier: BSD-3-Clause */
/* A service behind a door under random load: against the formulas of queueing theory, and what
 * tenants do to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/fairness.h"
#include "tests/unit/shop.h"

/* -- M/M/4/21: four slots and 17 places -- */

struct loss {
    uint64_t refused, entered, waited_ns;
};

static void note_loss(struct shop *s, enum door_event event, const struct waiter *w)
{
    struct loss *l = s->context;

    l->refused += event == DOOR_REFUSED;
    if (event == DOOR_ENTERED) {
        l->entered++;
        l->waited_ns += s->now_ns - w->since_ns;
    }
}

#define ARRIVALS 4000000

static void play_loss(double rate_per_s, double blocked, double served_per_s, double wait_s)
{
    const struct door_rules rules = {.slots = 4, .places = 17, .age_ns = WAIT_FOREVER};
    struct loss l = {0};
    struct shop s = {.note = note_loss, .context = &l};
    uint64_t seed = 14;
    double t_s;

    shop_start(&s, &rules, 1);
    for (unsigned i = 0; i < ARRIVALS; i++) {
        struct waiter w = {.cookie = exponential_ns(&seed, 1 / 42.5), .until_ns = WAIT_FOREVER};

        shop_arrive(&s, 0, &w, s.now_ns + exponential_ns(&seed, 1 / rate_per_s));
    }
    t_s = (double)s.now_ns / S;
    print_message("# %.0f/s: %.4f blocked, %.2f/s served, waiting %.4f s\n", rate_per_s,
                  (double)l.refused / ARRIVALS, (double)l.entered / t_s,
                  (double)l.waited_ns / (double)l.entered / S);
    assert_near((double)l.refused / ARRIVALS, blocked, .01);
    assert_near((double)l.entered / t_s, served_per_s, .01);
    if (wait_s > 0)
        assert_near((double)l.waited_ns / (double)l.entered / S, wait_s, .01);
    shop_stop(&s);
}

static void blocking_is_that_of_the_formula(void **state)
{
    (void)state;
    play_loss(200, .156, 168.8, 0);
    play_loss(850, .800, 170.0, .0985);
}

/* -- fairness -- */

#define PLACES   320
#define DEADLINE 100000000ull

static void note_fairness(struct shop *s, enum door_event event, const struct waiter *w)
{
    struct fairness *f = s->context;

    if (event == DOOR_ENTERED)
        fairness_note(f, w->tenant, w->cookie, s->now_ns - w->since_ns + w->cookie);
}

/* Guarantees and ceilings of slots and places for each tenant; everybody else has none. */
static struct door_rules fair_rules(struct share_rules slots, struct share_rules places)
{
    struct door_rules r = {.slots = SLOTS,
                           .places = PLACES,
                           .n_shares = TENANTS + 1,
                           .slot_shares = {{0, SLOTS, 1}},
                           .place_shares = {{0, PLACES, 1}},
                           .age_ns = DEADLINE};

    for (unsigned i = 1; i <= TENANTS; i++) {
        r.slot_shares[i] = slots;
        r.place_shares[i] = places;
    }
    return r;
}

static void play_fairness(const struct door_rules *rules, bool one_line, bool calm,
                          struct fairness *f)
{
    struct shop s = {.note = note_fairness, .context = f};
    uint64_t seed = 4;

    *f = (struct fairness){0};
    shop_start(&s, rules, 2);
    while (s.now_ns < SECONDS * (uint64_t)S) {
        const struct fairness_work work = fairness_next(f, calm, &seed);
        const struct waiter w = {.cookie = work.takes_ns,
                                 .until_ns = WAIT_FOREVER,
                                 .tenant = work.tenant,
                                 .share = one_line ? 0 : (uint8_t)work.tenant};

        shop_arrive(&s, (unsigned)random_below(&seed, 2), &w, s.now_ns + work.after_ns);
    }
    shop_stop(&s);
}

/* Without guarantees, two who want more divide what six at 80 % of an equal part leave. */
#define MAX_MIN ((SLOTS - 6 * .8 * SLOTS_EACH) / 2)

static double play_jain(const char *what, const struct door_rules *rules, bool one_line,
                        double slots_each)
{
    static struct fairness f;
    double index;

    play_fairness(rules, one_line, false, &f);
    index = fairness_jain(&f, slots_each);
    print_message("# %s: index %.4f, p99 of the six %.1f ms\n", what, index, fairness_p99_ms(&f));
    return index;
}

static const struct share_rules any_slots = {0, SLOTS, 1}, any_places = {0, PLACES, 1};
static const struct share_rules own_slots = {SLOTS_EACH, SLOTS, 1};
static const struct share_rules own_places = {PLACES / TENANTS, PLACES, 1};

/* The six do not notice what the other two do. */
static void check_victims(const struct door_rules *rules, double tolerance)
{
    static struct fairness calm, rough;

    play_fairness(rules, false, true, &calm);
    play_fairness(rules, false, false, &rough);
    print_message("# p99 of the six %.1f ms, %.1f ms in calm\n", fairness_p99_ms(&rough),
                  fairness_p99_ms(&calm));
    assert_near(fairness_p99_ms(&rough), fairness_p99_ms(&calm), tolerance);
    for (unsigned i = 1; i < FLOODER; i++)
        assert_near(rough.served_s[i], rough.demand_s[i], .01);
}

static void guaranteed_shares_are_fair(void **state)
{
    const struct door_rules rules = fair_rules(own_slots, own_places);

    (void)state;
    assert_true(play_jain("guarantees", &rules, false, SLOTS_EACH) >= .99);
    check_victims(&rules, .1);
}

/* All slots are lent; those of whoever works below its part come back to it first. */
static void lent_slots_are_fair(void **state)
{
    const struct door_rules rules = fair_rules(any_slots, own_places);

    (void)state;
    assert_true(play_jain("lending", &rules, false, MAX_MIN) >= .99);
    check_victims(&rules, .15); /* a slot that is lent comes back only when its work ends */
}

/* Each part is needed: the numbers are what happens without it. */
static void fairness_without_one_part_is_lost(void **state)
{
    struct door_rules rules = fair_rules(any_slots, any_places);

    (void)state;
    assert_true(play_jain("one line for all", &rules, true, SLOTS_EACH) < .5);
    assert_true(play_jain("need alone", &rules, false, SLOTS_EACH) < .6);
    rules = fair_rules(own_slots, any_places);
    assert_true(play_jain("no shares of places", &rules, false, SLOTS_EACH) < .95);
    rules = fair_rules(any_slots, own_places);
    rules.turns_alone = true;
    assert_true(play_jain("lending in turns", &rules, false, MAX_MIN) < .6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_is_that_of_the_formula),
        cmocka_unit_test(guaranteed_shares_are_fair),
        cmocka_unit_test(lent_slots_are_fair),
        cmocka_unit_test(fairness_without_one_part_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
