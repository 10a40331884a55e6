/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of its capacity a service is used for that is offered many times as much, by the shed
 * controller around queue_model.h, and for how long its work waits. Means over seeds; those printed
 * are for the design notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/queue_model.h"

#define S        MODEL_S
#define MS       1000000ull
#define SEEDS    20
#define CAPACITY 170 /* a second, from four slots */

static struct model m;

struct use {
    double share;   /* of the capacity, served */
    double wait_ms; /* mean */
};

/* From the second in which shedding begins on, for 30 s. */
static struct use use_at(double times, double reserve_per_s)
{
    struct use use = {0};

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct model_setup setup = {
            .offered_per_s = {[CLASS_NORMAL] = times * CAPACITY},
            .service_ns = 4 * S / CAPACITY,
            .slots = 4,
            .places = 16,
            .age_ns = 100 * MS,
            .clients = 1000000,
            .rules = {CAPACITY, reserve_per_s, 0.98, 0.1},
            .seed = seed,
        };
        struct model_count before;
        double served;

        model_start(&m, &setup);
        model_run(&m, 2 * S, false);
        before = m.count[CLASS_NORMAL];
        model_run(&m, 32 * S, false);
        served = (double)(m.count[CLASS_NORMAL].served - before.served);
        use.share += served / (30 * CAPACITY) / SEEDS;
        use.wait_ms +=
            (double)(m.count[CLASS_NORMAL].waited_ns - before.waited_ns) / served / 1e6 / SEEDS;
    }
    return use;
}

/* A reserve of next to nothing still is one, and keeps x from falling below 0. */
static void a_queue_keeps_slots_busy_that_random_arrivals_leave_idle(void **state)
{
    static const double times[] = {2, 5, 10};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct use with = use_at(times[i], 0), without = use_at(times[i], 1e-6);

        print_message("# %2.0fx: %.3f of the capacity, waiting %.1f ms; "
                      "%.3f and %.1f ms where x stays at 0 or above\n",
                      times[i], with.share, with.wait_ms, without.share, without.wait_ms);
        assert_true(with.share > 0.95);
        assert_true(with.share > without.share + 0.01);
        assert_true(with.wait_ms < 60);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_keeps_slots_busy_that_random_arrivals_leave_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
