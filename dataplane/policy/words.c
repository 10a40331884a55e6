/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a policy, and what one says that says nothing. */
#include "dataplane/policy/policy.h"

#define MS_NS 1000000ull
#define S_NS  (1000 * MS_NS)

const char *policy_class_name(enum policy_class c)
{
    static const char *const names[CLASS_MAX] = {"bulk", "normal", "critical"};

    return names[c];
}

const char *policy_unit_name(enum policy_unit u)
{
    static const char *const names[] = {"connection", "exchange", "datagram"};

    return names[u];
}

const char *policy_refusal_name(enum policy_refusal r)
{
    return r == REFUSAL_RST ? "rst" : "drop";
}

const char *policy_turn_name(enum policy_turn t)
{
    static const char *const names[] = {"rst", "http", "pass"};

    return names[t];
}

const char *policy_order_name(enum policy_order o)
{
    static const char *const names[] = {"fifo", "adaptive", "deadline"};

    return names[o];
}

const char *policy_breaker_mode_name(enum policy_breaker_mode m)
{
    static const char *const names[] = {"auto", "open", "closed"};

    return names[m];
}

struct policy_tenant policy_tenant_unlimited(void)
{
    static const struct quota_rate unlimited = {.period_s = 1, .unlimited = true};

    return (struct policy_tenant){.attempts = unlimited,
                                  .packets = unlimited,
                                  .bits = unlimited,
                                  .window = POLICY_WINDOW_MAX,
                                  .milli_erlangs = POLICY_ERLANGS_UNLIMITED};
}

struct policy_service policy_service_unlimited(void)
{
    static const struct quota_rate unlimited = {.period_s = 1, .unlimited = true};

    return (struct policy_service){
        .tenant = POLICY_NONE,
        .window = POLICY_WINDOW_MAX,
        .connections = POLICY_WINDOW_MAX,
        .protocol = PROTOCOL_TCP,
        .refuse_rate = unlimited,
        .capacity = unlimited,
        .silence_ns = 50 * MS_NS,
        .wait = {.age_ns = 100 * MS_NS},
        .shed = {.reserve = {.period_s = 1}},
        .breaker = {.open_ns = S_NS, .open_max_ns = 30 * S_NS, .response_ns = S_NS},
        .probes = {.attempts = unlimited},
        .admit_ppm = POLICY_PPM,
    };
}
