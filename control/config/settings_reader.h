/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to control/config: reading the daemon's settings. */
#ifndef SLUICE_CONFIG_SETTINGS_READER_H
#define SLUICE_CONFIG_SETTINGS_READER_H

#include "control/config/reader.h"

#define GATE_STANDBY_AFTER_NS 200000000ull /* unless stated */

/* Where things stand in the file, for the checks that compare them; by index of the thing. */
struct places {
    const struct scan_node *gates[DATAPLANE_GATES_MAX];
    const config_setting_t *gate_groups[DATAPLANE_GATES_MAX];
    const struct scan_node *tenants, *services; /* the lists */
    const struct scan_node **tenant_names;
    const struct scan_node **prefixes;
    const struct scan_node **service_names;
    const struct scan_node **service_ports;
    const config_setting_t **service_tenants; /* NULL: none given */
    const config_setting_t **service_shares;
    const config_setting_t **service_windows;
};

struct settings_reader {
    struct reader reader;
    struct settings *settings;
    const struct config_host *host; /* NULL: the machine is not looked at */
    struct places places;
    uint64_t n_missing; /* errors that say what this machine does not have */
};

/* What reads settings is given the reader of a settings_reader. */
static inline struct settings_reader *settings_reader(struct reader *r)
{
    return (struct settings_reader *)r;
}

static inline struct settings *settings_of(struct reader *r)
{
    return settings_reader(r)->settings;
}

static inline struct places *places_of(struct reader *r)
{
    return &settings_reader(r)->places;
}

/* The sections of the file. */
void read_root(struct reader *r, const config_setting_t *root);
/* Those of them that decide, as a group of another document. */
void read_gate_group(struct reader *r, const config_setting_t *group);
void read_gates(struct reader *r, const config_setting_t *setting, void *target);
void read_tenants(struct reader *r, const config_setting_t *setting, void *target);
void read_services(struct reader *r, const config_setting_t *setting, void *target);
/* The groups of a service that say what becomes of work beyond its capacity; the target is the
 * struct policy_service. */
void read_wait(struct reader *r, const config_setting_t *setting, void *target);
void read_reserve(struct reader *r, const config_setting_t *setting, void *target);
void read_shed(struct reader *r, const config_setting_t *setting, void *target);
void read_breaker(struct reader *r, const config_setting_t *setting, void *target);
void read_probes(struct reader *r, const config_setting_t *setting, void *target);
void read_slo(struct reader *r, const config_setting_t *setting, void *target);
void read_shares(struct reader *r, const config_setting_t *setting, void *target);
/* What the group of a service leaves out and other parts of it decide. */
void settle_overload(const config_setting_t *group, struct policy_service *service);

/* The setting OUTER or OUTER.INNER of a service (`inner` may be NULL), or NULL: not given. */
const config_setting_t *service_member(const config_setting_t *group, const char *outer,
                                       const char *inner);
/* What does not fit together within one service. */
void check_service(struct reader *r, const config_setting_t *group,
                   const struct policy_service *service);
/* Sizes of one service that contradict each other, and the idle timeouts of the file. */
void check_sizes(struct reader *r, const config_setting_t *group,
                 const struct policy_service *service);
void check_idle_timeouts(struct reader *r);
/* What XDP needs of the devices of a gate. */
void check_xdp(struct reader *r);
/* What only shows when everything is read: names, prefixes, devices and services that collide. */
void check_all(struct reader *r);
void check_overlaps(struct reader *r);

#endif
