/* SPDX-License-Identifier: BSD-3-Clause */
/* A service behind a door under random load: against the formulas of queueing theory, and what
 * tenants do to each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/shop.h"

#define S 1000000000.0

static uint64_t exponential_ns(uint64_t *seed, double mean_s)
{
    return (uint64_t)(-log1p(-(double)(random_u64(seed) >> 11) / 9007199254740992.0) * mean_s * S);
}

static void assert_near(double value, double golden, double tolerance)
{
    if (fabs(value - golden) > tolerance * golden)
        fail_msg("%g is not within %g of %g", value, tolerance, golden);
}

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

#define TENANTS    8
#define SLOTS      64
#define SLOTS_EACH (SLOTS / TENANTS)
#define PLACES     320
#define DEADLINE   100000000ull
#define SECONDS    30
#define HISTOGRAM  4000 /* buckets of 0.1 ms */

/* Tenants of numbers 1 to 8: six with 80 % of an equal part, one that asks twenty times as often,
 * one that asks for ten times as much work. */
enum { FLOODER = 7, HEAVY = 8 };

struct fairness {
    double demand_s[TENANTS + 1], served_s[TENANTS + 1]; /* slot-seconds */
    uint64_t victims[HISTOGRAM], n_victims;              /* stay of the six, from asking to done */
};

static void note_fairness(struct shop *s, enum door_event event, const struct waiter *w)
{
    struct fairness *f = s->context;
    uint64_t stay = (s->now_ns - w->since_ns + w->cookie) / 100000;

    if (event != DOOR_ENTERED)
        return;
    f->served_s[w->tenant] += (double)w->cookie / S;
    if (w->tenant >= FLOODER)
        return;
    f->victims[stay < HISTOGRAM ? stay : HISTOGRAM - 1]++;
    f->n_victims++;
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
    const double each_s = .02, rate = .8 * SLOTS_EACH / each_s;
    const double flood = calm ? 1 : 20, weight = calm ? 1 : 10;
    struct shop s = {.note = note_fairness, .context = f};
    uint64_t seed = 4;

    *f = (struct fairness){0};
    shop_start(&s, rules, 2);
    while (s.now_ns < SECONDS * (uint64_t)S) {
        uint64_t next = s.now_ns + exponential_ns(&seed, 1 / (rate * (7 + flood)));
        double who = (double)(random_u64(&seed) >> 11) / 9007199254740992.0 * (7 + flood);
        uint32_t tenant = who < 7 ? (uint32_t)who + 1 : FLOODER;
        struct waiter w = {.until_ns = WAIT_FOREVER};

        if (who < 7 && tenant == FLOODER)
            tenant = HEAVY;
        w.tenant = tenant;
        w.share = one_line ? 0 : (uint8_t)tenant;
        w.cookie = exponential_ns(&seed, tenant == HEAVY ? each_s * weight : each_s);
        f->demand_s[tenant] += (double)w.cookie / S;
        shop_arrive(&s, (unsigned)random_below(&seed, 2), &w, next);
    }
    shop_stop(&s);
}

/* Jain's index of what each was served, in parts of what was due to it: what it asked for, and no
 * more than so many slots all the time. */
static double jain(const struct fairness *f, double slots_each)
{
    double sum = 0, squares = 0;

    print_message("# parts");
    for (unsigned i = 1; i <= TENANTS; i++) {
        double part = f->served_s[i] / fmin(f->demand_s[i], slots_each * SECONDS);

        sum += part;
        squares += part * part;
        print_message(" %.3f", part);
    }
    print_message("\n");
    return sum * sum / (TENANTS * squares);
}

static double p99_ms(const struct fairness *f)
{
    uint64_t above = 0;
    unsigned i = HISTOGRAM;

    while (above < f->n_victims / 100)
        above += f->victims[--i];
    return i / 10.0;
}

/* Without guarantees, two who want more divide what six at 80 % of an equal part leave. */
#define MAX_MIN ((SLOTS - 6 * .8 * SLOTS_EACH) / 2)

static double play_jain(const char *what, const struct door_rules *rules, bool one_line,
                        double slots_each)
{
    static struct fairness f;
    double index;

    play_fairness(rules, one_line, false, &f);
    index = jain(&f, slots_each);
    print_message("# %s: index %.4f, p99 of the six %.1f ms\n", what, index, p99_ms(&f));
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
    print_message("# p99 of the six %.1f ms, %.1f ms in calm\n", p99_ms(&rough), p99_ms(&calm));
    assert_near(p99_ms(&rough), p99_ms(&calm), tolerance);
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
