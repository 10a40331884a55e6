/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/scenario/fields.h"

#include <stdlib.h>
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/reading.h"

#define YEAR_S   31536000.0
#define NS_PER_S 1e9

const struct span any_time = {0.0, YEAR_S, "0s..8760h"};
const struct span some_time = {1e-6, YEAR_S, "1us..8760h"};
const struct span any_share = {0.0, 1.0, "0..1"};
const struct span any_rate = {1e-6, 1e9, "0.000001..1000000000 per s, min, h or day"};

const config_setting_t *member(const config_setting_t *group, const char *name)
{
    return config_setting_get_member(group, name);
}

bool read_time(struct reader *r, const config_setting_t *setting, const struct span *span,
               double *time_s)
{
    const struct duration_limits limits = {(uint64_t)(span->min * NS_PER_S + .5),
                                           (uint64_t)(span->max * NS_PER_S + .5), 1, span->range};
    uint64_t time_ns;

    if (!read_duration(r, setting, &limits, &time_ns))
        return false;
    *time_s = (double)time_ns / NS_PER_S;
    return true;
}

/* Digits, at most one point within them, and the period: what strtod() then reads is a plain
 * number. */
bool parse_rate(const char *text, double *rate_per_s)
{
    static const struct {
        const char *name;
        double s;
    } periods[] = {{"/s", 1.0}, {"/min", 60.0}, {"/h", 3600.0}, {"/day", 86400.0}};
    size_t digits = strspn(text, "0123456789"), length = digits;

    if (digits && text[length] == '.') {
        digits = strspn(text + length + 1, "0123456789");
        length += 1 + digits;
    }
    for (size_t i = 0; digits && i < sizeof(periods) / sizeof(periods[0]); i++) {
        if (strcmp(text + length, periods[i].name))
            continue;
        *rate_per_s = strtod(text, NULL) / periods[i].s;
        return *rate_per_s >= any_rate.min && *rate_per_s <= any_rate.max;
    }
    return false;
}

static bool read_rate_per_s(struct reader *r, const config_setting_t *setting, double *rate_per_s)
{
    const char *text = read_string(r, setting, any_rate.range);
    char quoted[LIMITS_QUOTED_MAX];
    double rate;

    if (!text)
        return false;
    if (parse_rate(text, &rate)) {
        *rate_per_s = rate;
        return true;
    }
    refuse(r, setting, any_rate.range, "%s is no rate, or out of range",
           limits_quote(text, quoted));
    return false;
}

bool read_real(struct reader *r, const config_setting_t *setting, const struct span *span,
               double *value)
{
    const struct scan_node *node = node_of(setting);
    bool number = node->kind == SCAN_FLOAT || (node->kind == SCAN_INTEGER && !node->flaw);
    char text[64];
    double read;

    if (!number || node->literal_length >= sizeof(text)) {
        refuse(r, setting, span->range, "is no number");
        return false;
    }
    memcpy(text, r->scan->text + node->literal_at, node->literal_length);
    text[node->literal_length] = '\0';
    read = node->kind == SCAN_INTEGER ? (double)node->integer : strtod(text, NULL);
    if (!(read >= span->min && read <= span->max)) {
        refuse(r, setting, span->range, "%s is out of range", text);
        return false;
    }
    *value = read;
    return true;
}

static void read_whole(struct reader *r, const config_setting_t *setting, const struct field *field,
                       void *at)
{
    int64_t value;

    if (!read_integer(r, setting, (int64_t)field->span->min, (int64_t)field->span->max, &value))
        return;
    if (field->kind == FIELD_COUNT)
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = (uint64_t)value;
}

static void read_flag(struct reader *r, const config_setting_t *setting, bool *flag)
{
    const struct scan_node *node = node_of(setting);

    if (node->kind == SCAN_BOOL)
        *flag = strchr("tT", r->scan->text[node->literal_at]);
    else
        refuse(r, setting, "true or false", "is no boolean");
}

static void read_kept_name(struct reader *r, const config_setting_t *setting, const char **kept)
{
    char name[POLICY_NAME_MAX + 1];

    if (!read_name(r, setting, name))
        return;
    *kept = arena_copy(r->arena, name);
    r->out_of_memory |= !*kept;
}

bool read_stage(struct reader *r, const config_setting_t *setting, uint32_t *stage)
{
    const struct scenario *scenario = scenario_of(r);
    const char *name = read_string(r, setting, "the name of a stage");
    char quoted[LIMITS_QUOTED_MAX];

    if (!name)
        return false;
    for (uint32_t i = 0; i < scenario->n_stages; i++) {
        if (!strcmp(scenario->stages[i].name, name)) {
            *stage = i;
            return true;
        }
    }
    refuse(r, setting, "", "no stage is named %s", limits_quote(name, quoted));
    return false;
}

static void read_field(struct reader *r, const config_setting_t *setting, const struct field *field,
                       void *at)
{
    int word;

    switch (field->kind) {
    case FIELD_TIME:
        read_time(r, setting, field->span, at);
        break;
    case FIELD_RATE:
        read_rate_per_s(r, setting, at);
        break;
    case FIELD_REAL:
        read_real(r, setting, field->span, at);
        break;
    case FIELD_COUNT:
    case FIELD_LONG:
        read_whole(r, setting, field, at);
        break;
    case FIELD_FLAG:
        read_flag(r, setting, at);
        break;
    case FIELD_WORD:
        if (read_word(r, setting, field->words, &word))
            memcpy(at, &word, sizeof(enum jitter)); /* enums are as large as an int */
        break;
    case FIELD_NAME:
        read_kept_name(r, setting, at);
        break;
    case FIELD_TEXT:
        read_kept_string(r, setting, 1, 4000, at);
        break;
    case FIELD_DRAW:
        read_draw(r, setting, at);
        break;
    case FIELD_STAGE:
        read_stage(r, setting, at);
        break;
    case FIELD_OTHER:
        break;
    }
}

/* The table that read_group() wants; what is given is read afterwards. */
static void leave(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    (void)setting;
    (void)target;
}

uint32_t read_fields(struct reader *r, const config_setting_t *group, const struct field *fields,
                     size_t n_fields, void *target)
{
    struct key keys[READER_KEYS_MAX] = {0};
    uint32_t given;

    for (size_t i = 0; i < n_fields; i++)
        keys[i] = (struct key){fields[i].name, leave, fields[i].required};
    given = read_group(r, group, keys, n_fields, NULL);
    for (size_t i = 0; i < n_fields; i++)
        if (given & (1u << i))
            read_field(r, member(group, fields[i].name), &fields[i],
                       (char *)target + fields[i].offset);
    return given;
}
