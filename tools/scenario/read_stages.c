/* SPDX-License-Identifier: BSD-3-Clause */
/* What serves: stages, what befalls them, and the scaler. */
#include <string.h>

#include "tools/scenario/fields.h"
#include "tools/scenario/reading.h"

static const struct span instances_span = {1.0, 10000.0, "1..10000"};
static const struct span servers_span = {1.0, 1e6, "1..1000000"};
static const struct span places_span = {0.0, 1e9, "0..1000000000, or \"unbounded\""};
static const struct span failures_span = {1.0, 1000.0, "1..1000"};
static const struct span factor_span = {0.001, 1e6, "0.001..1000000"};
static const struct span target_span = {0.01, 1.0, "0.01..1"};

static void read_liveness(struct reader *r, const config_setting_t *setting,
                          struct scenario_liveness *liveness)
{
#define OF(member_) offsetof(struct scenario_liveness, member_)
    static const struct field fields[] = {
        {"every", FIELD_TIME, OF(every_s), &some_time, NULL, true},
        {"timeout", FIELD_TIME, OF(timeout_s), &some_time, NULL, true},
        {"failures", FIELD_COUNT, OF(failures), &failures_span, NULL, false},
        {"restart", FIELD_TIME, OF(restart_s), &any_time, NULL, true},
    };
#undef OF
    liveness->failures = 3;
    READ_FIELDS(r, setting, fields, liveness);
}

static void read_places(struct reader *r, const config_setting_t *setting, uint32_t *places)
{
    int64_t value;

    if (node_of(setting)->kind == SCAN_STRING &&
        !strcmp(config_setting_get_string(setting), "unbounded"))
        return;
    if (!read_any_integer(r, setting, places_span.range, &value))
        return;
    if (value < 0 || value > (int64_t)places_span.max)
        refuse(r, setting, places_span.range, "is out of range");
    else
        *places = (uint32_t)value;
}

static void read_stage_group(struct reader *r, const config_setting_t *group,
                             struct scenario_stage *stage)
{
#define OF(member_) offsetof(struct scenario_stage, member_)
    static const char *const orders[] = {
        [STAGE_FIFO] = "fifo", [STAGE_LIFO] = "lifo", [STAGE_DEADLINE] = "deadline", NULL};
    static const char *const choices[] = {
        [STAGE_BY_TURNS] = "turns", [STAGE_LEAST] = "least", [STAGE_RANDOM] = "random", NULL};
    static const struct field fields[] = {
        {"name", FIELD_NAME, OF(name), NULL, NULL, true},
        {"instances", FIELD_COUNT, OF(instances), &instances_span, NULL, false},
        {"servers", FIELD_COUNT, OF(servers), &servers_span, NULL, true},
        {"age", FIELD_TIME, OF(age_s), &any_time, NULL, false},
        {"order", FIELD_WORD, OF(order), NULL, orders, false},
        {"choice", FIELD_WORD, OF(choice), NULL, choices, false},
        {"fails", FIELD_REAL, OF(fails), &any_share, NULL, false},
        {"idempotent", FIELD_FLAG, OF(idempotent), NULL, NULL, false},
        {.name = "places", .kind = FIELD_OTHER},
        {.name = "liveness", .kind = FIELD_OTHER},
    };
#undef OF
    const config_setting_t *places = member(group, "places");
    const config_setting_t *liveness = member(group, "liveness");

    READ_FIELDS(r, group, fields, stage);
    if (places)
        read_places(r, places, &stage->places);
    if (liveness)
        read_liveness(r, liveness, &stage->liveness);
}

void read_stages(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);

    scenario->stages =
        read_list(r, setting, SCENARIO_STAGES_MAX, sizeof(*scenario->stages), &scenario->n_stages);
    for (uint32_t i = 0; i < scenario->n_stages; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, i);
        struct scenario_stage *stage = &scenario->stages[i];

        *stage = (struct scenario_stage){.name = "", .instances = 1, .places = SCENARIO_NONE};
        read_stage_group(r, group, stage);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(stage->name, scenario->stages[j].name))
                refuse(r, group, "", "has the name of stages[%u]", j);
    }
}

/* The places of the fields below, and of the kinds of event. */
enum event_field { LOSE, SLOW, STOP, FOR, COUNT, FACTOR };

#define BIT(field) (1u << (field))

static void check_event(struct reader *r, const config_setting_t *group, uint32_t given)
{
    uint32_t kind = given & (BIT(LOSE) | BIT(SLOW) | BIT(STOP));

    if (!kind || (kind & (kind - 1)))
        refuse(r, group, "lose, slow or stop, with the name of a stage", "needs one of them");
    if ((kind == BIT(SLOW)) != !!(given & BIT(FACTOR)))
        refuse(r, group, "", "slow and factor go together");
    if (kind != BIT(LOSE) && (given & BIT(COUNT)))
        refuse(r, group, "", "a count goes with lose only");
    if (kind == BIT(STOP) && !(given & BIT(FOR)))
        refuse(r, group, "", "stop needs for: nothing that is stopped for good can end");
}

static void read_event(struct reader *r, const config_setting_t *group,
                       struct scenario_event *event)
{
#define OF(member_) offsetof(struct scenario_event, member_)
    static const struct field fields[] = {
        [LOSE] = {"lose", FIELD_STAGE, OF(stage), NULL, NULL, false},
        [SLOW] = {"slow", FIELD_STAGE, OF(stage), NULL, NULL, false},
        [STOP] = {"stop", FIELD_STAGE, OF(stage), NULL, NULL, false},
        [FOR] = {"for", FIELD_TIME, OF(for_s), &some_time, NULL, false},
        [COUNT] = {"count", FIELD_COUNT, OF(count), &instances_span, NULL, false},
        [FACTOR] = {"factor", FIELD_REAL, OF(factor), &factor_span, NULL, false},
        {"at", FIELD_TIME, OF(at_s), &any_time, NULL, true},
    };
#undef OF
    uint32_t given = READ_FIELDS(r, group, fields, event);

    check_event(r, group, given);
    event->kind = given & BIT(SLOW) ? EVENT_SLOW : given & BIT(STOP) ? EVENT_STOP : EVENT_LOSE;
    if (event->kind == EVENT_LOSE && scenario_of(r)->n_stages &&
        event->count > scenario_of(r)->stages[event->stage].instances)
        refuse(r, group, "", "more instances are lost than there are");
}

void read_events(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);

    scenario->events =
        read_list(r, setting, SCENARIO_EVENTS_MAX, sizeof(*scenario->events), &scenario->n_events);
    for (uint32_t i = 0; i < scenario->n_events; i++) {
        scenario->events[i] = (struct scenario_event){.count = 1, .factor = 1.0};
        read_event(r, config_setting_get_elem(setting, i), &scenario->events[i]);
    }
}

void read_scaler(struct reader *r, const config_setting_t *setting)
{
#define OF(member_) offsetof(struct scenario_scaler, member_)
    static const struct field fields[] = {
        {"stage", FIELD_STAGE, OF(stage), NULL, NULL, true},
        {"every", FIELD_TIME, OF(every_s), &some_time, NULL, true},
        {"delay", FIELD_TIME, OF(delay_s), &any_time, NULL, false},
        {"target", FIELD_REAL, OF(target), &target_span, NULL, true},
        {"by_demand", FIELD_FLAG, OF(by_demand), NULL, NULL, false},
        {"min", FIELD_COUNT, OF(min), &instances_span, NULL, false},
        {"max", FIELD_COUNT, OF(max), &instances_span, NULL, true},
    };
#undef OF
    struct scenario_scaler *scaler = &scenario_of(r)->scaler;

    scaler->min = 1;
    READ_FIELDS(r, setting, fields, scaler);
    if (scaler->max && scaler->min > scaler->max)
        refuse(r, setting, "min <= max", "has room for no number of instances");
}
