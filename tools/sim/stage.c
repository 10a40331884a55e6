/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues and servers. A try is in one line at most: its instance's queue or those it serves, or the
 * stage's producers that wait for a place.
 */
#include "tools/sim/engine.h"

/* -- lines -- */

void line_add(struct engine *e, struct line *line, uint32_t number, uint32_t before)
{
    struct try *t = try_at(e, number);

    t->next = before;
    t->previous = before == POOL_NONE ? line->last : try_at(e, before)->previous;
    if (t->previous == POOL_NONE)
        line->first = number;
    else
        try_at(e, t->previous)->next = number;
    if (before == POOL_NONE)
        line->last = number;
    else
        try_at(e, before)->previous = number;
}

void line_remove(struct engine *e, struct line *line, uint32_t number)
{
    const struct try *t = try_at(e, number);

    if (t->previous == POOL_NONE)
        line->first = t->next;
    else
        try_at(e, t->previous)->next = t->next;
    if (t->next == POOL_NONE)
        line->last = t->previous;
    else
        try_at(e, t->next)->previous = t->previous;
}

/* -- servers -- */

static struct stage *stage_of(struct engine *e, const struct try *t)
{
    return &e->stages[e->instances[t->instance].stage];
}

static const struct scenario_step *step_of(const struct engine *e, const struct try *t)
{
    return &kind_of(e, t)->steps[t->step];
}

void stage_count_busy(struct engine *e, struct stage *stage)
{
    stage->busy_s += stage->busy * (e->now_s - stage->counted_s);
    stage->counted_s = e->now_s;
}

static void take_server(struct engine *e, struct try *t)
{
    struct stage *stage = stage_of(e, t);

    stage_count_busy(e, stage);
    stage->busy++;
    e->instances[t->instance].busy++;
}

/* Is this what the work is for? Stages before the last only prepare it. */
static void note_execution(struct engine *e, const struct try *t, bool again)
{
    const struct scenario_kind *kind = kind_of(e, t);

    if (step_of(e, t)->stage == kind->steps[kind->n_steps - 1].stage)
        record_executed(e->record, !again);
}

static bool note_done(struct engine *e, const struct try *t, uint32_t stage)
{
    struct piece *piece = piece_at(e, t->work);
    bool again = piece->done >> stage & 1;

    piece->done |= (uint16_t)(1u << stage);
    return again;
}

static double draw_s(struct engine *e, const struct try *t, const struct stage *stage)
{
    struct budget *budget = &e->budgets[t->kind * e->steps + t->step];

    return draw_time_s(&e->random, &step_of(e, t)->time, budget->calls++) * stage->factor;
}

void stage_serve(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct stage *stage = stage_of(e, t);
    bool again = note_done(e, t, step_of(e, t)->stage);
    double begin_s = e->now_s > stage->stopped_s ? e->now_s : stage->stopped_s;

    t->flags |= TRY_SERVED | TRY_WORKED;
    if (again && stage->s->idempotent) {
        e->budgets[t->kind * e->steps + t->step].calls++;
        t->time_s = 0;
    } else {
        note_execution(e, t, again);
        t->time_s = draw_s(e, t, stage);
    }
    t->end_s = begin_s + t->time_s;
    line_add(e, &e->instances[t->instance].served, number, POOL_NONE);
    engine_put(e, t->end_s, DUE_SERVED, number, t->generation);
}

static void start(struct engine *e, uint32_t number)
{
    take_server(e, try_at(e, number));
    stage_serve(e, number);
}

/* -- queues -- */

static uint32_t place_in_queue(struct engine *e, const struct instance *instance,
                               const struct try *t)
{
    uint32_t behind = POOL_NONE, before = instance->queue.last;

    switch (e->stages[instance->stage].s->order) {
    case STAGE_LIFO:
        return instance->queue.first;
    case STAGE_DEADLINE:
        while (before != POOL_NONE && try_at(e, before)->late_s > t->late_s) {
            behind = before;
            before = try_at(e, before)->previous;
        }
        return behind;
    case STAGE_FIFO:
        break;
    }
    return POOL_NONE;
}

static void queue(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct instance *instance = &e->instances[t->instance];

    t->flags |= TRY_QUEUED;
    t->since_s = e->now_s;
    line_add(e, &instance->queue, number, place_in_queue(e, instance, t));
    instance->queued++;
    e->queued++;
    note_queues(e);
}

static void unqueue(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct instance *instance = &e->instances[t->instance];

    t->flags &= ~TRY_QUEUED;
    line_remove(e, &instance->queue, number);
    if (t->flags & TRY_CHECK)
        return;
    instance->queued--;
    e->queued--;
    note_queues(e);
}

/* -- entering -- */

static bool is_better(const struct instance *a, const struct instance *b)
{
    return a->queued + a->busy < b->queued + b->busy;
}

static uint32_t count_up(const struct engine *e, const struct stage *stage)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < stage->n; i++)
        n += e->instances[stage->first + i].state == INSTANCE_UP;
    return n;
}

/* Of those that are up, `skip` of them left out, from whose turn it is. */
static uint32_t next_up(const struct engine *e, const struct stage *stage, uint32_t from,
                        uint32_t skip)
{
    for (uint32_t k = 0; k < stage->n; k++) {
        uint32_t i = stage->first + (from + k) % stage->n;

        if (e->instances[i].state == INSTANCE_UP && skip-- == 0)
            return i;
    }
    return POOL_NONE;
}

static uint32_t choose(struct engine *e, struct stage *stage)
{
    uint32_t up, best;

    if (stage->n == 1)
        return e->instances[stage->first].state == INSTANCE_UP ? stage->first : POOL_NONE;
    if (stage->s->choice == STAGE_RANDOM) {
        up = count_up(e, stage);
        return up ? next_up(e, stage, 0, (uint32_t)(random_uniform(&e->random) * up)) : POOL_NONE;
    }
    best = next_up(e, stage, stage->turn, 0);
    if (best != POOL_NONE && stage->s->choice == STAGE_LEAST)
        for (uint32_t k = 0; k < stage->n; k++) {
            uint32_t i = stage->first + (stage->turn + k) % stage->n;

            if (e->instances[i].state == INSTANCE_UP &&
                is_better(&e->instances[i], &e->instances[best]))
                best = i;
        }
    if (best != POOL_NONE)
        stage->turn = (best - stage->first + 1) % stage->n;
    return best;
}

static bool has_place(const struct engine *e, const struct instance *instance)
{
    uint32_t places = e->stages[instance->stage].s->places;

    return places == SCENARIO_NONE || instance->queued < places;
}

static bool may_block(const struct engine *e, const struct try *t)
{
    return t->step == 0 && t->piece != POOL_NONE && e->sources[t->source].arrivals->blocks;
}

static void block(struct engine *e, struct stage *stage, uint32_t number)
{
    struct try *t = try_at(e, number);

    t->flags |= TRY_BLOCKED;
    e->sources[t->source].blocked++;
    line_add(e, &stage->blocked, number, POOL_NONE);
}

void stage_enter(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct stage *stage = &e->stages[step_of(e, t)->stage];
    struct instance *instance;

    t->instance = choose(e, stage);
    if (t->instance == POOL_NONE) {
        work_fails(e, number, FAILURE_LOST);
        return;
    }
    instance = &e->instances[t->instance];
    if (instance->busy < stage->s->servers) {
        start(e, number);
    } else if (has_place(e, instance)) {
        queue(e, number);
    } else if (may_block(e, t)) {
        block(e, stage, number);
    } else {
        record_stage_full(e->record);
        work_fails(e, number, FAILURE_FULL);
    }
}

/* -- leaving -- */

static void unblock(struct engine *e, struct stage *stage, uint32_t number)
{
    struct try *t = try_at(e, number);

    t->flags &= ~TRY_BLOCKED;
    line_remove(e, &stage->blocked, number);
}

void stage_let_in(struct engine *e, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n && stage->blocked.first != POOL_NONE; i++) {
        struct instance *instance = &e->instances[stage->first + i];

        while (stage->blocked.first != POOL_NONE && instance->state == INSTANCE_UP &&
               (instance->busy < stage->s->servers || has_place(e, instance))) {
            uint32_t number = stage->blocked.first;
            uint32_t source = try_at(e, number)->source;

            unblock(e, stage, number);
            try_at(e, number)->instance = stage->first + i;
            if (instance->busy < stage->s->servers)
                start(e, number);
            else
                queue(e, number);
            client_unblocked(e, source);
        }
    }
}

/* The first of the queue has found a server, or its check has shown that there is one. */
static void begin_next(struct engine *e, struct instance *instance)
{
    const struct scenario_stage *s = e->stages[instance->stage].s;
    uint32_t number = instance->queue.first;
    struct try *t = try_at(e, number);
    double waited_s = e->now_s - t->since_s;

    unqueue(e, number);
    if (t->flags & TRY_CHECK) {
        fleet_passed(e, t->instance);
    } else if (s->age_s > 0 && waited_s > s->age_s + ENGINE_SAME_S) {
        record_stage_aged(e->record);
        work_fails(e, number, FAILURE_STEP);
    } else if (kind_of(e, t)->expired == EXPIRED_SKIPPED && is_late(e, t)) {
        work_fails(e, number, FAILURE_SKIPPED);
    } else {
        record_stage_wait(e->record, waited_s);
        start(e, number);
    }
}

void stage_release(struct engine *e, uint32_t number)
{
    struct instance *instance = &e->instances[number];
    struct stage *stage = &e->stages[instance->stage];

    stage_count_busy(e, stage);
    stage->busy--;
    instance->busy--;
    while (instance->busy < stage->s->servers && instance->queue.first != POOL_NONE)
        begin_next(e, instance);
    if (stage->blocked.first != POOL_NONE)
        stage_let_in(e, stage);
    if (instance->state == INSTANCE_LEAVING && !instance->busy &&
        instance->queue.first == POOL_NONE)
        fleet_idle(e, number);
}

void stage_quit(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    uint32_t instance = t->instance;

    if (t->flags & TRY_QUEUED) {
        unqueue(e, number);
        if (e->stages[e->instances[instance].stage].blocked.first != POOL_NONE)
            stage_let_in(e, &e->stages[e->instances[instance].stage]);
    } else if (t->flags & TRY_BLOCKED) {
        unblock(e, &e->stages[step_of(e, t)->stage], number);
        client_unblocked(e, t->source);
    } else if (t->flags & TRY_SERVED) {
        t->flags &= ~TRY_SERVED;
        line_remove(e, &e->instances[instance].served, number);
        stage_release(e, instance);
    }
}

static bool fails(struct engine *e, const struct stage *stage)
{
    double share = stage->s->fails;

    return share > 0 && (share >= 1 || random_uniform(&e->random) < share);
}

/* Does its work go on where it is? */
static bool goes_on_here(const struct engine *e, const struct try *t)
{
    const struct scenario_kind *kind = kind_of(e, t);
    const struct scenario_step *step = &kind->steps[t->step];

    return !step->holds && t->step + 1 < kind->n_steps && t->step + 1 != kind->reply_after &&
           step[1].stage == step->stage;
}

/* The leaver moves on before the one that waited for its server begins. */
void stage_served(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct stage *stage = stage_of(e, t);
    uint32_t instance = t->instance;

    t->flags &= ~TRY_SERVED;
    line_remove(e, &e->instances[instance].served, number);
    stage->served++;
    stage->served_s += t->time_s;
    if (fails(e, stage)) {
        piece_at(e, t->work)->done &= (uint16_t) ~(1u << e->instances[instance].stage);
        work_fails(e, number, FAILURE_STEP);
    } else if (goes_on_here(e, t)) {
        t->step++;
        if (kind_of(e, t)->expired == EXPIRED_SKIPPED && is_late(e, t)) {
            work_fails(e, number, FAILURE_SKIPPED);
        } else {
            work_calls(e, t);
            stage_serve(e, number);
            return;
        }
    } else if (step_of(e, t)->holds) {
        t->calls[t->step++].instance = instance;
        work_advance(e, number);
        return;
    } else {
        t->step++;
        work_advance(e, number);
    }
    stage_release(e, instance);
}
