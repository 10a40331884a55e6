/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to control/config: reading settings, one value at a time. A reader never stops at a
 * mistake; it reports and goes on, and what could not be read keeps its default.
 */
#ifndef SLUICE_CONFIG_READER_H
#define SLUICE_CONFIG_READER_H

#include <libconfig.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/config/arena.h"
#include "control/config/config.h"
#include "control/config/limits.h"
#include "control/config/report.h"
#include "control/config/scan.h"

#define READER_KEYS_MAX 32 /* known keys of one group */

/* Where things stand in the file, for the checks that compare them; by index of the thing. */
struct places {
    const struct scan_node *gates[DATAPLANE_GATES_MAX];
    const struct scan_node *tenants, *services; /* the lists */
    const struct scan_node **tenant_names;
    const struct scan_node **prefixes;
    const struct scan_node **service_names;
    const struct scan_node **service_ports;
    const config_setting_t **service_tenants; /* NULL: none given */
    const config_setting_t **service_shares;
};

struct reader {
    const struct scan *scan;
    struct report *report;
    struct settings *settings;
    const struct config_host *host; /* NULL: the machine is not looked at */
    struct places places;
    uint64_t n_missing; /* errors that say what this machine does not have */
    bool out_of_memory;
};

/* The keys of a group, each with what reads it into a target that the group's owner knows. */
struct key {
    const char *name;
    void (*read)(struct reader *r, const config_setting_t *setting, void *target);
    bool required;
};

/* Reads a group, reporting unknown and missing keys; bit i of the result: keys[i] was given. */
uint32_t read_group(struct reader *r, const config_setting_t *group, const struct key *keys,
                    size_t n_keys, void *target);
#define READ_GROUP(r, group, keys, target)                                                         \
    read_group(r, group, keys, sizeof(keys) / sizeof((keys)[0]), target)

/* The scan's view of a setting. */
const struct scan_node *node_of(const config_setting_t *setting);

/* `what` is wrong with this setting; `range` may be "". */
void refuse(struct reader *r, const config_setting_t *setting, const char *range,
            const char *format, ...) __attribute__((format(printf, 4, 5)));
void warn(struct reader *r, const config_setting_t *setting, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* All return false when they have reported a mistake. Limits are included in what is allowed. */
bool read_integer(struct reader *r, const config_setting_t *setting, int64_t min, int64_t max,
                  int64_t *value);
/* An integer whose limits the caller checks; `range` completes the message about a wrong type. */
bool read_any_integer(struct reader *r, const config_setting_t *setting, const char *range,
                      int64_t *value);
/* Belongs to libconfig: copy it to keep it. NULL when it is no string. */
const char *read_string(struct reader *r, const config_setting_t *setting, const char *range);
bool read_kept_string(struct reader *r, const config_setting_t *setting, size_t min, size_t max,
                      const char **value);
/* [A-Za-z0-9._-]{1,63} */
bool read_name(struct reader *r, const config_setting_t *setting, char name[POLICY_NAME_MAX + 1]);
/* Index of the string in `words` (NULL-terminated). */
bool read_word(struct reader *r, const config_setting_t *setting, const char *const *words,
               int *index);
/* A rate string; the integer 0 is the string "0". Sets all but the burst. */
bool read_rate(struct reader *r, const config_setting_t *setting, struct quota_rate *rate);
bool read_bit_rate(struct reader *r, const config_setting_t *setting, struct quota_rate *rate);
bool read_burst(struct reader *r, const config_setting_t *setting, struct quota_rate *rate);
bool read_burst_bytes(struct reader *r, const config_setting_t *setting, struct quota_rate *rate);
/* A rate as one of the functions of limits.h judges it. */
typedef bool rate_limits(const char *text, struct quota_rate *rate, struct config_refusal *no);
bool read_limited_rate(struct reader *r, const config_setting_t *setting, rate_limits *limits,
                       struct quota_rate *rate);
/* Slots or connections, as `of` says, or "unlimited". */
bool read_count(struct reader *r, const config_setting_t *setting, const char *of, uint32_t *count);
bool read_duration(struct reader *r, const config_setting_t *setting,
                   const struct duration_limits *limits, uint64_t *duration_ns);
/* An integer or a float without an exponent, read exactly. */
bool read_decimal(struct reader *r, const config_setting_t *setting,
                  const struct decimal_limits *limits, uint32_t *value);
/* The number of elements, or -1: not a list (or, with `array`, an array), too few or too many. */
int read_elements(struct reader *r, const config_setting_t *setting, bool array, int min, int max);

void *reader_alloc(struct reader *r, size_t n, size_t size);

/* The sections of the file. */
void read_root(struct reader *r, const config_setting_t *root);
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
/* What only shows when everything is read: names, prefixes, devices and services that collide. */
void check_all(struct reader *r);
void check_overlaps(struct reader *r);

#endif
