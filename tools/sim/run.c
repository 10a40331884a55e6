/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time: from event to event, until nothing is under way any more.
 */
#include "tools/sim/run.h"

#include <errno.h>
#include <math.h>

#include "control/config/config.h"
#include "tools/sim/engine.h"

void engine_put(struct engine *e, double at_s, enum due what, uint32_t subject, uint32_t generation)
{
    const struct event event = {
        .at_s = at_s, .what = what, .subject = subject, .generation = generation};

    if (!agenda_put(&e->agenda, &event))
        e->failed = true;
}

/* -- what is seen from outside -- */

static double oldest_since_s(const struct engine *e, const struct instance *instance)
{
    double since_s = e->now_s;

    switch (e->stages[instance->stage].s->order) {
    case STAGE_FIFO:
        return try_at(e, instance->queue.first)->since_s;
    case STAGE_LIFO:
        return try_at(e, instance->queue.last)->since_s;
    case STAGE_DEADLINE:
        for (uint32_t i = instance->queue.first; i != POOL_NONE; i = try_at(e, i)->next)
            since_s = fmin(since_s, try_at(e, i)->since_s);
        break;
    }
    return since_s;
}

/* What the gate sheds of the lowest class that comes, and how long its oldest has waited. */
static void look_at_gate(const struct engine *e, struct record_levels *levels)
{
    const struct policy_spec *policy = &e->scenario->gate->policy;
    struct service_view view;

    for (uint32_t i = 0; i < e->scenario->n_arrivals; i++) {
        admission_control_view(e->gate->control, &policy->services[e->sources[i].service],
                               gate_ns(e->now_s), &view);
        levels->shed = fmax(levels->shed, view.shed[policy->tenants[e->sources[i].tenant].class]);
        levels->age_s = fmax(levels->age_s, (double)view.oldest_wait_ns / 1e9);
    }
}

static void look_at_stages(const struct engine *e, struct record_levels *levels)
{
    for (uint32_t i = 0; i < e->n_instances; i++) {
        const struct instance *instance = &e->instances[i];

        levels->instances += instance->state == INSTANCE_UP || instance->state == INSTANCE_LEAVING;
        if (instance->queued)
            levels->age_s = fmax(levels->age_s, e->now_s - oldest_since_s(e, instance));
    }
}

static void note_interval(struct engine *e, double t_s)
{
    struct record_levels levels = {0};

    if (e->gate)
        look_at_gate(e, &levels);
    look_at_stages(e, &levels);
    record_interval(e->record, t_s, &levels);
}

/* What happens at its end, while there are arrivals, is of the next. */
void engine_plan_interval(struct engine *e)
{
    double end_s = (e->record->n_rows + 1) * e->scenario->interval_s;
    bool is_last = end_s >= e->scenario->duration_s;

    engine_put(e, is_last ? end_s : nextafter(end_s, 0), DUE_INTERVAL, 0, 0);
}

/* -- the clock -- */

/* Is its subject still what it was? */
static bool is_stale(const struct engine *e, const struct event *event)
{
    const struct try *t;

    switch ((enum due)event->what) {
    case DUE_TRY:
    case DUE_GIVE_UP:
    case DUE_ANSWER:
        return piece_at(e, event->subject)->generation != event->generation;
    case DUE_READY:
    case DUE_CHECK:
        return e->instances[event->subject].generation != event->generation;
    case DUE_SERVED: /* it may have been stopped, or serve something else */
        t = try_at(e, event->subject);
        return t->generation != event->generation || !(t->flags & TRY_SERVED) ||
               t->end_s != event->at_s;
    case DUE_FIRST:
    case DUE_CONFIRM:
    case DUE_WAITED:
    case DUE_LATE:
    case DUE_CHECKED:
        return try_at(e, event->subject)->generation != event->generation;
    default:
        return false;
    }
}

static void happen_to_clients(struct engine *e, const struct event *event)
{
    switch ((enum due)event->what) {
    case DUE_ARRIVAL:
        client_arrival(e, event->subject);
        break;
    case DUE_CLIENT:
        client_loop(e, event->subject, event->generation);
        break;
    case DUE_TRY:
        client_try(e, event->subject);
        break;
    case DUE_GIVE_UP:
        client_gives_up(e, event->subject);
        break;
    case DUE_ANSWER:
        client_hears(e, event->subject);
        break;
    default:
        break;
    }
}

static void happen_to_gate(struct engine *e, const struct event *event)
{
    switch ((enum due)event->what) {
    case DUE_FIRST:
        door_first(e, event->subject);
        break;
    case DUE_CONFIRM:
        door_confirm(e, event->subject);
        break;
    case DUE_CLOSED:
        door_closed(e, event->subject);
        break;
    case DUE_WAITED:
        e->gate->is_due = true;
        break;
    case DUE_TIDY:
        door_tidy(e, event->subject);
        break;
    case DUE_SURVEY:
        door_survey(e);
        engine_put(e, e->now_s + GATE_SURVEY_S, DUE_SURVEY, 0, 0);
        break;
    case DUE_CONTROL:
        gate_step(e->gate, e->now_s);
        e->gate->is_due = true; /* what can be promised may be less */
        engine_put(e, e->now_s + e->gate->period_s, DUE_CONTROL, 0, 0);
        break;
    default:
        break;
    }
}

static void happen_to_stages(struct engine *e, const struct event *event)
{
    switch ((enum due)event->what) {
    case DUE_SERVED:
        stage_served(e, event->subject);
        break;
    case DUE_LATE:
        work_is_late(e, event->subject);
        break;
    case DUE_INCIDENT:
        fleet_incident(e, event->subject);
        break;
    case DUE_RELIEF:
        fleet_relieved(e, event->subject);
        break;
    case DUE_SCALING:
        fleet_scale(e);
        break;
    case DUE_READY:
        fleet_ready(e, event->subject);
        break;
    case DUE_CHECK:
        fleet_check(e, event->subject);
        break;
    case DUE_CHECKED:
        fleet_checked(e, event->subject);
        break;
    case DUE_INTERVAL:
        note_interval(e, (e->record->n_rows + 1) * e->scenario->interval_s);
        engine_plan_interval(e);
        break;
    default:
        break;
    }
}

static void happen(struct engine *e, const struct event *event)
{
    e->now_s = event->at_s;
    if (is_stale(e, event))
        return;
    if (event->what <= DUE_ANSWER)
        happen_to_clients(e, event);
    else if (event->what <= DUE_CONTROL)
        happen_to_gate(e, event);
    else
        happen_to_stages(e, event);
    if (e->gate && e->gate->is_due)
        door_poll(e);
}

/* Arrivals end with the duration; then what is under way ends, if it may. */
static bool is_over(const struct engine *e, double next_s)
{
    double end_s = e->scenario->duration_s;

    if (next_s < end_s)
        return false;
    return e->scenario->cut || (e->open == 0 && e->live == 0) || next_s > ENGINE_LONGEST * end_s;
}

void engine_play(struct engine *e)
{
    struct event event;

    while (!e->failed && !e->record->failed && agenda_next_s(&e->agenda) < INFINITY &&
           !is_over(e, agenda_next_s(&e->agenda)) && agenda_take(&e->agenda, &event))
        happen(e, &event);
    if (e->now_s < e->scenario->duration_s)
        e->now_s = e->scenario->duration_s;
    note_interval(e, e->now_s);
    record_finish(e->record, e->now_s);
}

int run_scenario(const struct scenario *scenario, struct record *record)
{
    struct engine engine;
    int err = engine_start(&engine, scenario, record);

    if (!err) {
        engine_play(&engine);
        if (engine.failed || record->failed)
            err = -ENOMEM;
    }
    engine_stop(&engine);
    return err;
}
