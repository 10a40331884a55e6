/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A quota in erlangs in front of work of random weight: what is debited stays within the bound that
 * occupancy.h states, in every interval; and a tenant that keeps its rate and sends work ten times
 * as heavy is held to its share.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/occupancy.h"
#include "dataplane/admission/window.h"
#include "tests/property/random.h"

#define MS        1000000ull
#define S         1000000000ull
#define SLOTS_MAX 64

/* A tenant's work in flight behind its window and its quota in erlangs, in virtual time. */
struct tenant {
    struct occupancy occupancy;
    struct window window;
    uint32_t rate;  /* milli-erlangs */
    uint32_t limit; /* of the window */
    struct {
        uint64_t since_ns, until_ns; /* until_ns 0: free */
    } slots[SLOTS_MAX];
    uint64_t debited_ns, offered, refused;
    int64_t lowest_owed;           /* for judge() */
    uint64_t crossed_in_flight_ns; /* when the level last fell to zero */
};

static void start(struct tenant *t, uint32_t rate, uint32_t limit)
{
    *t = (struct tenant){.rate = rate, .limit = limit};
    occupancy_set(&t->occupancy, rate, 0);
}

static void offer(struct tenant *t, uint64_t held_ns, uint64_t now_ns)
{
    unsigned i = 0;

    t->offered++;
    if (!occupancy_allows(&t->occupancy, t->rate, now_ns) ||
        !window_acquire(&t->window, t->limit)) {
        t->refused++;
        return;
    }
    while (t->slots[i].until_ns)
        i++;
    t->slots[i].since_ns = now_ns;
    t->slots[i].until_ns = now_ns + held_ns;
}

/* The slot whose work ends next, if that is not after `now_ns`; otherwise limit. */
static unsigned next_to_end(const struct tenant *t, uint64_t now_ns)
{
    unsigned found = t->limit;

    for (unsigned i = 0; i < t->limit; i++)
        if (t->slots[i].until_ns && t->slots[i].until_ns <= now_ns &&
            (found == t->limit || t->slots[i].until_ns < t->slots[found].until_ns))
            found = i;
    return found;
}

static uint64_t end(struct tenant *t, unsigned i)
{
    uint64_t until_ns = t->slots[i].until_ns, held_ns = until_ns - t->slots[i].since_ns;

    occupancy_debit(&t->occupancy, t->rate, held_ns, until_ns);
    window_release(&t->window);
    t->debited_ns += held_ns;
    t->slots[i].until_ns = 0;
    return until_ns;
}

/* All that is in flight, as it will have been held at its end. */
static uint64_t in_flight_ns(const struct tenant *t)
{
    uint64_t sum_ns = 0;

    for (unsigned i = 0; i < t->limit; i++)
        if (t->slots[i].until_ns)
            sum_ns += t->slots[i].until_ns - t->slots[i].since_ns;
    return sum_ns;
}

/*
 * The bound, in every interval [s, t] at once, judged without looking at the level: with
 * D(t) = 1000 * debited - rate * t, it says D(t) - D(s) <= capacity + 1000 * in flight, and the
 * lowest D so far is the hardest s.
 */
static void judge(struct tenant *t, uint64_t now_ns)
{
    int64_t owed = (int64_t)(t->debited_ns * 1000) - (int64_t)(t->rate * now_ns);
    int64_t most = (int64_t)(t->rate * 10 * S);

    if (owed - t->lowest_owed > most)
        assert_true(owed - t->lowest_owed <= most + (int64_t)(1000 * t->crossed_in_flight_ns));
    if (owed < t->lowest_owed)
        t->lowest_owed = owed;
}

/* Ends what is due, one after the other, as the workers would. */
static void pass_time(struct tenant *t, uint64_t now_ns)
{
    for (unsigned i = next_to_end(t, now_ns); i < t->limit; i = next_to_end(t, now_ns)) {
        bool allowed = occupancy_allows(&t->occupancy, t->rate, t->slots[i].until_ns);
        uint64_t all_ns = in_flight_ns(t), until_ns = end(t, i);

        if (allowed && !occupancy_allows(&t->occupancy, t->rate, until_ns))
            t->crossed_in_flight_ns = all_ns;
        judge(t, until_ns);
    }
}

static void no_interval_holds_more_than_its_share(void **state)
{
    uint64_t refused = 0, offered = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint64_t random = seed, now_ns = 0, gap_ns = MS, held_ns = MS;
        struct tenant t;

        start(&t, 1 + (uint32_t)random_below(&random, 20000), 1 + (uint32_t)(seed % SLOTS_MAX));
        for (unsigned i = 0; i < 4000; i++) {
            if (i % 200 == 0) { /* another kind of work, another rate, sometimes a pause */
                gap_ns = MS << random_below(&random, 8);
                held_ns = MS << random_below(&random, 15);
                now_ns += random_below(&random, 4) ? 0 : random_below(&random, 60 * S);
            }
            now_ns += random_below(&random, gap_ns);
            pass_time(&t, now_ns);
            offer(&t, 1 + random_below(&random, held_ns), now_ns);
        }
        pass_time(&t, UINT64_MAX);
        refused += t.refused;
        offered += t.offered;
    }
    assert_in_range(refused, offered / 10, offered * 9 / 10); /* both happens */
}

/* -- ten times heavier -- */

#define SHARE 5000 /* milli-erlangs: 250/s of 20 ms */
#define PER_S 250
#define LIGHT (20 * MS)

/* Work for `seconds`, of random weight about `held_ns` on average; returns occupancy, in slot-ns.
 */
static uint64_t work(struct tenant *t, uint64_t *random, uint64_t *now_ns, uint64_t held_ns,
                     unsigned seconds)
{
    uint64_t until_ns = *now_ns + seconds * S, before_ns = t->debited_ns;

    while (*now_ns < until_ns) {
        *now_ns += S / PER_S / 2 + random_below(random, S / PER_S);
        pass_time(t, *now_ns);
        offer(t, held_ns / 2 + random_below(random, held_ns), *now_ns);
    }
    return t->debited_ns - before_ns;
}

static void heavier_work_is_held_to_its_share(void **state)
{
    uint64_t random = 1, now_ns = 0, refused, held_ns;
    struct tenant t;

    (void)state;
    start(&t, SHARE, 50);
    held_ns = work(&t, &random, &now_ns, LIGHT * 9 / 10, 60);
    assert_int_equal(t.refused, 0);
    print_message("# light: %.2f erlangs of 5\n", (double)held_ns / 60e9);

    /* The burst goes first, with what is in flight: no more than 10 s and a window full. */
    held_ns = work(&t, &random, &now_ns, 10 * LIGHT, 10);
    print_message("# heavy, first 10 s: %.2f erlangs\n", (double)held_ns / 10e9);
    assert_in_range(held_ns, 5 * 10 * S, 2 * 5 * 10 * S + 50 * 15 * LIGHT);
    for (unsigned minute = 0; minute < 5; minute++) {
        refused = t.refused;
        held_ns = work(&t, &random, &now_ns, 10 * LIGHT, 60);
        print_message("# heavy: %.2f erlangs, %" PRIu64 " of %u refused\n", (double)held_ns / 60e9,
                      t.refused - refused, 60 * PER_S);
        assert_in_range(held_ns, 5 * 60 * S * 95 / 100, 5 * 60 * S * 105 / 100);
    }

    /* The same with a quota that never binds: ten times its share, or what the window holds. */
    start(&t, 20 * SHARE, 50);
    held_ns = work(&t, &random, &now_ns, 10 * LIGHT, 60);
    print_message("# heavy, no share: %.2f erlangs\n", (double)held_ns / 60e9);
    assert_true(held_ns > 40 * 60 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_interval_holds_more_than_its_share),
        cmocka_unit_test(heavier_work_is_held_to_its_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
