/* SPDX-License-Identifier: BSD-3-Clause */
/* The section about where packets come and go: gates. */
#include "control/config/host.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"

#define MS_NS           1000000ull
#define DEVICE_MAX      512
#define CONTROL_DEFAULT 10000u /* packets per second and direction */
#define CONTROL_BURST   100u   /* at least */

static void read_gate_name(struct reader *r, const config_setting_t *setting, void *target)
{
    struct gate_settings *gate = target;
    char name[POLICY_NAME_MAX + 1];

    if (!read_name(r, setting, name))
        return;
    gate->name = arena_copy(r->arena, name);
    r->out_of_memory |= !gate->name;
}

static void read_devices(struct reader *r, const config_setting_t *setting,
                         struct port_settings *port)
{
    int n = read_elements(r, setting, true, 1, DATAPLANE_DEVICES_MAX);

    for (int i = 0; i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char **device = &port->devices[port->n_devices];

        if (!read_kept_string(r, element, 1, DEVICE_MAX, device))
            continue;
        host_check_device(r, element, *device);
        port->n_devices++;
    }
    host_check_queues(r, setting, port);
}

static void read_outside(struct reader *r, const config_setting_t *setting, void *target)
{
    read_devices(r, setting, &((struct gate_settings *)target)->outside);
}

static void read_inside(struct reader *r, const config_setting_t *setting, void *target)
{
    read_devices(r, setting, &((struct gate_settings *)target)->inside);
}

/* Bounded, but never shut: ARP and neighbour discovery pass here. */
static void read_gate_control(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *control = &((struct gate_settings *)target)->control, read = *control;

    if (!read_rate(r, setting, &read))
        return;
    if (read.unlimited || !read.amount) {
        refuse(r, setting, "1..1000000000 per s, min, h or day",
               "control traffic needs a rate above 0 and a limit");
        return;
    }
    *control = read;
    control->burst = limits_default_burst(control, CONTROL_BURST);
}

static void read_xdp(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"off", "optional", "required", NULL};
    struct gate_xdp *xdp = &((struct gate_settings *)target)->xdp;
    int i;

    if (read_word(r, setting, words, &i))
        xdp->use = (enum xdp_use[]){XDP_OFF, XDP_OPTIONAL, XDP_REQUIRED}[i];
}

static void read_mode(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"auto", "native", "generic", NULL};
    struct gate_xdp *xdp = &((struct gate_settings *)target)->xdp;
    int i;

    if (read_word(r, setting, words, &i))
        xdp->mode = (enum xdp_mode[]){XDP_AUTO, XDP_NATIVE, XDP_GENERIC}[i];
}

static void read_standby(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"pass", "redirect", NULL};
    int i;

    if (read_word(r, setting, words, &i))
        ((struct gate_settings *)target)->xdp.redirect = i == 1;
}

static void read_standby_after(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {20 * MS_NS, 10000 * MS_NS, 1, "20ms..10s"};

    read_duration(r, setting, &limits, &((struct gate_settings *)target)->xdp.standby_after_ns);
}

static void read_after_exit(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"detach", "standby", NULL};
    int i;

    if (read_word(r, setting, words, &i))
        ((struct gate_settings *)target)->xdp.stays = i == 1;
}

void read_gates(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"name", read_gate_name, true},
        {"outside", read_outside, true},
        {"inside", read_inside, true},
        {"control", read_gate_control, false},
        {"xdp", read_xdp, false},
        {"mode", read_mode, false},
        {"standby", read_standby, false},
        {"standby_after", read_standby_after, false},
        {"after_exit", read_after_exit, false},
    };
    int n = read_elements(r, setting, false, 1, DATAPLANE_GATES_MAX);

    (void)target;
    for (int i = 0; i < n; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, (unsigned)i);
        struct gate_settings *gate = &settings_of(r)->dataplane.gates[i];

        gate->name = "";
        gate->control = (struct quota_rate){.amount = CONTROL_DEFAULT, .period_s = 1};
        gate->control.burst = limits_default_burst(&gate->control, CONTROL_BURST);
        gate->xdp.standby_after_ns = GATE_STANDBY_AFTER_NS;
        places_of(r)->gates[i] = node_of(group);
        places_of(r)->gate_groups[i] = group;
        READ_GROUP(r, group, keys, gate);
        settings_of(r)->dataplane.n_gates++;
    }
}
