/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run consists of, and what its parts ask of each other: clients begin pieces of work and
 * try them (client.c), a try passes the gate (door.c), goes from step to step (work.c) through the
 * queues and servers of stages (stage.c), whose instances come and go (fleet.c). run.c turns the
 * clock. Private to the engine and its tests; one thread.
 */
#ifndef SLUICE_SIM_ENGINE_H
#define SLUICE_SIM_ENGINE_H

#include "tools/scenario/draw.h"
#include "tools/sim/agenda.h"
#include "tools/sim/gate.h"
#include "tools/sim/pool.h"
#include "tools/sim/record.h"

/* Two times that far apart are one: half of what the gate's clock tells apart. */
#define ENGINE_SAME_S .5e-9
/* A run that has not ended by itself after so many times its duration is cut. */
#define ENGINE_LONGEST 10

/* Events, and whose they are. */
enum due {
    /* clients */
    DUE_ARRIVAL, /* source */
    DUE_CLIENT,  /* source, generation: client: of a closed loop, its next piece */
    DUE_TRY,     /* piece */
    DUE_GIVE_UP, /* piece */
    DUE_ANSWER,  /* piece */
    /* the gate */
    DUE_FIRST,   /* try: the first request of a connection that was let in */
    DUE_CONFIRM, /* try: the client has heard that its connection is open, and asks */
    DUE_CLOSED,  /* try: its connection */
    DUE_WAITED,  /* try: as long as anybody may */
    DUE_TIDY,    /* worker */
    DUE_SURVEY,
    DUE_CONTROL,
    /* stages */
    DUE_SERVED,   /* try: its step is done */
    DUE_LATE,     /* try: is removed */
    DUE_INCIDENT, /* event of the scenario */
    DUE_RELIEF,   /* it is over */
    DUE_SCALING,
    DUE_READY,   /* instance */
    DUE_CHECK,   /* instance */
    DUE_CHECKED, /* try: a check that has failed */
    DUE_INTERVAL,
};

/* -- clients -- */

struct source {
    const struct scenario_arrivals *arrivals;
    uint64_t n;      /* pieces so far */
    uint32_t tenant; /* at the gate, ids */
    uint32_t service;
    uint8_t share, unit;
    uint32_t blocked; /* tries of it that wait for a place: a blocking producer waits with them */
    bool planned;     /* the time of its next piece has been drawn, */
    bool held;        /* and come while it was waiting */
};

enum answer { ANSWER_DONE, ANSWER_REFUSED, ANSWER_FAILED };

/* A piece of work, as its client sees it. */
struct piece {
    double first_s, try_s; /* its first try began, its last */
    uint32_t generation;   /* of what the client waits for */
    uint32_t try;          /* under way; POOL_NONE: none */
    uint32_t address;
    uint32_t loop;  /* client of a closed loop */
    uint32_t tries; /* so far, */
    uint32_t live;  /* and those that are not over, though it may be */
    uint16_t source, kind;
    uint16_t done; /* a bit for each stage that has worked on it */
    bool ended;
    /* Under way to the client. */
    uint8_t answer;
    bool worked; /* of an answer that says no: work was done in vain */
    uint32_t retry_after_s;
};

/* -- tries -- */

#define TRY_WAITS     0x001u  /* at the gate */
#define TRY_SLOT      0x002u  /* has a slot of the gate's, */
#define TRY_CONNECTED 0x004u  /* a place among its connections */
#define TRY_REPORTED  0x008u  /* the breaker has heard of it */
#define TRY_QUEUED    0x010u  /* in the queue of an instance, */
#define TRY_SERVED    0x020u  /* with a server of it, */
#define TRY_BLOCKED   0x040u  /* or waits for a place */
#define TRY_ANSWERED  0x080u  /* the gate has its slot back */
#define TRY_CHECK     0x100u  /* nobody's work: a liveness check */
#define TRY_WORKED    0x200u  /* some server has begun it */
#define TRY_LOST      0x400u  /* with its instance, of which it does not know yet */
#define TRY_CLOSING   0x800u  /* its reply is on its way, and its slot is kept until the last FIN */
#define TRY_FAILED    0x1000u /* of one that closes: that reply says so */
#define TRY_OVER      0x2000u /* of one that closes: there is nothing else left of it */

struct call {
    uint32_t instance; /* whose server is kept; POOL_NONE: none */
    uint32_t retries;
};

struct
try {
    uint32_t generation;
    uint32_t flags;
    uint32_t piece; /* POOL_NONE: its client has left */
    uint32_t work;  /* the piece it is, or was, a try at; POOL_NONE: a check */
    uint16_t source, kind;
    uint32_t step;
    uint32_t instance;
    uint32_t next, previous; /* in the line it stands in */
    double late_s;
    double since_s; /* it stands in its queue */
    double time_s;  /* its step takes, */
    double end_s;   /* and is done */
    /* at the gate */
    uint32_t worker, waiter;
    uint32_t next_slot, previous_slot; /* of the worker */
    struct slot slot;
    uint64_t client, flow;
    uint64_t asked_ns, slot_ns;
    struct call calls[]; /* of each step */
};

/* -- stages -- */

struct line {
    uint32_t first, last;
};

enum instance_state {
    INSTANCE_UP,
    INSTANCE_LEAVING, /* takes nothing more, and goes when it is idle */
    INSTANCE_COMING,  /* will be ready */
    INSTANCE_GONE,
};

struct instance {
    uint32_t stage;
    uint32_t generation; /* of its life */
    enum instance_state state;
    uint32_t busy; /* servers */
    uint32_t queued;
    struct line queue, served;
    uint32_t check;    /* try under way; POOL_NONE */
    uint32_t failures; /* of checks, in a row */
};

struct stage {
    const struct scenario_stage *s;
    uint32_t first, n; /* instances */
    uint32_t turn;
    uint32_t busy; /* servers, */
    double busy_s; /* and their time, until */
    double counted_s;
    uint64_t served;  /* calls, */
    double served_s;  /* and what they took */
    double factor;    /* of times */
    double stopped_s; /* until then nothing ends */
    struct line blocked;
};

/* Of a step of a kind. */
#define MILLIONTHS 1000000
struct budget {
    uint64_t calls;
    int64_t tokens; /* millionths of a retry */
};

struct engine {
    const struct scenario *scenario;
    struct record *record;
    struct random_state random;
    struct agenda agenda;
    double now_s;
    bool failed; /* out of memory */

    struct pool pieces, tries;
    uint64_t open; /* pieces that have not ended, */
    uint64_t live; /* and tries */
    uint64_t n_tries;
    uint64_t key; /* of the hashes */

    struct source *sources;
    uint32_t steps; /* of the longest kind */
    bool holds;     /* some step keeps its server */
    struct stage *stages;
    struct instance *instances;
    uint32_t n_instances;
    struct budget *budgets; /* of kind x step */
    uint64_t queued;        /* in all stages */

    struct gate *gate; /* NULL: none */
    struct gate its_gate;
    uint32_t *first_slot; /* of each worker: tries that hold one */

    double scaled_busy_s; /* at the scaler's last look, */
    uint64_t scaled_wanted;
};

/* build.c; engine_stop() in any case */
int engine_start(struct engine *e, const struct scenario *scenario, struct record *record);
void engine_stop(struct engine *e);
/* run.c */
void engine_play(struct engine *e);
void engine_put(struct engine *e, double at_s, enum due what, uint32_t subject,
                uint32_t generation);
void engine_plan_interval(struct engine *e);

static inline struct try *try_at(const struct engine *e, uint32_t number)
{
    return pool_at(&e->tries, number);
}

static inline struct piece *piece_at(const struct engine *e, uint32_t number)
{
    return pool_at(&e->pieces, number);
}

static inline const struct scenario_kind *kind_of(const struct engine *e, const struct try *t)
{
    return &e->scenario->kinds[t->kind];
}

static inline bool is_late(const struct engine *e, const struct try *t)
{
    return e->now_s + ENGINE_SAME_S >= t->late_s;
}

static inline void note_queues(struct engine *e)
{
    record_queues(e->record, e->now_s, e->gate ? e->gate->waiting_total : 0, e->queued);
}

/* client.c */
void clients_start(struct engine *e);
void client_arrival(struct engine *e, uint32_t source);
void client_loop(struct engine *e, uint32_t source, uint32_t client);
void client_try(struct engine *e, uint32_t piece);
void client_gives_up(struct engine *e, uint32_t piece);
void client_hears(struct engine *e, uint32_t piece);
/* The producer of a piece that waited for a place goes on. */
void client_unblocked(struct engine *e, uint32_t source);

/* What its try came to; the piece waits for no try from then on. `worked`: in vain, but some. */
struct reply {
    enum answer answer;
    bool worked;
    uint32_t retry_after_s; /* ANSWER_REFUSED: 0: not said */
};
/* One of its tries is over. */
void client_forgets(struct engine *e, uint32_t piece);
void client_answer(struct engine *e, uint32_t piece, const struct reply *reply);

/* door.c: a try before its work, and its slot. */
void door_ask(struct engine *e, uint32_t try);
void door_first(struct engine *e, uint32_t try);
void door_confirm(struct engine *e, uint32_t try);
void door_closed(struct engine *e, uint32_t try);
void door_poll(struct engine *e);
void door_tidy(struct engine *e, uint32_t worker);
void door_survey(struct engine *e);
/* It leaves the gate: its place in the queue, its slot, its connection, as far as it has them. */
void door_leave(struct engine *e, uint32_t try, enum outcome outcome, bool failed);

/* work.c: a try from step to step. */
uint32_t work_take(struct engine *e); /* POOL_NONE: out of memory */
void work_drop(struct engine *e, uint32_t try);
void work_advance(struct engine *e, uint32_t try);
void work_calls(struct engine *e, const struct try *t); /* a step for the first time, or again */
enum failure {
    FAILURE_FULL,
    FAILURE_STEP,    /* failed, or waited too long */
    FAILURE_LOST,    /* with its instance */
    FAILURE_SKIPPED, /* late */
};
void work_fails(struct engine *e, uint32_t try, enum failure failure);
void work_is_late(struct engine *e, uint32_t try);
void work_abandoned(struct engine *e, uint32_t try); /* by its client */

/* stage.c: queues and servers. */
void line_add(struct engine *e, struct line *line, uint32_t try, uint32_t before);
void line_remove(struct engine *e, struct line *line, uint32_t try);
void stage_enter(struct engine *e, uint32_t try);
void stage_serve(struct engine *e, uint32_t try); /* its next step, with the server it has */
void stage_served(struct engine *e, uint32_t try);
void stage_quit(struct engine *e, uint32_t try); /* wherever it stands */
void stage_release(struct engine *e, uint32_t instance);
void stage_let_in(struct engine *e, struct stage *stage); /* producers, where there are places */
void stage_count_busy(struct engine *e, struct stage *stage);

/* fleet.c: instances. */
void fleet_start(struct engine *e);
void fleet_incident(struct engine *e, uint32_t incident);
void fleet_relieved(struct engine *e, uint32_t incident);
void fleet_scale(struct engine *e);
void fleet_ready(struct engine *e, uint32_t instance);
void fleet_check(struct engine *e, uint32_t instance);
void fleet_checked(struct engine *e, uint32_t try);     /* too late */
void fleet_passed(struct engine *e, uint32_t instance); /* its check has */
void fleet_idle(struct engine *e, uint32_t instance);   /* one that is leaving */

#endif
