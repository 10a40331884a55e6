/* SPDX-License-Identifier: BSD-3-Clause */
/* What XDP needs of the devices of a gate: AF_XDP sockets, each alone on its interface. */
#include <string.h>

#include "control/config/host.h"
#include "control/config/settings_reader.h"

#define INTERFACES_MAX (2 * DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX)

static bool is_af_xdp(const char *device)
{
    return !strncmp(device, "net_af_xdp", strlen("net_af_xdp"));
}

static const char *why_no_xdp(const char *device)
{
    if (host_is_pci(device))
        return "a PCI device that DPDK drives has no interface in the kernel";
    if (!strncmp(device, "net_af_packet", strlen("net_af_packet")))
        return "net_af_packet has no AF_XDP socket";
    return "only net_af_xdp has an AF_XDP socket";
}

/* The devices of a gate with the elements they stand in, outside before inside. */
struct devices {
    const char *texts[2 * DATAPLANE_DEVICES_MAX];
    const config_setting_t *elements[2 * DATAPLANE_DEVICES_MAX];
    uint32_t n;
};

/* Nothing of a side in which a device could not be read. */
static void add_side(struct devices *devices, const config_setting_t *list,
                     const struct port_settings *port)
{
    if (!list || config_setting_length(list) != (int)port->n_devices)
        return;
    for (uint32_t i = 0; i < port->n_devices; i++) {
        devices->texts[devices->n] = port->devices[i];
        devices->elements[devices->n++] = config_setting_get_elem(list, i);
    }
}

static struct devices devices_of(struct reader *r, uint32_t gate)
{
    const struct gate_settings *settings = &settings_of(r)->dataplane.gates[gate];
    const config_setting_t *group = places_of(r)->gate_groups[gate];
    struct devices devices = {.n = 0};

    add_side(&devices, config_setting_get_member(group, "outside"), &settings->outside);
    add_side(&devices, config_setting_get_member(group, "inside"), &settings->inside);
    return devices;
}

/* What is usual may stand beside a stated "off": it asks for nothing. */
static void check_without(struct reader *r, uint32_t gate)
{
    const struct gate_xdp *xdp = &settings_of(r)->dataplane.gates[gate].xdp;
    const struct {
        const char *key;
        bool usual;
    } keys[] = {{"mode", xdp->mode == XDP_AUTO},
                {"standby", !xdp->redirect},
                {"standby_after", xdp->standby_after_ns == GATE_STANDBY_AFTER_NS},
                {"after_exit", !xdp->stays}};
    const config_setting_t *group = places_of(r)->gate_groups[gate];
    const config_setting_t *use = config_setting_get_member(group, "xdp");
    const char *word = use ? config_setting_get_string(use) : NULL;

    if (use && (!word || strcmp(word, "off") != 0))
        return; /* refused already */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const config_setting_t *setting = config_setting_get_member(group, keys[i].key);

        if (setting && !(use && keys[i].usual))
            warn(r, setting, "has no effect %s", use ? "while xdp is \"off\"" : "without xdp");
    }
}

/* Will the gate have XDP, as far as its devices go? */
static bool check_kinds(struct reader *r, const struct devices *devices, enum xdp_use use)
{
    bool all = true;

    for (uint32_t i = 0; i < devices->n; i++) {
        const char *why = why_no_xdp(devices->texts[i]);

        if (is_af_xdp(devices->texts[i]))
            continue;
        if (use == XDP_REQUIRED)
            refuse(r, devices->elements[i], "", "xdp is \"required\", but %s", why);
        else if (all)
            warn(r, devices->elements[i], "xdp is \"optional\" and will be off here: %s", why);
        all = false;
    }
    return all || use == XDP_REQUIRED;
}

static void check_programs(struct reader *r, const struct devices *devices)
{
    for (uint32_t i = 0; i < devices->n; i++)
        if (strstr(devices->texts[i], ",xdp_prog="))
            refuse(r, devices->elements[i], "",
                   "xdp_prog= and xdp exclude each other: an interface has one program");
}

static void check_redirect(struct reader *r, uint32_t gate)
{
    const struct gate_settings *settings = &settings_of(r)->dataplane.gates[gate];
    uint32_t outside = settings->outside.n_devices, inside = settings->inside.n_devices;

    if (settings->xdp.redirect && (outside > 1 || inside > 1))
        refuse(r, config_setting_get_member(places_of(r)->gate_groups[gate], "standby"), "",
               "\"redirect\" needs one device outside and one inside, here are %u and %u", outside,
               inside);
}

static bool check_gate(struct reader *r, uint32_t gate)
{
    enum xdp_use use = settings_of(r)->dataplane.gates[gate].xdp.use;
    struct devices devices = devices_of(r, gate);

    if (use == XDP_OFF) {
        check_without(r, gate);
        return false;
    }
    check_redirect(r, gate);
    if (!check_kinds(r, &devices, use))
        return false;
    check_programs(r, &devices);
    return true;
}

/* An interface, and whether a program of ours will be on it. */
struct served {
    char name[HOST_INTERFACE_MAX];
    const config_setting_t *element;
    bool xdp;
};

static void check_alone(struct reader *r, const struct served *served, const struct served *before)
{
    char path[SCAN_PATH_MAX];

    if ((served->xdp || before->xdp) && !strcmp(served->name, before->name))
        refuse(r, served->element, "", "interface %s is that of %s already, xdp takes it alone",
               served->name, scan_path(r->scan, node_of(before->element), path));
}

void check_xdp(struct reader *r)
{
    struct served *served = reader_alloc(r, INTERFACES_MAX, sizeof(*served));
    uint32_t n = 0;

    for (uint32_t gate = 0; served && gate < settings_of(r)->dataplane.n_gates; gate++) {
        bool xdp = check_gate(r, gate);
        struct devices devices = devices_of(r, gate);

        for (uint32_t i = 0; i < devices.n; i++) {
            if (!host_interface_of(devices.texts[i], served[n].name))
                continue;
            served[n].element = devices.elements[i];
            served[n].xdp = xdp;
            for (uint32_t j = 0; j < n; j++)
                check_alone(r, &served[n], &served[j]);
            n++;
        }
    }
}
