/* SPDX-License-Identifier: BSD-3-Clause */
/* What sluice-bench visits in a scene of each order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench/scene.h"

#define FLOWS 1000u

/* How often each flow comes in `visits`, and whether its tenant comes with it. */
static void count_visits(enum order order, uint32_t visits, uint32_t *came)
{
    static struct rings rings;
    const struct scene_plan plan = {.flows = FLOWS, .tenants = 7, .seed = 1, .order = order};
    struct scene *scene = scene_open(&plan, &rings);

    assert_non_null(scene);
    assert_true(scene_arrange(scene));
    memset(came, 0, FLOWS * sizeof(*came));
    for (uint32_t i = 0; i < visits; i++) {
        scene_visit(scene, 1, 40);
        assert_int_equal(scene->batch_attempts[0].tenant, scene->batch_flows[0] % 7);
        came[scene->batch_flows[0]]++;
    }
    scene_close(scene);
}

static void random_order_visits_every_flow_before_any_again(void **state)
{
    uint32_t came[FLOWS];

    (void)state;
    count_visits(ORDER_RANDOM, 2 * FLOWS, came);
    for (uint32_t i = 0; i < FLOWS; i++)
        assert_int_equal(came[i], 2);
}

/* The sum of 1/k up to 1000 is 7.48547: so often comes the first rank in 2^20 visits, which is not
 * flow 0 but any. Then they repeat. */
static void zipf_visits_one_flow_most(void **state)
{
    uint32_t came[FLOWS], again[FLOWS], most = 0;

    (void)state;
    count_visits(ORDER_ZIPF, ORDER_ZIPF_VISITS, came);
    for (uint32_t i = 0; i < FLOWS; i++)
        most = came[i] > came[most] ? i : most;
    assert_int_not_equal(most, 0);
    assert_in_range(came[most], 140082 - 1394, 140082 + 1394);
    count_visits(ORDER_ZIPF, 2 * ORDER_ZIPF_VISITS, again);
    for (uint32_t i = 0; i < FLOWS; i++)
        assert_int_equal(again[i], 2 * came[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_order_visits_every_flow_before_any_again),
        cmocka_unit_test(zipf_visits_one_flow_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
