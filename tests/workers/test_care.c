/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever knows a device's interface in the kernel is asked at the right moments, may say no, and
 * decides alike. What DPDK is asked for meanwhile is noted in the same line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/admission/state.h"
#include "tests/workers/gate.h"

static char calls[512];
static const char *refuses = ""; /* the call that is refused */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    size_t used = strlen(calls);
    va_list list;

    va_start(list, format);
    vsnprintf(calls + used, sizeof(calls) - used, format, list);
    va_end(list);
}

static int noted(const char *expected)
{
    int differs = strcmp(calls, expected);

    if (differs)
        print_error("noted: %s\nexpected: %s\n", calls, expected);
    calls[0] = '\0';
    return differs;
}

/* -- what DPDK is asked for -- */

int __real_rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t n, unsigned node,
                                  const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
int __wrap_rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t n, unsigned node,
                                  const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
int __real_rte_eth_dev_start(uint16_t port);
int __wrap_rte_eth_dev_start(uint16_t port);
int __real_rte_eth_dev_close(uint16_t port);
int __wrap_rte_eth_dev_close(uint16_t port);

int __wrap_rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t n, unsigned node,
                                  const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
    note("queue %u, ", queue);
    if (strcmp(refuses, "queue") == 0)
        return -EBUSY;
    return __real_rte_eth_rx_queue_setup(port, queue, n, node, conf, pool);
}

int __wrap_rte_eth_dev_start(uint16_t port)
{
    note("start, ");
    return __real_rte_eth_dev_start(port);
}

int __wrap_rte_eth_dev_close(uint16_t port)
{
    note("close, ");
    return __real_rte_eth_dev_close(port);
}

/* -- who is asked -- */

static const char *arguments(void *context, const char *device)
{
    assert_ptr_equal(context, calls);
    return strcmp(device, "net_ring_inside") == 0 ? ",xdp_prog=program" : "";
}

static int answer(const char *call, const char *device, char *why, size_t why_bytes)
{
    note("%s %s, ", call, device);
    if (strcmp(refuses, call) != 0)
        return 0;
    snprintf(why, why_bytes, "%s: not this one", device);
    return -EPERM;
}

static int before(void *context, const char *device, char *why, size_t why_bytes)
{
    assert_ptr_equal(context, calls);
    return answer("before", device, why, why_bytes);
}

static int after(void *context, const char *device, char *why, size_t why_bytes)
{
    assert_ptr_equal(context, calls);
    return answer("after", device, why, why_bytes);
}

static void closed(void *context, const char *device)
{
    assert_ptr_equal(context, calls);
    note("closed %s, ", device);
}

static const struct device_care care = {calls, arguments, before, after, closed};

/* -- in order -- */

static void arguments_are_appended(void **state)
{
    (void)state;
    assert_string_equal(gate.vdevs,
                        "--vdev=net_ring_outside --vdev=net_ring_inside,xdp_prog=program ");
}

static void each_device_is_asked_around_its_queues(void **state)
{
    (void)state;
    assert_int_equal(
        noted("before net_ring_outside, queue 0, queue 1, queue 2, queue 3, "
              "after net_ring_outside, start, before net_ring_inside, queue 0, queue 1, "
              "after net_ring_inside, start, "),
        0);
}

/* A third device, which nobody polls. */
static int open_third(char *why, size_t why_bytes)
{
    const struct port_plan plan = {.pool = gate.dp->pool, .owners = &gate.dp->owners, .workers = 1};
    struct port port = {
        .device = "net_ring_third,of=mine", .gate = "rings", .side = "outside", .care = &care};
    int err;

    assert_true(
        rte_eth_from_rings("third", gate.rings[0].receive, 1, gate.rings[0].transmit, 1, 0) >= 0);
    err = port_open(&port, &plan, why, why_bytes);
    if (!err)
        port_close(&port);
    assert_int_equal(rte_eal_hotplug_remove("vdev", "net_ring_third"), 0);
    refuses = "";
    return err;
}

/* Whatever stops it, it is closed, and the reason is the one that was given. */
static void a_device_that_is_refused_is_closed(void **state)
{
    static const struct {
        const char *refuses;
        int err;
        const char *why, *calls;
    } cases[] = {
        {"before", -EPERM, "net_ring_third,of=mine: not this one",
         "before net_ring_third,of=mine, close, closed net_ring_third,of=mine, "},
        {"queue", -EBUSY,
         "gate rings, outside device net_ring_third,of=mine: cannot be set up: Device or resource "
         "busy",
         "before net_ring_third,of=mine, queue 0, close, closed net_ring_third,of=mine, "},
        {"after", -EPERM, "net_ring_third,of=mine: not this one",
         "before net_ring_third,of=mine, queue 0, after net_ring_third,of=mine, close, "
         "closed net_ring_third,of=mine, "},
        {"", 0, "",
         "before net_ring_third,of=mine, queue 0, after net_ring_third,of=mine, start, close, "
         "closed net_ring_third,of=mine, "},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[256] = "";

        refuses = cases[i].refuses;
        assert_int_equal(open_third(why, sizeof(why)), cases[i].err);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(noted(cases[i].calls), 0);
    }
}

/* What is decided before the workers is part of all sums of its tenant and service. */
static void what_is_counted_in_front_is_in_the_sums(void **state)
{
    const struct policy_service *service = policy_service(dataplane_policy(gate.dp), 0);
    struct admission_tenant_counters tenants[TENANTS];
    struct admission_service_counters sum;
    struct service_view view;

    (void)state;
    dataplane_front_tenant(gate.dp, TENANT_CAPPED)->refused[REASON_RATE] = 7;
    dataplane_front_service(gate.dp, 0)->attempts = 9;
    gate.dp->workers[2]->admission->services[0].counters.attempts = 4;
    for (uint32_t t = 0; t < TENANTS; t++)
        dataplane_tenant_counters(gate.dp, t, &tenants[t]);
    assert_int_equal(tenants[TENANT_CAPPED].refused[REASON_RATE], 7);
    assert_int_equal(tenants[TENANT_OPEN].refused[REASON_RATE], 0);
    dataplane_service_counters(gate.dp, 0, &sum);
    assert_int_equal(sum.attempts, 13);
    dataplane_service_view(gate.dp, service, &view);
    assert_int_equal(view.counters.attempts, 13);
}

/* Who decides alike has the workers' seed and the control loop's word; each queue has its worker.
 */
static void who_decides_alike_knows_what_workers_know(void **state)
{
    static const uint32_t pollers[] = {0, 1, 2, 3, 0, 1};
    const struct worker *w = gate.dp->workers[3];

    (void)state;
    assert_ptr_equal(dataplane_client_seed(gate.dp), w->client_seed);
    assert_ptr_equal(dataplane_service_advice(gate.dp, 0), &gate.dp->shared->services[0].advice);
    assert_int_equal(dataplane_receive_count(gate.dp), 6);
    for (uint32_t i = 0; i < 6; i++) {
        struct receive_view view;

        dataplane_receive_view(gate.dp, i, &view);
        assert_int_equal(view.worker, pollers[i]);
        assert_int_equal(view.queue, i % 4);
    }
}

static void at_the_end_each_device_is_closed(void **state)
{
    (void)state;
    dataplane_destroy(gate.dp);
    assert_int_equal(noted("close, closed net_ring_outside, close, closed net_ring_inside, "), 0);
}

static int open_all(void **state)
{
    const struct gate_plan plan = {
        .policy = gate_policy(0), .n_tenants = TENANTS, .n_services = 1, .care = &care};

    (void)state;
    gate_open_as(&plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_appended),
        cmocka_unit_test(each_device_is_asked_around_its_queues),
        cmocka_unit_test(a_device_that_is_refused_is_closed),
        cmocka_unit_test(what_is_counted_in_front_is_in_the_sums),
        cmocka_unit_test(who_decides_alike_knows_what_workers_know),
        cmocka_unit_test(at_the_end_each_device_is_closed),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
