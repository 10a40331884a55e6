/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instances that come and go: lost, restarted because their liveness check failed, added and taken
 * away by the scaler.
 */
#include "tools/sim/engine.h"

/* -- losing -- */

/* What stands in a line is nowhere from now on; a list of it by `next` remains. */
static uint32_t detach(struct engine *e, struct line *line, uint32_t flag)
{
    uint32_t first = line->first;

    for (uint32_t i = first; i != POOL_NONE; i = try_at(e, i)->next)
        try_at(e, i)->flags ^= flag | TRY_LOST;
    *line = (struct line){POOL_NONE, POOL_NONE};
    return first;
}

static void fail_all(struct engine *e, uint32_t first)
{
    while (first != POOL_NONE) {
        uint32_t number = first;
        struct try *t = try_at(e, number);

        first = t->next;
        t->flags &= ~TRY_LOST;
        if (t->flags & TRY_CHECK)
            work_drop(e, number);
        else
            work_fails(e, number, FAILURE_LOST);
    }
}

/* Forgets the servers that a try keeps of that instance. The step that kept one; `steps`: none. */
static uint32_t forget_kept(struct engine *e, struct try *t, uint32_t instance)
{
    uint32_t step = e->steps;

    for (uint32_t i = e->steps; i-- > 0;)
        if (t->calls[i].instance == instance) {
            t->calls[i].instance = POOL_NONE;
            step = i;
        }
    return step;
}

/* Those who are elsewhere and keep a server here: the call that kept it has failed. */
static void fail_keepers(struct engine *e, uint32_t instance)
{
    for (uint32_t i = 0; e->holds && i < e->tries.touched; i++) {
        struct try *t = try_at(e, i);
        uint32_t step = forget_kept(e, t, instance);

        if (step == e->steps || t->flags & TRY_LOST)
            continue;
        stage_quit(e, i);
        t->step = step;
        work_fails(e, i, FAILURE_LOST);
    }
}

static void lose(struct engine *e, uint32_t number)
{
    struct instance *instance = &e->instances[number];
    struct stage *stage = &e->stages[instance->stage];
    uint32_t queued, served;

    stage_count_busy(e, stage);
    instance->state = INSTANCE_GONE;
    instance->generation++;
    instance->failures = 0;
    instance->check = POOL_NONE;
    e->queued -= instance->queued;
    stage->busy -= instance->busy;
    instance->queued = instance->busy = 0;
    queued = detach(e, &instance->queue, TRY_QUEUED);
    served = detach(e, &instance->served, TRY_SERVED);
    note_queues(e);
    fail_keepers(e, number);
    fail_all(e, queued);
    fail_all(e, served);
}

static void plan_check(struct engine *e, uint32_t number)
{
    const struct instance *instance = &e->instances[number];
    double every_s = e->stages[instance->stage].s->liveness.every_s;

    if (every_s > 0)
        engine_put(e, e->now_s + every_s, DUE_CHECK, number, instance->generation);
}

static void come_up(struct engine *e, uint32_t number)
{
    e->instances[number].state = INSTANCE_UP;
    plan_check(e, number);
    stage_let_in(e, &e->stages[e->instances[number].stage]);
}

void fleet_ready(struct engine *e, uint32_t number)
{
    come_up(e, number);
}

static void come_later(struct engine *e, uint32_t number, double after_s)
{
    struct instance *instance = &e->instances[number];

    instance->state = INSTANCE_COMING;
    engine_put(e, e->now_s + after_s, DUE_READY, number, ++instance->generation);
}

/* -- checks -- */

void fleet_check(struct engine *e, uint32_t number)
{
    struct instance *instance = &e->instances[number];
    const struct scenario_stage *s = e->stages[instance->stage].s;
    struct try *t;

    plan_check(e, number);
    if (instance->check != POOL_NONE) /* the one before has not been given up */
        return;
    instance->check = work_take(e);
    if (instance->check == POOL_NONE)
        return;
    t = try_at(e, instance->check);
    t->flags = TRY_CHECK;
    t->instance = number;
    if (instance->busy < s->servers) {
        fleet_passed(e, number);
        return;
    }
    t->flags |= TRY_QUEUED;
    t->since_s = e->now_s;
    line_add(e, &instance->queue, instance->check, POOL_NONE);
    engine_put(e, e->now_s + s->liveness.timeout_s, DUE_CHECKED, instance->check, t->generation);
}

void fleet_passed(struct engine *e, uint32_t number)
{
    struct instance *instance = &e->instances[number];

    work_drop(e, instance->check);
    instance->check = POOL_NONE;
    instance->failures = 0;
}

void fleet_checked(struct engine *e, uint32_t try)
{
    uint32_t number = try_at(e, try)->instance;
    struct instance *instance = &e->instances[number];
    const struct scenario_liveness *rules = &e->stages[instance->stage].s->liveness;

    stage_quit(e, try);
    work_drop(e, try);
    instance->check = POOL_NONE;
    if (++instance->failures < rules->failures)
        return;
    record_restart(e->record);
    lose(e, number);
    come_later(e, number, rules->restart_s);
}

/* -- incidents -- */

static void lose_some(struct engine *e, const struct scenario_event *event)
{
    struct stage *stage = &e->stages[event->stage];
    uint32_t left = event->count;

    for (uint32_t i = 0; i < stage->n && left > 0; i++) {
        if (e->instances[stage->first + i].state != INSTANCE_UP)
            continue;
        left--;
        lose(e, stage->first + i);
        if (event->for_s > 0)
            come_later(e, stage->first + i, event->for_s);
    }
}

/* What is under way goes on when it is over, where it was. */
static void stop(struct engine *e, struct stage *stage, double until_s)
{
    double from_s = stage->stopped_s > e->now_s ? stage->stopped_s : e->now_s;

    if (until_s <= from_s)
        return;
    stage->stopped_s = until_s;
    for (uint32_t k = 0; k < stage->n; k++)
        for (uint32_t i = e->instances[stage->first + k].served.first; i != POOL_NONE;
             i = try_at(e, i)->next) {
            struct try *t = try_at(e, i);

            t->end_s += until_s - from_s;
            engine_put(e, t->end_s, DUE_SERVED, i, t->generation);
        }
}

void fleet_incident(struct engine *e, uint32_t incident)
{
    const struct scenario_event *event = &e->scenario->events[incident];
    struct stage *stage = &e->stages[event->stage];

    switch (event->kind) {
    case EVENT_LOSE:
        lose_some(e, event);
        break;
    case EVENT_SLOW:
        stage->factor *= event->factor;
        if (event->for_s > 0)
            engine_put(e, e->now_s + event->for_s, DUE_RELIEF, incident, 0);
        break;
    case EVENT_STOP:
        stop(e, stage, e->now_s + event->for_s);
        break;
    }
}

void fleet_relieved(struct engine *e, uint32_t incident)
{
    const struct scenario_event *event = &e->scenario->events[incident];

    e->stages[event->stage].factor /= event->factor;
}

/* -- scaler -- */

static void take_away(struct engine *e, uint32_t number)
{
    e->instances[number].state = INSTANCE_GONE;
    e->instances[number].generation++;
    if (e->instances[number].check != POOL_NONE)
        work_drop(e, e->instances[number].check);
    e->instances[number].check = POOL_NONE;
}

void fleet_idle(struct engine *e, uint32_t number)
{
    take_away(e, number);
}

static uint32_t count(const struct engine *e, const struct stage *stage, enum instance_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < stage->n; i++)
        n += e->instances[stage->first + i].state == state;
    return n;
}

/* The last ones first; those that are leaving are asked to stay before new ones are. */
static void add(struct engine *e, struct stage *stage, uint32_t n)
{
    for (uint32_t i = 0; i < stage->n && n > 0; i++)
        if (e->instances[stage->first + i].state == INSTANCE_LEAVING) {
            e->instances[stage->first + i].state = INSTANCE_UP;
            n--;
        }
    for (uint32_t i = 0; i < stage->n && n > 0; i++)
        if (e->instances[stage->first + i].state == INSTANCE_GONE) {
            come_later(e, stage->first + i, e->scenario->scaler.delay_s);
            n--;
        }
}

static void reduce(struct engine *e, struct stage *stage, uint32_t n)
{
    for (uint32_t i = stage->n; i-- > 0 && n > 0;) {
        struct instance *instance = &e->instances[stage->first + i];

        if (instance->state == INSTANCE_COMING) {
            take_away(e, stage->first + i);
            n--;
        } else if (instance->state == INSTANCE_UP) {
            instance->state = INSTANCE_LEAVING;
            if (!instance->busy && !instance->queued)
                take_away(e, stage->first + i);
            n--;
        }
    }
}

/* What has been asked for so far: what was let in, and what was refused for want of room, each
 * piece once. */
static uint64_t wanted_so_far(const struct engine *e)
{
    uint64_t n = e->record->sum.admitted;

    for (uint32_t w = 0; e->gate && w < e->gate->n_workers; w++)
        for (uint32_t i = 0; i < policy_service_count(e->gate->policy); i++) {
            const struct admission_service_counters *k = admission_service_counters(
                e->gate->workers[w], policy_service_id(e->gate->policy, i));

            n += k->refused_unique - k->served_late;
        }
    return n;
}

static uint32_t wanted_instances(struct engine *e, struct stage *stage, uint32_t n)
{
    const struct scenario_scaler *s = &e->scenario->scaler;
    double busy_s = stage->busy_s - e->scaled_busy_s;
    uint64_t wanted = wanted_so_far(e);
    double per_s = (double)(wanted - e->scaled_wanted) / s->every_s;
    double mean_s = stage->served ? stage->served_s / (double)stage->served : 0;

    e->scaled_busy_s = stage->busy_s;
    e->scaled_wanted = wanted;
    if (s->by_demand)
        return demand_instances(per_s, mean_s, stage->s->servers, s->target);
    return demand_instances(n, busy_s / (n * stage->s->servers * s->every_s), 1, s->target);
}

void fleet_scale(struct engine *e)
{
    const struct scenario_scaler *s = &e->scenario->scaler;
    struct stage *stage = &e->stages[s->stage];
    uint32_t up = count(e, stage, INSTANCE_UP), all = up + count(e, stage, INSTANCE_COMING), want;

    stage_count_busy(e, stage);
    want = wanted_instances(e, stage, up);
    if (want < s->min)
        want = s->min;
    if (want > s->max)
        want = s->max;
    if (want > all)
        add(e, stage, want - all);
    else
        reduce(e, stage, all - want);
    engine_put(e, e->now_s + s->every_s, DUE_SCALING, 0, 0);
}

void fleet_start(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_instances; i++)
        if (e->instances[i].state == INSTANCE_UP)
            plan_check(e, i);
    for (uint32_t i = 0; i < e->scenario->n_events; i++)
        engine_put(e, e->scenario->events[i].at_s, DUE_INCIDENT, i, 0);
    if (e->scenario->scaler.every_s > 0)
        engine_put(e, e->scenario->scaler.every_s, DUE_SCALING, 0, 0);
}
