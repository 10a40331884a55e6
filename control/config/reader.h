/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a document (document.h), one value at a time. A reader never stops at a mistake; it
 * reports and goes on, and what could not be read keeps its default. Whoever reads a kind of
 * document puts a `struct reader` first in a reader of its own.
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

struct reader {
    const struct scan *scan;
    struct report *report;
    struct config_arena *arena; /* what is read is kept here */
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

/* The daemon's settings from a group of another kind of document: it holds `tenants` and `services`
 * and may hold `control` and `flows`. NULL: out of memory. What is wrong is in the report. */
struct settings *config_read_gate(const struct reader *reader, const config_setting_t *group);

#endif
