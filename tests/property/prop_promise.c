/* SPDX-License-Identifier: BSD-3-Clause */
/* Promises about a modelled service, and what becomes of them without parts of the estimator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/service_model.h"

/* Four slots, 170/s. A piece in 50 takes ten times as long. */
static const struct setup heavy = {
    .slots = 4, .service_s = 4 / 170., .tail_share = .02, .tail_factor = 10, .deadline_ns = S};
/* 64 slots, 640/s, 80 to 120 ms each. */
static const struct setup steady = {.slots = 64, .service_s = .1, .spread = .2, .deadline_ns = S};
/* Room for hundreds of times what comes: 512/s of 20 ms in 1024 slots. */
static const struct setup roomy = {
    .slots = 1024, .service_s = .02, .spread = .2, .deadline_ns = S, .load = .01};

static void show(const char *name, const struct setup *s, struct tally t, uint64_t for_ns)
{
    print_message("# %-28s %4.2fx: admitted %6.1f/s useful %6.1f/s late %6.2f %%\n", name, s->load,
                  (double)t.admitted * S / (double)for_ns, (double)t.useful * S / (double)for_ns,
                  100 * tally_broken(t));
}

/* 100 s, after 20 s to settle. */
static struct tally settled(const char *name, const struct setup *setup, uint64_t seed)
{
    static struct model m;
    struct tally t;

    model_init(&m, setup, seed);
    model_run(&m, 20 * S);
    t = model_run(&m, 100 * S);
    show(name, setup, t, 100 * S);
    return t;
}

/* The excess learns it at the door; the others are in time, and no slot is idle for it. */
static void compare_loads(struct setup setup, double most_broken)
{
    static const double loads[] = {.5, .9, 1.2, 2, 5, 10};

    for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        struct setup unchecked = setup;
        struct tally with, without;

        setup.load = unchecked.load = loads[i];
        unchecked.no_check = true;
        with = settled("deadline checked", &setup, 7 + i);
        without = settled("not checked", &unchecked, 7 + i);
        assert_true(tally_broken(with) <= most_broken);
        assert_true((double)with.useful >= .99 * (double)without.useful);
        /* Without the check all slots are always busy: that is what they can do. */
        assert_true((double)with.useful >= .95 * (double)(without.useful + without.late));
        if (loads[i] > 1)
            assert_int_equal(without.useful, 0);
    }
}

static void promises_are_kept_at_any_load(void **state)
{
    (void)state;
    compare_loads(heavy, .01);
}

static void promises_are_kept_with_a_short_deadline(void **state)
{
    struct setup setup = heavy;

    (void)state;
    setup.deadline_ns = 250 * MS; /* ten times the mean */
    for (setup.load = 2; setup.load < 20; setup.load *= 2) {
        struct setup open = setup;
        struct tally with, without;

        open.no_feedback = true;
        with = settled("alpha follows", &setup, 11);
        without = settled("alpha fixed", &open, 11);
        assert_true(tally_broken(with) <= .0125);
        assert_true(tally_broken(with) < tally_broken(without));
        assert_true((double)with.useful >= .99 * (double)without.useful);
    }
}

/* A tenth of the work takes 200 times as long as the rest, 225 ms by the mean: of that, 64 % take
 * longer than the deadline by themselves, whoever is refused. */
static void what_cannot_be_in_time_costs_no_goodput(void **state)
{
    struct setup setup = heavy, unchecked;
    struct tally with, without;

    (void)state;
    setup.slots = 16;
    setup.tail_share = .1;
    setup.tail_factor = 200;
    setup.deadline_ns = 100 * MS;
    setup.load = 5;
    unchecked = setup;
    unchecked.no_check = true;
    with = settled("long tail, checked", &setup, 3);
    without = settled("long tail, not checked", &unchecked, 3);
    assert_true((double)with.useful >= .9 * (double)(without.useful + without.late));
    assert_true(tally_broken(with) <= .064 + .01);
}

/* Ten times slower for a minute, at twice the old capacity. */
static void a_slower_backend_is_learnt(void **state)
{
    static struct model m;
    struct setup setup = heavy;
    struct tally t;

    (void)state;
    setup.load = 2;
    model_init(&m, &setup, 5);
    model_run(&m, 30 * S);
    m.slowness = 10;
    t = model_run(&m, 2 * S);
    show("10x slower, first 2 s", &setup, t, 2 * S);
    assert_true(t.late <= 8);
    t = model_run(&m, 58 * S);
    show("10x slower, then", &setup, t, 58 * S);
    assert_true(tally_broken(t) <= .03); /* 1.4 % of it takes more than 1 s by itself */
    assert_true((double)t.useful >= .9 * 17 * 58);
    m.slowness = 1;
    model_run(&m, 2 * S);
    t = model_run(&m, 8 * S);
    show("as before, from 2 s on", &setup, t, 8 * S);
    assert_true((double)t.useful >= .9 * 170 * 8);
}

/* What was admitted in two seconds after the backend became 500 times slower: 10 s a piece. */
static struct tally grown_slow(struct model *m, bool no_ages)
{
    struct setup setup = roomy;
    struct tally t;

    setup.no_ages = no_ages;
    model_init(m, &setup, 7);
    model_run(m, 20 * S);
    m->slowness = 500;
    t = model_run(m, 2 * S);
    show(no_ages ? "500x slower, without ages" : "500x slower, with ages", &setup, t, 2 * S);
    return t;
}

static void ages_tell_before_anything_is_done(void **state)
{
    static struct model m;
    struct tally with, without;

    (void)state;
    without = grown_slow(&m, true);
    with = grown_slow(&m, false);
    /* Half of the deadline, 256 pieces, and what it takes to see that; otherwise until all is full.
     */
    assert_true(with.admitted < 600);
    assert_true(without.admitted > 900);
    with = model_run(&m, 5 * S);
    show("then, hopeless", &m.setup, with, 5 * S);
    assert_in_range(with.admitted, 4, 6); /* samples */
    m.slowness = 1;
    model_run(&m, S);
    with = model_run(&m, 4 * S);
    show("as before, from 1 s on", &m.setup, with, 4 * S);
    assert_true((double)with.useful >= .95 * 512 * 4); /* although 500 still hang, or end late */
}

/* The backend stops for 5 s. */
static void a_stopped_backend_comes_back(void **state)
{
    static const struct {
        const struct setup *setup;
        double load;
    } rows[] = {{&heavy, .8}, {&heavy, 2}, {&steady, .8}, {&steady, 2}};

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct model m;
        struct setup setup = *rows[i].setup;
        double most_per_s = model_capacity(&setup) * (rows[i].load < 1 ? rows[i].load : 1);
        struct tally t;

        setup.load = rows[i].load;
        model_init(&m, &setup, 5);
        model_run(&m, 30 * S);
        model_stall(&m, 5 * S);
        t = model_run(&m, 5 * S - MS);
        assert_int_equal(t.useful + t.late, 0);
        assert_true(t.admitted <= setup.slots);
        t = model_run(&m, 2 * S);
        show("stopped for 5 s, next 2 s", &setup, t, 2 * S);
        assert_true(t.late <= setup.slots + 2); /* what ran already, hardly more */
        t = model_run(&m, 5 * S);
        show("then", &setup, t, 5 * S);
        assert_true((double)t.useful >= .9 * most_per_s * 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_are_kept_at_any_load),
        cmocka_unit_test(promises_are_kept_with_a_short_deadline),
        cmocka_unit_test(what_cannot_be_in_time_costs_no_goodput),
        cmocka_unit_test(a_slower_backend_is_learnt),
        cmocka_unit_test(ages_tell_before_anything_is_done),
        cmocka_unit_test(a_stopped_backend_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
