/* SPDX-License-Identifier: BSD-3-Clause */
/* Who asks, and when. */
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"
#include "tools/scenario/reading.h"

#define OF(member_) offsetof(struct scenario_arrivals, member_)
#define BIT(field)  (1u << (field))

static const struct span factor_span = {0.001, 1e6, "0.001..1000000"};
static const struct span pause_span = {0.0, 1e6, "0..1000000"};
static const struct span exponent_span = {0.001, 100.0, "0.001..100"};
static const struct span clients_span = {1.0, 1e6, "1..1000000"};
static const struct span population_span = {1.0, 16777216.0, "1..16777216"};
static const struct span count_span = {1.0, 1e12, "1..1000000000000"};

static void read_step(struct reader *r, const config_setting_t *setting,
                      struct scenario_arrivals *arrivals)
{
    enum { FACTOR, RATE };
    static const struct field fields[] = {
        [FACTOR] = {"factor", FIELD_REAL, OF(factor), &pause_span, NULL, false},
        [RATE] = {"rate", FIELD_RATE, OF(factor), NULL, NULL, false},
        {"from", FIELD_TIME, OF(from_s), &any_time, NULL, true},
        {"for", FIELD_TIME, OF(for_s), &some_time, NULL, true},
    };
    uint32_t given = READ_FIELDS(r, setting, fields, arrivals);

    if (!(given & BIT(FACTOR)) == !(given & BIT(RATE)))
        refuse(r, setting, "factor, or rate", "needs one of them");
    if (given & BIT(RATE))
        arrivals->factor /= arrivals->rate_per_s;
    arrivals->shape = ARRIVE_STEP;
}

static void read_decay(struct reader *r, const config_setting_t *setting,
                       struct scenario_arrivals *arrivals)
{
    static const struct field fields[] = {
        {"factor", FIELD_REAL, OF(factor), &factor_span, NULL, true},
        {"width", FIELD_TIME, OF(width_s), &some_time, NULL, true},
        {"exponent", FIELD_REAL, OF(decay), &exponent_span, NULL, false},
        {"every", FIELD_TIME, OF(every_s), &some_time, NULL, false},
        {"from", FIELD_TIME, OF(from_s), &any_time, NULL, false},
    };

    arrivals->decay = 5.0;
    arrivals->every_s = any_time.max; /* not again */
    READ_FIELDS(r, setting, fields, arrivals);
    if (arrivals->every_s < arrivals->width_s)
        refuse(r, member(setting, "every"), "", "a spike begins before the last one is over");
    arrivals->shape = ARRIVE_DECAY;
}

static void read_on_off(struct reader *r, const config_setting_t *setting,
                        struct scenario_arrivals *arrivals)
{
    static const struct field fields[] = {
        {"on", FIELD_TIME, OF(on_s), &some_time, NULL, true},
        {"off", FIELD_TIME, OF(off_s), &some_time, NULL, true},
        {"factor", FIELD_REAL, OF(factor), &factor_span, NULL, false},
        {"rest", FIELD_REAL, OF(rest), &pause_span, NULL, false},
        {"from", FIELD_TIME, OF(from_s), &any_time, NULL, false},
    };

    READ_FIELDS(r, setting, fields, arrivals);
    arrivals->shape = ARRIVE_ON_OFF;
}

static void read_closed(struct reader *r, const config_setting_t *setting,
                        struct scenario_arrivals *arrivals)
{
    static const struct field fields[] = {
        {"clients", FIELD_COUNT, OF(clients), &clients_span, NULL, true},
        {"think", FIELD_DRAW, OF(think), NULL, NULL, false},
    };

    READ_FIELDS(r, setting, fields, arrivals);
    arrivals->shape = ARRIVE_CLOSED;
}

static void read_kinds(struct reader *r, const config_setting_t *setting,
                       struct scenario_arrivals *arrivals)
{
    const struct scenario *scenario = scenario_of(r);
    int n = read_elements(r, setting, true, 1, SCENARIO_KINDS_MAX);
    char quoted[LIMITS_QUOTED_MAX];

    arrivals->n_kinds = 0;
    for (int i = 0; i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char *name = read_string(r, element, "the name of a request");
        uint32_t kind = 0;

        if (!name)
            continue;
        while (kind < scenario->n_kinds && strcmp(scenario->kinds[kind].name, name))
            kind++;
        if (kind == scenario->n_kinds)
            refuse(r, element, "", "no request is named %s", limits_quote(name, quoted));
        else
            arrivals->kinds[arrivals->n_kinds++] = kind;
    }
}

/* Tenants and services stand in the gate; where there is none, nobody asks. */
static void check_gate_names(struct reader *r, const config_setting_t *group,
                             const struct scenario_arrivals *arrivals)
{
    const struct settings *gate = scenario_of(r)->gate;
    const struct policy_spec *policy = gate ? &gate->policy : NULL;
    const config_setting_t *tenant = member(group, "tenant"), *service = member(group, "service");
    uint32_t i = 0, j = 0;

    if (!policy)
        return;
    while (i < policy->n_tenants && strcmp(policy->tenants[i].name, arrivals->tenant))
        i++;
    if (i == policy->n_tenants && i && tenant)
        refuse(r, tenant, "", "no tenant of the gate is named \"%s\"", arrivals->tenant);
    while (j < policy->n_services && strcmp(policy->services[j].name, arrivals->service))
        j++;
    if (j == policy->n_services && j && service)
        refuse(r, service, "", "no service of the gate is named \"%s\"", arrivals->service);
}

/* The fields of arrivals that others depend on. */
enum { STEP, DECAY, ON_OFF, CLOSED, TIMES, TRACE, N_SHAPES, RATE = N_SHAPES, SPACING };

static void read_shape(struct reader *r, const config_setting_t *group, uint32_t given,
                       struct scenario_arrivals *arrivals)
{
    static const struct {
        const char *name;
        void (*read)(struct reader *r, const config_setting_t *setting,
                     struct scenario_arrivals *arrivals);
    } shapes[N_SHAPES] = {
        [STEP] = {"step", read_step},       [DECAY] = {"decay", read_decay},
        [ON_OFF] = {"on_off", read_on_off}, [CLOSED] = {"closed", read_closed},
        [TIMES] = {"times", read_times},    [TRACE] = {"trace", read_trace},
    };
    uint32_t shape = given & (BIT(N_SHAPES) - 1), timed = BIT(CLOSED) | BIT(TIMES) | BIT(TRACE);

    if (shape & (shape - 1))
        refuse(r, group, "step, decay, on_off, closed, times or trace",
               "has more than one of them");
    if (!(shape & timed) && !(given & BIT(RATE)))
        refuse(r, group, "a rate, or closed, times or trace", "does not say how many come");
    if ((shape & timed) && (given & (BIT(RATE) | BIT(SPACING))))
        refuse(r, member(group, given & BIT(RATE) ? "rate" : "spacing"), "",
               "does not go with closed, times or trace");
    for (uint32_t i = 0; i < N_SHAPES; i++)
        if (given & BIT(i))
            shapes[i].read(r, member(group, shapes[i].name), arrivals);
}

static void read_spacing(struct reader *r, const config_setting_t *setting,
                         struct scenario_arrivals *arrivals)
{
    static const char *const words[] = {"even", "poisson", NULL};
    int word;

    if (read_word(r, setting, words, &word))
        arrivals->poisson = word;
}

static void read_arrivals_of(struct reader *r, const config_setting_t *group,
                             struct scenario_arrivals *arrivals)
{
    static const struct field fields[] = {
        [STEP] = {.name = "step", .kind = FIELD_OTHER},
        [DECAY] = {.name = "decay", .kind = FIELD_OTHER},
        [ON_OFF] = {.name = "on_off", .kind = FIELD_OTHER},
        [CLOSED] = {.name = "closed", .kind = FIELD_OTHER},
        [TIMES] = {.name = "times", .kind = FIELD_OTHER},
        [TRACE] = {.name = "trace", .kind = FIELD_OTHER},
        [RATE] = {"rate", FIELD_RATE, OF(rate_per_s), NULL, NULL, false},
        [SPACING] = {.name = "spacing", .kind = FIELD_OTHER},
        {"name", FIELD_NAME, OF(name), NULL, NULL, false},
        {"tenant", FIELD_NAME, OF(tenant), NULL, NULL, false},
        {"service", FIELD_NAME, OF(service), NULL, NULL, false},
        {"blocks", FIELD_FLAG, OF(blocks), NULL, NULL, false},
        {"start", FIELD_TIME, OF(start_s), &any_time, NULL, false},
        {"stop", FIELD_TIME, OF(stop_s), &some_time, NULL, false},
        {"count", FIELD_LONG, OF(count), &count_span, NULL, false},
        {"population", FIELD_COUNT, OF(population), &population_span, NULL, false},
        {.name = "requests", .kind = FIELD_OTHER},
    };
    uint32_t given = READ_FIELDS(r, group, fields, arrivals);
    const config_setting_t *stop = member(group, "stop"), *requests = member(group, "requests");

    read_shape(r, group, given, arrivals);
    if (given & BIT(SPACING))
        read_spacing(r, member(group, "spacing"), arrivals);
    if (requests)
        read_kinds(r, requests, arrivals);
    if (arrivals->start_s >= arrivals->stop_s || arrivals->stop_s > scenario_of(r)->duration_s)
        refuse(r, stop ? stop : group, "start < stop <= duration",
               "nothing can arrive at that time");
    check_gate_names(r, group, arrivals);
}

void read_arrivals(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);

    scenario->arrivals = read_list(r, setting, SCENARIO_ARRIVALS_MAX, sizeof(*scenario->arrivals),
                                   &scenario->n_arrivals);
    for (uint32_t i = 0; i < scenario->n_arrivals; i++) {
        struct scenario_arrivals *arrivals = &scenario->arrivals[i];

        *arrivals = (struct scenario_arrivals){
            .name = "",
            .tenant = "default",
            .service = "",
            .poisson = true,
            .rate_per_s = 1.0,
            .factor = 1.0,
            .stop_s = scenario->duration_s,
            .population = 1000000,
            .n_kinds = scenario->n_kinds,
        };
        for (uint32_t k = 0; k < scenario->n_kinds; k++)
            arrivals->kinds[k] = k;
        read_arrivals_of(r, config_setting_get_elem(setting, i), arrivals);
    }
}
