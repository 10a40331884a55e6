/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs count as the data plane is told of it: few tenants at once, many by turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/bpf/kernel.h"
#include "tests/bpf/wires.h"

static const struct admission_tenant_counters *counted(uint32_t id)
{
    return dataplane_front_tenant(tested.xdp->dataplane, id);
}

static void run_house(void)
{
    assert_int_equal(house_start(&tested), 0);
    assert_int_equal(house_open(&tested), 0);
    house_serve(&tested);
}

/* Three at once, and hardly any more; without a worker's sign of life the program decides alone. */
static void assert_five_were_asked(uint32_t tenant)
{
    assert_int_equal(counted(tenant)->attempts, 5);
    assert_int_equal(counted(tenant)->admitted, 3);
    assert_int_equal(counted(tenant)->refused[REASON_RATE], 2);
    assert_int_equal(counted(tenant)->packets[DIRECTION_IN], 3);
    assert_int_equal(counted(tenant)->bytes[DIRECTION_IN], 3 * 40);
}

static void what_programs_count_goes_to_the_data_plane(void **state)
{
    const struct admission_service_counters *service;
    struct xdp_counts counts;

    (void)state;
    run_house();
    wires_ask(0, 5);
    xdp_tend(tested.xdp);
    assert_five_were_asked(site_tenant_id(SITE_DEFAULT));
    service = dataplane_front_service(tested.xdp->dataplane, site_service_id(SITE_WEB));
    assert_int_equal(service->attempts, 5);
    assert_int_equal(service->refused[REASON_RATE], 2);
    assert_int_equal(service->unanswered, 2);
    counts = house_view(0, 1).counts;
    assert_int_equal(counts.received, 5);
    assert_int_equal(counts.guarded, 0);
    assert_int_equal(counts.passed, 3);
    assert_int_equal(counts.dropped[REASON_RATE], 2);
    assert_int_equal(house_view(1, 1).counts.received, 0);
    house_end(&tested);
}

/* -- many tenants -- */

/* As many tenants as there is room for, and the default one has the last id. */
static void crowd_the_policy(void)
{
    static struct policy_tenant tenants[WIRES_TENANTS_MAX];
    struct policy_spec spec = tested.site.spec;

    for (uint32_t t = 0; t < WIRES_TENANTS_MAX; t++) {
        if (t < SITE_TENANTS)
            tenants[t] = tested.site.tenants[t];
        else
            tenants[t] = core_tenant(0);
        tenants[t].id = WIRES_TENANTS_MAX - 1 - t;
        snprintf(tenants[t].name, sizeof(tenants[t].name), t ? "tenant-%u" : "default", t);
    }
    spec.tenants = tenants;
    spec.n_tenants = WIRES_TENANTS_MAX;
    policy_free(tested.policy);
    assert_int_equal(policy_create(&spec, &tested.policy), 0);
}

/* 1024 in a period: the last ones have their turn in the next. */
static void many_tenants_take_turns(void **state)
{
    const uint32_t last = WIRES_TENANTS_MAX - 1;

    (void)state;
    crowd_the_policy();
    run_house();
    wires_ask(0, 5);
    xdp_tend(tested.xdp);
    assert_int_equal(counted(last)->attempts, 0);
    xdp_tend(tested.xdp);
    assert_five_were_asked(last);
    wires_ask(0, 7);
    xdp_tend(tested.xdp);
    xdp_tend(tested.xdp);
    assert_int_equal(counted(last)->attempts, 12);
    assert_int_equal(counted(last)->refused[REASON_RATE], 9);
    for (uint32_t id = 0; id < last; id++)
        assert_int_equal(counted(id)->attempts, 0);
    house_end(&tested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRES_TEST(what_programs_count_goes_to_the_data_plane),
        WIRES_TEST(many_tenants_take_turns),
    };

    kernel_skip_if_missing();
    wires_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
