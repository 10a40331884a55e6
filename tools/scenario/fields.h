/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to tools/scenario: the settings of a group by table, and what they are read into. */
#ifndef SLUICE_SCENARIO_FIELDS_H
#define SLUICE_SCENARIO_FIELDS_H

#include "control/config/reader.h"
#include "tools/scenario/scenario.h"

/* Both included; in seconds, per second, or of what there is to count. */
struct span {
    double min, max;
    const char *range; /* for messages */
};
extern const struct span any_time, some_time, any_share, any_rate;

enum field_kind {
    FIELD_TIME,  /* double, of a duration */
    FIELD_RATE,  /* double, of a rate */
    FIELD_REAL,  /* double */
    FIELD_COUNT, /* uint32_t */
    FIELD_LONG,  /* uint64_t */
    FIELD_FLAG,  /* bool */
    FIELD_WORD,  /* an enum: the place of the word in `words` */
    FIELD_NAME,  /* const char * */
    FIELD_TEXT,  /* the same, of any length */
    FIELD_DRAW,  /* struct draw */
    FIELD_STAGE, /* uint32_t, the index of a stage that has been read */
    FIELD_OTHER, /* the group's owner reads it */
};
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in the target */
    const struct span *span;
    const char *const *words;
    bool required;
};

/* Reads what is given of a group into `target`, which holds the defaults; reports unknown and
 * missing keys. Bit i of the result: fields[i] was given. */
uint32_t read_fields(struct reader *r, const config_setting_t *group, const struct field *fields,
                     size_t n_fields, void *target);
#define READ_FIELDS(r, group, fields, target)                                                      \
    read_fields(r, group, fields, sizeof(fields) / sizeof((fields)[0]), target)

/* NULL: not given. */
const config_setting_t *member(const config_setting_t *group, const char *name);

/* All return false when they have reported a mistake. */
bool read_time(struct reader *r, const config_setting_t *setting, const struct span *span,
               double *time_s);
bool read_real(struct reader *r, const config_setting_t *setting, const struct span *span,
               double *value);
bool read_draw(struct reader *r, const config_setting_t *setting, struct draw *draw);
bool read_stage(struct reader *r, const config_setting_t *setting, uint32_t *stage);

/* A rate of its text: "2.78/s"; false: it is none, or out of range. */
bool parse_rate(const char *text, double *rate_per_s);

#endif
