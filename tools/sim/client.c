/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients: what they want, how long they wait for it, and whether they try again.
 */
#include <math.h>

#include "tools/sim/engine.h"

/* -- a piece of work and its tries -- */

static double deadline_s(const struct engine *e, const struct piece *p)
{
    return e->scenario->kinds[p->kind].deadline_s;
}

/* Until a try is given up; INFINITY: never. */
static double patience_s(const struct engine *e, const struct piece *p)
{
    double s = e->scenario->clients.timeout_s;

    if (s <= 0)
        s = deadline_s(e, p);
    return s > 0 ? s : INFINITY;
}

static void plan_end_of_try(struct engine *e, uint32_t number, uint32_t try)
{
    const struct piece *p = piece_at(e, number);
    const struct try *t = try_at(e, try);
    double patience = patience_s(e, p);

    if (patience < INFINITY)
        engine_put(e, p->try_s + patience, DUE_GIVE_UP, number, p->generation);
    if (p->try == try && kind_of(e, t)->expired == EXPIRED_REMOVED && t->late_s < INFINITY &&
        deadline_s(e, p) != patience)
        engine_put(e, t->late_s, DUE_LATE, try, t->generation);
}

void client_try(struct engine *e, uint32_t number)
{
    struct piece *p = piece_at(e, number);
    uint32_t try = work_take(e), generation = ++p->generation;
    struct try *t;

    if (try == POOL_NONE)
        return;
    t = try_at(e, try);
    record_attempt(e->record);
    p->tries++;
    p->live++;
    p->try = try;
    p->try_s = e->now_s;
    t->piece = t->work = number;
    t->source = p->source;
    t->kind = p->kind;
    t->late_s = deadline_s(e, p) > 0 ? e->now_s + deadline_s(e, p) : INFINITY;
    door_ask(e, try);
    if (p->generation == generation) /* it may have its answer */
        plan_end_of_try(e, number, try);
}

static void drop(struct engine *e, uint32_t number)
{
    if (!pool_put(&e->pieces, number))
        e->failed = true;
}

void client_forgets(struct engine *e, uint32_t number)
{
    struct piece *p = piece_at(e, number);

    if (--p->live == 0 && p->ended)
        drop(e, number);
}

static void next_of_loop(struct engine *e, const struct piece *p)
{
    const struct scenario_arrivals *a = e->sources[p->source].arrivals;

    if (a->shape == ARRIVE_CLOSED)
        engine_put(e, e->now_s + draw_time_s(&e->random, &a->think, e->sources[p->source].n),
                   DUE_CLIENT, p->source, p->loop);
}

static void end(struct engine *e, uint32_t number, enum record_end how)
{
    struct piece *p = piece_at(e, number);

    record_end(e->record, &(struct record_ending){.kind = p->kind,
                                                  .end = how,
                                                  .latency_s = e->now_s - p->try_s,
                                                  .first_s = e->now_s - p->first_s,
                                                  .deadline_s = deadline_s(e, p)});
    p->generation++;
    p->ended = true;
    e->open--;
    next_of_loop(e, p);
    if (!p->live)
        drop(e, number);
}

static void try_again_or_end(struct engine *e, uint32_t number, enum record_end how,
                             uint32_t retry_after_s)
{
    const struct scenario_clients *c = &e->scenario->clients;
    struct piece *p = piece_at(e, number);
    double pause_s;

    if (p->tries >= c->tries) {
        end(e, number, how);
        return;
    }
    pause_s = draw_backoff_s(&e->random, c, p->tries - 1);
    if (c->retry_after && pause_s < retry_after_s)
        pause_s = retry_after_s;
    if (c->give_up_s > 0 && e->now_s + pause_s > p->first_s + c->give_up_s) {
        end(e, number, how);
        return;
    }
    engine_put(e, e->now_s + pause_s, DUE_TRY, number, ++p->generation);
}

/* -- answers -- */

void client_hears(struct engine *e, uint32_t number)
{
    const struct piece *p = piece_at(e, number);
    double limit_s = deadline_s(e, p);
    bool late = limit_s > 0 && e->now_s - p->try_s > limit_s + ENGINE_SAME_S;

    if (p->answer == ANSWER_DONE)
        end(e, number, late ? END_LATE : END_USEFUL);
    else
        try_again_or_end(e, number, p->worked ? END_UNFINISHED : END_REFUSED, p->retry_after_s);
}

void client_answer(struct engine *e, uint32_t number, const struct reply *reply)
{
    struct piece *p = piece_at(e, number);
    double rtt_s = e->scenario->clients.rtt_s;

    p->try = POOL_NONE;
    p->answer = (uint8_t)reply->answer;
    p->worked = reply->worked;
    p->retry_after_s = reply->retry_after_s;
    if (rtt_s > 0)
        engine_put(e, e->now_s + rtt_s, DUE_ANSWER, number, p->generation);
    else
        client_hears(e, number);
}

void client_gives_up(struct engine *e, uint32_t number)
{
    struct piece *p = piece_at(e, number);
    uint32_t try = p->try;

    p->try = POOL_NONE;
    if (try != POOL_NONE)
        work_abandoned(e, try);
    try_again_or_end(e, number, END_UNFINISHED, 0);
}

/* -- arrivals -- */

static void begin_piece(struct engine *e, uint32_t source, uint32_t kind, uint32_t loop)
{
    struct source *s = &e->sources[source];
    uint32_t number = pool_take(&e->pieces), population = s->arrivals->population;
    uint64_t address = s->arrivals->shape == ARRIVE_CLOSED ? loop : s->n - 1;
    struct piece *p;
    uint32_t generation;

    if (number == POOL_NONE) {
        e->failed = true;
        return;
    }
    p = piece_at(e, number);
    generation = p->generation;
    *p = (struct piece){.first_s = e->now_s,
                        .generation = generation,
                        .try = POOL_NONE,
                        .address = (uint32_t)(population ? address % population : address),
                        .loop = loop,
                        .source = (uint16_t)source,
                        .kind = (uint16_t)kind};
    e->open++;
    record_offered(e->record);
    client_try(e, number);
}

static void plan_arrival(struct engine *e, uint32_t source, double from_s)
{
    struct source *s = &e->sources[source];
    double at_s = draw_next_arrival_s(&e->random, s->arrivals, from_s, s->n);

    s->planned = true;
    if (at_s < e->now_s) /* a producer that waited has fallen behind its list */
        at_s = e->now_s;
    if (at_s < e->scenario->duration_s)
        engine_put(e, at_s, DUE_ARRIVAL, source, 0);
}

void client_arrival(struct engine *e, uint32_t source)
{
    struct source *s = &e->sources[source];
    uint32_t kind;

    if (s->blocked) { /* an earlier piece of it tries again, and found no place */
        s->held = true;
        return;
    }
    s->planned = false;
    s->n++;
    if (!s->arrivals->blocks)
        plan_arrival(e, source, e->now_s);
    kind = draw_kind(&e->random, e->scenario, s->arrivals);
    begin_piece(e, source, kind, 0);
    if (s->arrivals->blocks && !s->blocked)
        plan_arrival(e, source, e->now_s);
}

void client_unblocked(struct engine *e, uint32_t source)
{
    struct source *s = &e->sources[source];

    if (--s->blocked)
        return;
    if (!s->planned)
        plan_arrival(e, source, e->now_s);
    else if (s->held && e->now_s < e->scenario->duration_s)
        engine_put(e, e->now_s, DUE_ARRIVAL, source, 0);
    s->held = false;
}

void client_loop(struct engine *e, uint32_t source, uint32_t client)
{
    struct source *s = &e->sources[source];
    const struct scenario_arrivals *a = s->arrivals;

    if (e->now_s >= e->scenario->duration_s || e->now_s >= a->stop_s ||
        (a->count && s->n >= a->count))
        return;
    s->n++;
    begin_piece(e, source, draw_kind(&e->random, e->scenario, a), client);
}

void clients_start(struct engine *e)
{
    for (uint32_t i = 0; i < e->scenario->n_arrivals; i++) {
        const struct scenario_arrivals *a = e->sources[i].arrivals;

        if (a->shape != ARRIVE_CLOSED)
            plan_arrival(e, i, a->start_s);
        for (uint32_t k = 0; a->shape == ARRIVE_CLOSED && k < a->clients; k++)
            engine_put(e, a->start_s, DUE_CLIENT, i, k);
    }
}
