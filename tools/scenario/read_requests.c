/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked for: kinds of request, step by step. */
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"
#include "tools/scenario/reading.h"

static const struct span weight_span = {1e-6, 1e6, "0.000001..1000000"};
static const struct span tries_span = {1.0, 1000.0, "1..1000"};
static const struct span reserve_span = {0.0, 1e9, "0..1000000000"};
static const struct span repeat_span = {1.0, SCENARIO_STEPS_MAX, "1..64"};

_Static_assert(SCENARIO_STEPS_MAX == 64, "the range says so");

/* A step, and how often it stands there. */
struct step_draft {
    struct scenario_step step;
    uint32_t repeat;
};

static void read_step(struct reader *r, const config_setting_t *group, struct scenario_kind *kind)
{
#define OF(member_) offsetof(struct step_draft, member_)
    static const struct field fields[] = {
        {"at", FIELD_STAGE, OF(step.stage), NULL, NULL, true},
        {"time", FIELD_DRAW, OF(step.time), NULL, NULL, false},
        {"holds", FIELD_FLAG, OF(step.holds), NULL, NULL, false},
        {"tries", FIELD_COUNT, OF(step.tries), &tries_span, NULL, false},
        {"budget", FIELD_REAL, OF(step.budget), &any_share, NULL, false},
        {"reserve", FIELD_REAL, OF(step.reserve), &reserve_span, NULL, false},
        {"repeat", FIELD_COUNT, OF(repeat), &repeat_span, NULL, false},
    };
#undef OF
    struct step_draft draft = {.step = {.tries = 1, .budget = -1.0}, .repeat = 1};

    READ_FIELDS(r, group, fields, &draft);
    if (draft.step.budget < 0.0 && member(group, "reserve"))
        refuse(r, member(group, "reserve"), "", "goes with a budget only");
    if (kind->n_steps + draft.repeat > SCENARIO_STEPS_MAX) {
        refuse(r, group, repeat_span.range, "there are too many steps, repeats counted");
        return;
    }
    while (draft.repeat--)
        kind->steps[kind->n_steps++] = draft.step;
}

static void read_steps(struct reader *r, const config_setting_t *setting,
                       struct scenario_kind *kind)
{
    int n = read_elements(r, setting, false, 1, SCENARIO_STEPS_MAX);

    for (int i = 0; i < n; i++)
        read_step(r, config_setting_get_elem(setting, (unsigned)i), kind);
    kind->reply_after = kind->n_steps;
}

/* Behind the last step at a stage. */
static void read_reply_after(struct reader *r, const config_setting_t *setting,
                             struct scenario_kind *kind)
{
    uint32_t stage, after;

    if (!read_stage(r, setting, &stage))
        return;
    for (after = kind->n_steps; after > 0; after--)
        if (kind->steps[after - 1].stage == stage)
            break;
    if (after)
        kind->reply_after = after;
    else
        refuse(r, setting, "", "no step is at this stage");
}

static void read_deadline(struct reader *r, const config_setting_t *setting,
                          struct scenario_kind *kind)
{
    static const struct span span = {1e-6, 31536000.0, "\"none\", or 1us..8760h"};

    if (node_of(setting)->kind == SCAN_STRING &&
        !strcmp(config_setting_get_string(setting), "none"))
        return;
    read_time(r, setting, &span, &kind->deadline_s);
}

static void read_kind(struct reader *r, const config_setting_t *group, struct scenario_kind *kind)
{
#define OF(member_) offsetof(struct scenario_kind, member_)
    static const char *const expired[] = {[EXPIRED_SERVED] = "served",
                                          [EXPIRED_SKIPPED] = "skipped",
                                          [EXPIRED_REMOVED] = "removed",
                                          NULL};
    static const struct field fields[] = {
        {"name", FIELD_NAME, OF(name), NULL, NULL, false},
        {"weight", FIELD_REAL, OF(weight), &weight_span, NULL, false},
        {"expired", FIELD_WORD, OF(expired), NULL, expired, false},
        {"path", FIELD_TEXT, OF(path), NULL, NULL, false},
        {.name = "deadline", .kind = FIELD_OTHER},
        {.name = "steps", .kind = FIELD_OTHER, .required = true},
        {.name = "reply_after", .kind = FIELD_OTHER},
    };
#undef OF
    const config_setting_t *deadline = member(group, "deadline"), *steps = member(group, "steps");
    const config_setting_t *reply_after = member(group, "reply_after");

    READ_FIELDS(r, group, fields, kind);
    if (deadline)
        read_deadline(r, deadline, kind);
    if (steps)
        read_steps(r, steps, kind);
    if (reply_after)
        read_reply_after(r, reply_after, kind);
    if (kind->deadline_s == 0.0 && member(group, "expired"))
        warn(r, member(group, "expired"), "has no effect without a deadline");
}

static void check_name(struct reader *r, const config_setting_t *group, uint32_t i)
{
    const struct scenario_kind *kinds = scenario_of(r)->kinds;

    for (uint32_t j = 0; j < i; j++)
        if (!strcmp(kinds[j].name, kinds[i].name))
            refuse(r, group, "", "has the name of requests[%u]", j);
}

void read_requests(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);

    scenario->kinds =
        read_list(r, setting, SCENARIO_KINDS_MAX, sizeof(*scenario->kinds), &scenario->n_kinds);
    for (uint32_t i = 0; i < scenario->n_kinds; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, i);

        scenario->kinds[i] = (struct scenario_kind){.name = "", .weight = 1.0, .path = "/"};
        read_kind(r, group, &scenario->kinds[i]);
        check_name(r, group, i);
    }
}
