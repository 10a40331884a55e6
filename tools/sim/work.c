/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A try from step to step, with the calls that are made again and the servers that are kept until
 * the reply.
 */
#include <math.h>

#include "tools/sim/engine.h"

uint32_t work_take(struct engine *e)
{
    uint32_t number = pool_take(&e->tries);
    struct try *t;
    uint32_t generation;

    if (number == POOL_NONE) {
        e->failed = true;
        return number;
    }
    t = try_at(e, number);
    generation = t->generation;
    *t = (struct try){
        .generation = generation, .piece = POOL_NONE, .work = POOL_NONE, .instance = POOL_NONE};
    for (uint32_t i = 0; i < e->steps; i++)
        t->calls[i] = (struct call){.instance = POOL_NONE};
    e->live++;
    return number;
}

void work_drop(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);

    t->generation++;
    if (t->flags & TRY_CLOSING) {
        t->flags |= TRY_OVER;
        return;
    }
    e->live--;
    if (t->work != POOL_NONE)
        client_forgets(e, t->work);
    if (!pool_put(&e->tries, number))
        e->failed = true;
}

/* Servers kept by steps from `first` on. */
static void release_kept(struct engine *e, uint32_t number, uint32_t first)
{
    if (!e->holds)
        return;
    for (uint32_t i = first; i < e->steps; i++) {
        uint32_t instance = try_at(e, number)->calls[i].instance;

        if (instance == POOL_NONE)
            continue;
        try_at(e, number)->calls[i].instance = POOL_NONE;
        stage_release(e, instance);
    }
}

/* Its client hears of it, and it is no more. */
static void end(struct engine *e, uint32_t number, const struct reply *reply)
{
    uint32_t piece = try_at(e, number)->piece;

    if (piece != POOL_NONE)
        client_answer(e, piece, reply);
    release_kept(e, number, 0);
    work_drop(e, number);
}

/* What may be called again is a share of what is called the first time, and is saved up to a
 * reserve. */
void work_calls(struct engine *e, const struct try *t)
{
    const struct scenario_step *s = &kind_of(e, t)->steps[t->step];
    struct budget *budget = &e->budgets[t->kind * e->steps + t->step];
    int64_t most = llround(s->reserve * MILLIONTHS);

    if (s->budget < 0 || t->calls[t->step].retries)
        return;
    budget->tokens += llround(s->budget * MILLIONTHS);
    if (budget->tokens > most)
        budget->tokens = most;
}

void work_advance(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    const struct scenario_kind *kind = kind_of(e, t);

    if (t->step >= kind->reply_after && !(t->flags & TRY_ANSWERED)) {
        t->flags |= TRY_ANSWERED;
        door_leave(e, number, OUTCOME_FINISHED, false);
        if (t->step < kind->n_steps)
            release_kept(e, number, 0);
    }
    if (t->step == kind->n_steps) {
        end(e, number, &(struct reply){.answer = ANSWER_DONE});
    } else if (kind->expired == EXPIRED_SKIPPED && is_late(e, t)) {
        work_fails(e, number, FAILURE_SKIPPED);
    } else {
        work_calls(e, t);
        stage_enter(e, number);
    }
}

/* -- calls that are made again -- */

static bool pay_for_retry(struct engine *e, const struct try *t, uint32_t step)
{
    const struct scenario_step *s = &kind_of(e, t)->steps[step];
    struct budget *budget = &e->budgets[t->kind * e->steps + step];

    if (s->budget < 0)
        return true;
    if (budget->tokens < MILLIONTHS)
        return false;
    budget->tokens -= MILLIONTHS;
    return true;
}

/* The nearest step that may be called again; n_steps: none. */
static uint32_t find_retry(struct engine *e, const struct try *t)
{
    const struct scenario_kind *kind = kind_of(e, t);

    for (uint32_t i = t->step + 1; i-- > 0;)
        if (t->calls[i].retries + 1 < kind->steps[i].tries && pay_for_retry(e, t, i))
            return i;
    return kind->n_steps;
}

void work_fails(struct engine *e, uint32_t number, enum failure failure)
{
    struct try *t = try_at(e, number);
    const struct scenario_kind *kind = kind_of(e, t);
    uint32_t again = failure == FAILURE_SKIPPED ? kind->n_steps : find_retry(e, t);

    if (again < kind->n_steps) {
        t->calls[again].retries++;
        for (uint32_t i = again + 1; i < kind->n_steps; i++)
            t->calls[i].retries = 0;
        t->step = again;
        release_kept(e, number, again);
        work_advance(e, number);
        return;
    }
    door_leave(e, number, failure == FAILURE_LOST ? OUTCOME_RESET : OUTCOME_FINISHED, true);
    /* Who was turned away at the first queue has cost nobody anything. */
    end(e, number,
        &(struct reply){.answer = ANSWER_FAILED,
                        .worked = failure != FAILURE_FULL || t->flags & TRY_WORKED});
}

/* -- those who are late, or alone -- */

/* Nobody is told: who waits for it will give up. */
static void vanish(struct engine *e, uint32_t number)
{
    uint32_t piece = try_at(e, number)->piece;

    if (piece != POOL_NONE)
        piece_at(e, piece)->try = POOL_NONE;
    door_leave(e, number, OUTCOME_ABORTED, false);
    stage_quit(e, number);
    release_kept(e, number, 0);
    work_drop(e, number);
}

void work_is_late(struct engine *e, uint32_t number)
{
    vanish(e, number);
}

/* What has reached a service is done there, unless that looks whether it is late. */
void work_abandoned(struct engine *e, uint32_t number)
{
    const uint32_t served = TRY_QUEUED | TRY_SERVED;
    struct try *t = try_at(e, number);

    t->piece = POOL_NONE;
    if (!(t->flags & served) || (kind_of(e, t)->expired == EXPIRED_REMOVED && is_late(e, t)))
        vanish(e, number);
}
