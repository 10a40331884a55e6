/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/core.h"
#include "tests/workers/crowd.h"

static struct policy_service web_service(uint64_t epoch, struct address *address,
                                         struct policy_ports *ports)
{
    struct policy_service s = core_service(CROWD_WEB, address, ports);

    s.unit = UNIT_CONNECTION;
    s.window = 24 + (uint32_t)(epoch % 5) * 8;
    s.connections = 8 * s.window;
    s.wait.places = epoch % 7 == 0 ? 0 : 24;
    s.wait.order = (enum policy_order)(epoch % ORDER_MAX);
    s.wait.age_ns = 20 * CORE_MS;
    s.reserve[CLASS_CRITICAL] = (struct policy_reserve){.slots = 4, .places = 2};
    s.deadline_ns = epoch % 3 ? 500 * CORE_MS : 0;
    s.shed.ceiling_ppm = 980000;
    s.breaker = (struct policy_breaker){.failures = 20,
                                        .open_ns = 100 * CORE_MS,
                                        .open_max_ns = CORE_S,
                                        .response_ns = 50 * CORE_MS};
    if (epoch % 16 == 5)
        s.breaker.mode = POLICY_BREAKER_OPEN;
    if (epoch % 16 == 11)
        s.breaker.mode = POLICY_BREAKER_CLOSED;
    return s;
}

static struct policy_service api_service(uint64_t epoch, struct address *address,
                                         struct policy_ports *ports)
{
    struct policy_service s = web_service(epoch + 3, address, ports);

    s.id = CROWD_API;
    snprintf(s.name, sizeof(s.name), "api");
    s.unit = UNIT_EXCHANGE;
    s.connections = 256;
    s.silence_ns = 5 * CORE_MS;
    s.turn = (enum policy_turn)(epoch % 3);
    s.admit_ppm = epoch % 8 == 0 ? 300000 : POLICY_PPM;
    s.admit_over_ns = CORE_S;
    return s;
}

struct policy *crowd_policy(uint64_t epoch)
{
    struct policy_ports ports = {CROWD_PORT, CROWD_PORT};
    struct address addresses[CROWD_SERVICES] = {core_address(CROWD_WEB_ADDRESS),
                                                core_address(CROWD_API_ADDRESS)};
    struct policy_service services[CROWD_SERVICES] = {web_service(epoch, &addresses[0], &ports),
                                                      api_service(epoch, &addresses[1], &ports)};
    struct policy_share shares[] = {{CROWD_BULK, 4, 12, 1},
                                    {CROWD_NORMAL, 8, POLICY_WINDOW_MAX, 2}};
    struct policy_network probes = {core_address("13.0.0.0"), ADDRESS_V4_PREFIX_BITS + 9};
    struct policy_tenant tenants[CROWD_TENANTS];
    struct policy_prefix prefixes[CROWD_TENANTS];
    struct policy_spec spec = {.tenants = tenants,
                               .services = services,
                               .prefixes = prefixes,
                               .n_tenants = CROWD_TENANTS,
                               .n_services = CROWD_SERVICES,
                               .n_prefixes = CROWD_TENANTS,
                               .epoch = epoch};
    struct policy *policy;

    for (uint32_t t = 0; t < CROWD_TENANTS; t++) {
        char network[32];

        snprintf(network, sizeof(network), "%u.0.0.0", CROWD_NETWORK + t);
        prefixes[t] = core_prefix(network, 9, t);
        tenants[t] = core_tenant(t);
        tenants[t].class = (enum policy_class)(t % CLASS_MAX);
    }
    tenants[CROWD_BULK].window = 40;
    tenants[CROWD_NORMAL].milli_erlangs = epoch % 4 ? POLICY_ERLANGS_UNLIMITED : 8000;
    tenants[CROWD_BULK].attempts = core_rate(epoch % 2 ? 20000 : 40000, 1, 2000);
    for (uint32_t i = 0; i < CROWD_SERVICES; i++) {
        services[i].shares = shares;
        services[i].n_shares = (epoch + i) % 6 < 3 ? 2 : 0;
        services[i].probes = (struct policy_probes){&probes, 1, core_rate(1000, 1, 100)};
    }
    assert_int_equal(policy_create(&spec, &policy), 0);
    return policy;
}
