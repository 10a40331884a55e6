/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/share.h"
#include "tests/unit/threads.h"

#define LIMIT  10
#define SHARES 3

/* Number 0, then 4 guaranteed of up to 10, then 3 of up to 5: 3 to lend. */
static const struct share_rules rules[SHARES] = {{0, LIMIT, 1}, {4, 10, 1}, {3, 5, 1}};

struct crew {
    struct window service, shares[SHARES];
};

static enum share_answer acquire(struct crew *c, unsigned share)
{
    return share_acquire(&c->service, c->shares, rules, SHARES, share, LIMIT);
}

/* Takes all a share can get; returns how many, and what the last answer was. */
static unsigned fill(struct crew *c, unsigned share, enum share_answer *end)
{
    unsigned n = 0;

    while ((*end = acquire(c, share)) == SHARE_TAKEN)
        n++;
    return n;
}

static void nobody_takes_what_others_are_guaranteed(void **state)
{
    enum share_answer end;

    (void)state;
    for (unsigned first = 0; first < SHARES; first++) {
        static const unsigned most[SHARES] = {3, 7, 5};
        struct crew c = {0};
        unsigned used;

        assert_int_equal(used = fill(&c, first, &end), most[first]);
        assert_int_equal(end, first == 2 ? SHARE_CEILING : SHARE_FULL);
        assert_int_equal(window_used(&c.service), used); /* a refusal holds nothing */
        assert_int_equal(window_used(&c.shares[first]), used);
        for (unsigned share = 1; share < SHARES; share++)
            if (share != first)
                for (unsigned i = 0; i < rules[share].guaranteed; i++)
                    assert_int_equal(acquire(&c, share), SHARE_TAKEN);
        fill(&c, 0, &end);
        assert_int_equal(window_used(&c.service), LIMIT); /* and what is left is for anybody */
        assert_int_equal(end, SHARE_FULL);
    }
}

/* Slots of a share that has used part of its guarantee are kept only as far as it has not. */
static void used_guarantees_are_kept_no_longer(void **state)
{
    struct crew c = {0};
    enum share_answer end;

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(acquire(&c, 1), SHARE_TAKEN);
    assert_int_equal(fill(&c, 0, &end), 3); /* 10 less 2 used, 2 and 3 kept */
    assert_int_equal(fill(&c, 2, &end), 3);
    assert_int_equal(end, SHARE_FULL);
    share_release(&c.service, c.shares, SHARES, 0);
    assert_int_equal(fill(&c, 2, &end), 1); /* borrows what was given back */
    assert_int_equal(fill(&c, 1, &end), 2);
    assert_int_equal(window_used(&c.service), LIMIT);
    for (unsigned i = 0; i < 4; i++)
        share_release(&c.service, c.shares, SHARES, 2);
    assert_int_equal(window_used(&c.shares[2]), 0);
    assert_int_equal(fill(&c, 0, &end), 1); /* the fourth: the other three are kept again */
}

static void no_shares_is_one_window(void **state)
{
    struct window service = {0};

    (void)state;
    for (unsigned i = 0; i < LIMIT; i++)
        assert_int_equal(share_acquire(&service, NULL, NULL, 0, 0, LIMIT), SHARE_TAKEN);
    assert_int_equal(share_acquire(&service, NULL, NULL, 0, 0, LIMIT), SHARE_FULL);
    assert_int_equal(window_used(&service), LIMIT);
    share_force(&service, NULL, 0, 0);
    assert_int_equal(window_used(&service), LIMIT + 1);
    for (unsigned i = 0; i <= LIMIT; i++)
        share_release(&service, NULL, 0, 0);
    assert_int_equal(window_used(&service), 0);
}

/* Adopted work counts in its share, too, above any limit. */
static void forced_slots_are_debt_of_both(void **state)
{
    struct crew c = {0};

    (void)state;
    for (unsigned i = 0; i < 7; i++)
        share_force(&c.service, c.shares, SHARES, 2);
    assert_int_equal(acquire(&c, 2), SHARE_CEILING);
    assert_int_equal(acquire(&c, 0), SHARE_FULL); /* 3 left, and 4 guaranteed to share 1 */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(acquire(&c, 1), SHARE_TAKEN);
    assert_int_equal(acquire(&c, 1), SHARE_FULL);
    for (unsigned i = 0; i < 3; i++)
        share_release(&c.service, c.shares, SHARES, 2);
    assert_int_equal(window_used(&c.shares[2]), 4);
    assert_int_equal(acquire(&c, 2), SHARE_TAKEN);
}

/* A guarantee holds to its last slot, even when debt has eaten into what others are guaranteed. */
static void debt_of_others_takes_no_guarantee_away(void **state)
{
    struct crew c = {0};

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        share_force(&c.service, c.shares, SHARES, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(acquire(&c, 1), SHARE_TAKEN);
    assert_int_equal(acquire(&c, 1), SHARE_FULL);
    assert_int_equal(acquire(&c, 2), SHARE_TAKEN); /* one of its three is left */
    assert_int_equal(acquire(&c, 2), SHARE_FULL);
}

/* Guarantees of more than there is: each as it comes, never more than the limit. */
static void guarantees_beyond_the_limit_are_first_come(void **state)
{
    static const struct share_rules greedy[2] = {{0, 4, 1}, {UINT32_C(16777216), 4, 1}};
    struct crew c = {0};

    (void)state;
    assert_int_equal(share_acquire(&c.service, c.shares, greedy, 2, 0, 4), SHARE_FULL);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(share_acquire(&c.service, c.shares, greedy, 2, 1, 4), SHARE_TAKEN);
    assert_int_equal(share_acquire(&c.service, c.shares, greedy, 2, 1, 4), SHARE_CEILING);
    assert_int_equal(window_used(&c.service), 4);
}

/* -- threads -- */

#define ROUNDS 100000

struct crowd {
    struct crew crew;
    uint32_t inside, most_inside; /* counted apart, as a backend would */
    uint32_t in_share[SHARES], most_in_share[SHARES];
    uint64_t answers[3];
};

static void give_back(struct crowd *c, unsigned share)
{
    threads_count_out(&c->inside);
    threads_count_out(&c->in_share[share]);
    share_release(&c->crew.service, c->crew.shares, SHARES, share);
}

/* Holds up to four slots, of any shares, and gives back the first taken. */
static void *hammer(void *arg)
{
    struct crowd *c = arg;
    uint64_t answers[3] = {0};
    unsigned held[4], n = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned share = i * 7 / 3 % SHARES;
        enum share_answer answer = n < 4 ? acquire(&c->crew, share) : SHARE_FULL;

        answers[answer] += n < 4;
        if (answer == SHARE_TAKEN) {
            threads_count_in(&c->inside, &c->most_inside);
            threads_count_in(&c->in_share[share], &c->most_in_share[share]);
            held[n++] = share;
        } else if (n > 0) {
            give_back(c, held[0]);
            n--;
            for (unsigned k = 0; k < n; k++)
                held[k] = held[k + 1];
        }
        if (i % 64 == 0)
            sched_yield();
    }
    while (n > 0)
        give_back(c, held[--n]);
    for (unsigned a = 0; a < 3; a++)
        __atomic_add_fetch(&c->answers[a], answers[a], __ATOMIC_RELAXED);
    return NULL;
}

static void limits_are_exact_among_threads(void **state)
{
    static struct crowd c;

    (void)state;
    threads_run(hammer, &c);
    assert_true(c.most_inside <= LIMIT);
    assert_true(window_peak(&c.crew.service) <= LIMIT);
    assert_int_equal(window_used(&c.crew.service), 0);
    for (unsigned share = 0; share < SHARES; share++) {
        assert_true(c.most_in_share[share] <= rules[share].ceiling);
        assert_int_equal(window_used(&c.crew.shares[share]), 0);
    }
    assert_true(c.answers[SHARE_TAKEN] > 0 && c.answers[SHARE_FULL] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_takes_what_others_are_guaranteed),
        cmocka_unit_test(used_guarantees_are_kept_no_longer),
        cmocka_unit_test(no_shares_is_one_window),
        cmocka_unit_test(forced_slots_are_debt_of_both),
        cmocka_unit_test(debt_of_others_takes_no_guarantee_away),
        cmocka_unit_test(guarantees_beyond_the_limit_are_first_come),
        cmocka_unit_test(limits_are_exact_among_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
