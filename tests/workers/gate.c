/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/core.h"
#include "tests/workers/instrumented.h"
#include "tests/workers/traffic.h"

struct gate gate = {
    .rings = {[DIRECTION_IN] = {.n_receive = 4, .n_transmit = 2},
              [DIRECTION_OUT] = {.n_receive = 2, .n_transmit = 4}},
};

/* -- devices: the gate asks EAL for them by name, and finds ours -- */

static bool create_rings(const char *name, struct rte_ring **rings, unsigned n)
{
    char full[RTE_RING_NAMESIZE];

    for (unsigned q = 0; q < n; q++) {
        snprintf(full, sizeof(full), "%s_%u", name, q);
        rings[q] = rte_ring_create(full, RING_PACKETS, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (!rings[q])
            return false;
    }
    return true;
}

static bool create_device(const char *name, struct device_rings *rings)
{
    char receive[16], transmit[16];

    snprintf(receive, sizeof(receive), "%s_rx", name);
    snprintf(transmit, sizeof(transmit), "%s_tx", name);
    return create_rings(receive, rings->receive, rings->n_receive) &&
           create_rings(transmit, rings->transmit, rings->n_transmit) &&
           rte_eth_from_rings(name, rings->receive, rings->n_receive, rings->transmit,
                              rings->n_transmit, 0) >= 0;
}

static void note_vdev(const char *argument)
{
    size_t used = strlen(gate.vdevs);

    snprintf(gate.vdevs + used, sizeof(gate.vdevs) - used, "%s ", argument);
}

int __real_rte_eal_init(int argc, char **argv);
int __wrap_rte_eal_init(int argc, char **argv);

int __wrap_rte_eal_init(int argc, char **argv)
{
    int kept = 0, err;

    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "--vdev=", strlen("--vdev=")) != 0)
            argv[kept++] = argv[i];
        else
            note_vdev(argv[i]);
    argv[kept] = NULL;
    err = __real_rte_eal_init(kept, argv);
    if (err >= 0 && (!create_device("outside", &gate.rings[DIRECTION_IN]) ||
                     !create_device("inside", &gate.rings[DIRECTION_OUT])))
        err = -1;
    return err;
}

/* -- policy -- */

static struct quota_rate capped_rate(uint64_t epoch)
{
    if (epoch % 8 == 7) /* other credits, so another pool */
        return core_rate(60 * CAPPED_RATE / 2, 60, CAPPED_BURST / 2);
    return epoch % 2 ? core_rate(CAPPED_RATE / 2, 1, CAPPED_BURST / 2)
                     : core_rate(CAPPED_RATE, 1, CAPPED_BURST);
}

struct policy *gate_policy(uint64_t epoch)
{
    struct policy_tenant capped = core_tenant(TENANT_CAPPED);

    capped.attempts = capped_rate(epoch);
    return gate_policy_with(epoch, &capped);
}

struct policy *gate_policy_with(uint64_t epoch, const struct policy_tenant *capped)
{
    struct address address = core_address(TRAFFIC_SERVICE);
    struct policy_ports ports = {TRAFFIC_PORT, TRAFFIC_PORT};
    struct policy_tenant tenants[TENANTS] = {core_tenant(TENANT_OPEN), *capped};
    struct policy_service service = core_service(0, &address, &ports);
    struct policy_prefix prefix = core_prefix(TRAFFIC_CAPPED_NETWORK, 9, TENANT_CAPPED);
    struct policy_spec spec = {.tenants = tenants,
                               .services = &service,
                               .prefixes = &prefix,
                               .n_tenants = TENANTS,
                               .n_services = 1,
                               .n_prefixes = 1,
                               .default_tenant = TENANT_OPEN,
                               .epoch = epoch};
    struct policy *policy;

    service.window = SERVICE_WINDOW;
    assert_int_equal(policy_create(&spec, &policy), 0);
    return policy;
}

struct policy *gate_policy_of_exchanges(void)
{
    struct policy_ports ports = {TRAFFIC_PORT, TRAFFIC_PORT};
    struct address address = core_address(TRAFFIC_SERVICE);
    struct policy_tenant tenant = core_tenant(0);
    struct policy_service service = core_service(0, &address, &ports);
    struct policy_spec spec = {
        .tenants = &tenant, .services = &service, .n_tenants = 1, .n_services = 1};
    struct policy *policy;

    service.unit = UNIT_EXCHANGE;
    assert_int_equal(policy_create(&spec, &policy), 0);
    return policy;
}

/* -- life -- */

/* The workers share the first two CPUs that this process may use. */
static void choose_cpus(struct eal_settings *eal)
{
    cpu_set_t allowed;
    uint32_t cpus[2], n = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (uint32_t cpu = 0; n < 2 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[n++] = cpu;
    eal->main_cpu = cpus[0];
    for (uint32_t i = 0; i < WORKERS; i++)
        eal->worker_cpus[i] = cpus[(i + 1) % n];
}

/* dataplane_create(), and what it says meanwhile. */
static int create_listening(const struct gate_plan *plan, char *why, size_t why_bytes)
{
    const struct admission_size ids = {
        .n_tenants = plan->n_tenants, .n_services = plan->n_services, .n_workers = WORKERS};
    FILE *heard = tmpfile();
    int saved = dup(STDERR_FILENO), err;

    assert_non_null(heard);
    dup2(fileno(heard), STDERR_FILENO);
    err = dataplane_create(&gate.settings, &ids, plan->policy, &gate.dp, why, why_bytes);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(heard);
    gate.said[fread(gate.said, 1, sizeof(gate.said) - 1, heard)] = 0;
    fclose(heard);
    fputs(gate.said, stderr);
    return err;
}

void gate_open(void)
{
    const struct gate_plan plan = {.policy = gate_policy(0), .n_tenants = TENANTS, .n_services = 1};

    gate_open_as(&plan);
}

void gate_open_as(const struct gate_plan *plan)
{
    char why[512] = "";

    gate.settings = (struct dataplane_settings){
        .eal = {.memory = MEMORY_NONE,
                .memory_mib = 512,
                .n_workers = WORKERS,
                .idle = IDLE_SLEEP,
                .clock = CLOCK_TSC,
                .extra = INSTRUMENTED_EAL_ARGUMENTS},
        .n_gates = 1,
        .gates = {{.name = "rings",
                   .outside = {1, {"net_ring_outside"}},
                   .inside = {1, {"net_ring_inside"}},
                   .control = core_rate(1000, 1, 100)}},
        .flows_max = 262144,
        .timeouts = {.embryonic_ms = 100,
                     .tcp_idle_ms = 200,
                     .udp_idle_ms = 100,
                     .fin_ms = 50,
                     .linger_ms = 50},
        .waiting_max = plan->waiting_max,
        .care = plan->care,
        .heartbeats = plan->heartbeats,
    };
    if (plan->heartbeats)
        gate.settings.gates[0].xdp =
            (struct gate_xdp){.use = XDP_REQUIRED, .standby_after_ns = plan->standby_after_ns};
    choose_cpus(&gate.settings.eal);
    if (create_listening(plan, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    gate.started_ns = dataplane_now_ns(gate.dp);
    for (unsigned port = 0; port < 2; port++)
        instrumented_port(gate.dp->ports[port].id, &gate.rings[port]);
}

struct worker_counters gate_counters(void)
{
    struct worker_counters sum = {0};

    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;
        uint64_t *to = (uint64_t *)&sum;

        dataplane_worker_view(gate.dp, w, &view);
        for (unsigned i = 0; i < sizeof(sum) / sizeof(*to); i++)
            to[i] += ((const uint64_t *)&view.counters)[i];
    }
    return sum;
}

uint64_t gate_slots(void)
{
    uint64_t slots = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker_view view;

        dataplane_worker_view(gate.dp, w, &view);
        slots += view.slots;
    }
    return slots;
}

bool gate_balanced(uint32_t worker)
{
    struct worker_view view;
    const struct worker_counters *c = &view.counters;
    uint64_t out;

    dataplane_worker_view(gate.dp, worker, &view);
    out = c->answered + c->tx_failed + c->handed_out + c->handoff_failed + view.held;
    for (unsigned i = 0; i < PASS_MAX; i++)
        out += c->forwarded[i];
    for (unsigned i = 0; i < REASON_MAX; i++)
        out += c->dropped[i];
    return c->received + c->handed_in + c->made == out;
}

struct worker_counters gate_counters_of(uint32_t worker)
{
    struct worker_view view;

    dataplane_worker_view(gate.dp, worker, &view);
    return view.counters;
}

struct worker *gate_awake(uint32_t worker)
{
    struct worker *w = gate.dp->workers[worker];

    w->burst.policy = dataplane_policy(gate.dp);
    w->burst.now_ns = dataplane_now_ns(gate.dp);
    w->burst.moment = flow_moment(flow_table_tick(w->flows, w->burst.now_ns), w->burst.now_ns);
    admission_adopt(w->admission, w->burst.policy, w->burst.now_ns);
    return w;
}
