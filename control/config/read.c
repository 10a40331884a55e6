/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections about the machine: eal, control, flows; and the root of the file. */
#include <inttypes.h>
#include <stdio.h>

#include "control/config/host.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"

#define MS_NS          1000000ull
#define CPU_MAX        1023
#define EXTRA_MAX      1024
#define SOCKET_MAX     107 /* sun_path without its NUL */
#define PATH_BYTES_MAX 255
#define MEMORY_MIB_MIN 64
#define MEMORY_MIB_MAX 1048576
#define FLOWS_MIN      1024
#define PINS_DEFAULT   "/sys/fs/bpf/sluice/v1"

static void read_memory(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"auto", "huge", "none", NULL};
    struct eal_settings *eal = target;
    int i;

    if (read_word(r, setting, words, &i))
        eal->memory = (enum memory_mode[]){MEMORY_AUTO, MEMORY_HUGE, MEMORY_NONE}[i];
}

static void read_memory_mib(struct reader *r, const config_setting_t *setting, void *target)
{
    struct eal_settings *eal = target;
    int64_t value;

    if (read_integer(r, setting, MEMORY_MIB_MIN, MEMORY_MIB_MAX, &value))
        eal->memory_mib = (uint32_t)value;
}

static void read_main(struct reader *r, const config_setting_t *setting, void *target)
{
    struct eal_settings *eal = target;
    int64_t value;

    if (!read_integer(r, setting, 0, CPU_MAX, &value))
        return;
    eal->main_cpu = (uint32_t)value;
    host_check_cpu(r, setting, eal->main_cpu, "");
}

static void read_workers(struct reader *r, const config_setting_t *setting, void *target)
{
    struct eal_settings *eal = target;
    int n = read_elements(r, setting, true, 1, DATAPLANE_WORKERS_MAX);
    bool all = true;
    int64_t value;

    for (int i = 0; i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

        if (read_integer(r, element, 0, CPU_MAX, &value)) {
            eal->worker_cpus[i] = (uint32_t)value;
            host_check_cpu(r, element, eal->worker_cpus[i], "");
        } else {
            all = false;
        }
    }
    eal->n_workers = all && n > 0 ? (uint32_t)n : 0;
}

/* It works, in turns: good enough for a lab, not for a front end. */
static void warn_about_shared_cpus(struct reader *r, const config_setting_t *setting,
                                   const struct eal_settings *eal)
{
    for (uint32_t i = 0; i < eal->n_workers; i++) {
        uint32_t cpu = eal->worker_cpus[i];

        if (cpu == eal->main_cpu)
            warn(r, setting, "main and worker %" PRIu32 " share CPU %" PRIu32 ", give each its own",
                 i, cpu);
        for (uint32_t j = 0; j < i; j++)
            if (eal->worker_cpus[j] == cpu) { /* the first of them is enough */
                warn(r, setting,
                     "workers %" PRIu32 " and %" PRIu32 " share CPU %" PRIu32 ", give each its own",
                     j, i, cpu);
                break;
            }
    }
}

static void read_idle(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"poll", "sleep", NULL};
    struct eal_settings *eal = target;
    int i;

    if (read_word(r, setting, words, &i))
        eal->idle = i ? IDLE_SLEEP : IDLE_POLL;
}

static void read_clock(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"tsc", "packets", NULL};
    struct eal_settings *eal = target;
    int i;

    if (read_word(r, setting, words, &i))
        eal->clock = i ? CLOCK_PACKETS : CLOCK_TSC;
}

static void read_extra(struct reader *r, const config_setting_t *setting, void *target)
{
    struct eal_settings *eal = target;

    read_kept_string(r, setting, 0, EXTRA_MAX, &eal->extra);
}

/* Of the group, or of the whole file when it has none. */
static void check_default_cpus(struct reader *r, const config_setting_t *setting,
                               const struct eal_settings *eal)
{
    if (!config_setting_get_member(setting, "main"))
        host_check_cpu(r, setting, eal->main_cpu, "eal.main");
    if (!config_setting_get_member(setting, "workers"))
        host_check_cpu(r, setting, eal->worker_cpus[0], "eal.workers");
}

static void read_eal(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"memory", read_memory, false}, {"memory_mib", read_memory_mib, false},
        {"main", read_main, false},     {"workers", read_workers, false},
        {"idle", read_idle, false},     {"clock", read_clock, false},
        {"extra", read_extra, false},
    };
    struct eal_settings *eal = &settings_of(r)->dataplane.eal;

    (void)target;
    READ_GROUP(r, setting, keys, eal);
    warn_about_shared_cpus(r, setting, eal);
    check_default_cpus(r, setting, eal);
}

static void read_path(struct reader *r, const config_setting_t *setting, size_t max,
                      const char **target)
{
    const char *path;

    if (!read_kept_string(r, setting, 1, max, &path))
        return;
    if (*path == '/')
        *target = path;
    else
        refuse(r, setting, "", "the path must start with /");
}

static void read_socket(struct reader *r, const config_setting_t *setting, void *target)
{
    read_path(r, setting, SOCKET_MAX, &((struct control_settings *)target)->socket);
}

static void read_pins(struct reader *r, const config_setting_t *setting, void *target)
{
    read_path(r, setting, PATH_BYTES_MAX, &((struct control_settings *)target)->pins);
}

static void read_deny(struct reader *r, const config_setting_t *setting, void *target)
{
    read_path(r, setting, PATH_BYTES_MAX, &((struct control_settings *)target)->deny);
}

static void read_period(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {10 * MS_NS, 1000 * MS_NS, 1, "10ms..1s"};
    struct control_settings *control = target;

    read_duration(r, setting, &limits, &control->period_ns);
}

static void read_control(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"socket", read_socket, false},
        {"period", read_period, false},
        {"pins", read_pins, false},
        {"deny", read_deny, false},
    };

    (void)target;
    READ_GROUP(r, setting, keys, &settings_of(r)->control);
}

/* Flow timeouts count milliseconds. */
static void read_timeout(struct reader *r, const config_setting_t *setting, uint32_t *timeout_ms)
{
    static const struct duration_limits limits = {MS_NS, 86400000 * MS_NS, MS_NS,
                                                  "1ms..24h in whole ms"};
    uint64_t duration_ns;

    if (read_duration(r, setting, &limits, &duration_ns))
        *timeout_ms = (uint32_t)(duration_ns / MS_NS);
}

static void read_flows_max(struct reader *r, const config_setting_t *setting, void *target)
{
    int64_t value;

    (void)target;
    if (read_integer(r, setting, FLOWS_MIN, FLOW_MAX, &value))
        settings_of(r)->dataplane.flows_max = (uint32_t)value;
}

static void read_embryonic(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->embryonic_ms);
}

static void read_tcp_idle(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->tcp_idle_ms);
}

static void read_udp_idle(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->udp_idle_ms);
}

static void read_fin(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->fin_ms);
}

static void read_linger(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->linger_ms);
}

static void read_owed_max(struct reader *r, const config_setting_t *setting, void *target)
{
    read_timeout(r, setting, &((struct flow_timeouts *)target)->owed_max_ms);
}

static void read_flows(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"max", read_flows_max, false},     {"embryonic", read_embryonic, false},
        {"tcp_idle", read_tcp_idle, false}, {"udp_idle", read_udp_idle, false},
        {"fin", read_fin, false},           {"linger", read_linger, false},
        {"owed_max", read_owed_max, false},
    };

    (void)target;
    READ_GROUP(r, setting, keys, &settings_of(r)->dataplane.timeouts);
}

static void set_defaults(struct settings *settings)
{
    settings->dataplane.eal = (struct eal_settings){
        .memory = MEMORY_AUTO,
        .memory_mib = 512,
        .n_workers = 1,
        .worker_cpus = {1},
        .idle = IDLE_POLL,
        .clock = CLOCK_TSC,
        .extra = "",
    };
    settings->dataplane.flows_max = 65536;
    settings->dataplane.timeouts = (struct flow_timeouts){
        .embryonic_ms = 3000,
        .tcp_idle_ms = 60000,
        .udp_idle_ms = 30000,
        .fin_ms = 2000,
        .linger_ms = 1000,
        .owed_max_ms = 300000,
    };
    settings->control.socket = "/run/sluice/sluice.sock";
    settings->control.period_ns = 50 * MS_NS;
    settings->control.pins = PINS_DEFAULT;
}

/* The deny list is a file beside the socket. */
static void settle_control(struct reader *r)
{
    struct control_settings *control = &settings_of(r)->control;
    char path[SOCKET_MAX + sizeof(".deny")];

    if (control->deny)
        return;
    snprintf(path, sizeof(path), "%s.deny", control->socket);
    control->deny = arena_copy(r->arena, path);
    r->out_of_memory |= !control->deny;
}

void read_gate_group(struct reader *r, const config_setting_t *group)
{
    static const struct key keys[] = {
        {"control", read_control, false},
        {"flows", read_flows, false},
        {"tenants", read_tenants, true},
        {"services", read_services, true},
    };

    set_defaults(settings_of(r));
    READ_GROUP(r, group, keys, NULL);
    settle_control(r);
}

void read_root(struct reader *r, const config_setting_t *root)
{
    static const struct key keys[] = {
        {"eal", read_eal, false},        {"control", read_control, false},
        {"gates", read_gates, true},     {"flows", read_flows, false},
        {"tenants", read_tenants, true}, {"services", read_services, false},
    };

    set_defaults(settings_of(r));
    READ_GROUP(r, root, keys, NULL);
    settle_control(r);
    if (!config_setting_get_member(root, "eal"))
        check_default_cpus(r, root, &settings_of(r)->dataplane.eal);
}
