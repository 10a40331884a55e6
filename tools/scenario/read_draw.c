/* SPDX-License-Identifier: BSD-3-Clause */
/* Random times: "20ms", "42.5/s", or a distribution. */
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"

static const struct span cv_span = {0.0, 100.0, "0..100"};
static const struct span shape_span = {1.01, 100.0, "1.01..100"};
static const struct span every_span = {1.0, 1e9, "1..1000000000"};

/* A duration, or a rate of which it is the inverse. Whichever is given enters formulas as it is. */
static bool read_mean(struct reader *r, const config_setting_t *setting, struct draw *draw)
{
    static const char range[] = "0s..8760h, or a rate: 0.000001..1000000000 per s, min, h or day";
    const char *text = read_string(r, setting, range);
    char quoted[LIMITS_QUOTED_MAX];

    if (!text)
        return false;
    if (!strchr(text, '/')) {
        if (!read_time(r, setting, &any_time, &draw->mean_s))
            return false;
        draw->rate_per_s = 1.0 / draw->mean_s;
        return true;
    }
    if (!parse_rate(text, &draw->rate_per_s)) {
        refuse(r, setting, range, "%s is no rate, or out of range", limits_quote(text, quoted));
        return false;
    }
    draw->mean_s = 1.0 / draw->rate_per_s;
    return true;
}

/* The places of the fields below. */
enum draw_field { EXPONENTIAL, LOGNORMAL, PARETO, FIXED, CV, SHAPE, OTHER, SHARE, EVERY };

#define BIT(field) (1u << (field))

/* What goes with each kind of time: all of one of the choices, and nothing else. */
static const struct draw_form {
    enum draw_field mean;
    uint32_t fields;
    enum draw_kind kind;
} forms[] = {
    {EXPONENTIAL, BIT(EXPONENTIAL), DRAW_EXPONENTIAL},
    {LOGNORMAL, BIT(LOGNORMAL) | BIT(CV), DRAW_LOGNORMAL},
    {PARETO, BIT(PARETO) | BIT(SHAPE), DRAW_PARETO},
    {FIXED, BIT(FIXED), DRAW_FIXED},
    {FIXED, BIT(FIXED) | BIT(OTHER) | BIT(SHARE), DRAW_TWO_POINT},
    {FIXED, BIT(FIXED) | BIT(OTHER) | BIT(EVERY), DRAW_EVERY},
};

static const struct draw_form *find_form(uint32_t given)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].fields == given)
            return &forms[i];
    return NULL;
}

bool read_draw(struct reader *r, const config_setting_t *setting, struct draw *draw)
{
    static const struct field fields[] = {
        [EXPONENTIAL] = {.name = "exponential", .kind = FIELD_OTHER},
        [LOGNORMAL] = {.name = "lognormal", .kind = FIELD_OTHER},
        [PARETO] = {.name = "pareto", .kind = FIELD_OTHER},
        [FIXED] = {.name = "fixed", .kind = FIELD_OTHER},
        [CV] = {"cv", FIELD_REAL, offsetof(struct draw, cv), &cv_span, NULL, false},
        [SHAPE] = {"shape", FIELD_REAL, offsetof(struct draw, shape), &shape_span, NULL, false},
        [OTHER] = {"other", FIELD_TIME, offsetof(struct draw, other_s), &any_time, NULL, false},
        [SHARE] = {"share", FIELD_REAL, offsetof(struct draw, share), &any_share, NULL, false},
        [EVERY] = {"every", FIELD_COUNT, offsetof(struct draw, every), &every_span, NULL, false},
    };
    const struct draw_form *form;

    if (node_of(setting)->kind != SCAN_GROUP)
        return read_mean(r, setting, draw);
    form = find_form(READ_FIELDS(r, setting, fields, draw));
    if (!form) {
        refuse(r, setting,
               "exponential; lognormal and cv; pareto and shape; fixed; fixed, other and share; "
               "fixed, other and every",
               "is no distribution");
        return false;
    }
    draw->kind = form->kind;
    return read_mean(r, member(setting, fields[form->mean].name), draw);
}
