/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/property/random.h"
#include "tests/property/service_model.h"

#define PERIOD_NS (50 * MS)
#define ALPHA_PPM 10000

static double uniform(uint64_t *seed)
{
    return ((double)(random_u64(seed) >> 11) + .5) / 9007199254740992.;
}

double model_capacity(const struct setup *s)
{
    return s->slots / s->service_s;
}

static uint64_t draw_service_ns(struct model *m)
{
    const struct setup *s = &m->setup;
    double body_s = s->service_s / (1 + s->tail_share * (s->tail_factor - 1));
    double tail = uniform(&m->service_seed) < s->tail_share ? s->tail_factor : 1;
    double u = uniform(&m->service_seed);
    double service_s =
        s->spread > 0 ? s->service_s * (1 + s->spread * (2 * u - 1)) : -log(u) * body_s * tail;

    return (uint64_t)(service_s * m->slowness * S);
}

static void schedule_arrival(struct model *m)
{
    double gap_s = -log(uniform(&m->arrival_seed)) / (m->setup.load * model_capacity(&m->setup));

    m->next_arrival_ns = m->now_ns + 1 + (uint64_t)(gap_s * S);
}

static void start(struct model *m, uint64_t arrived_ns)
{
    struct server *server = m->servers;

    while (server->busy)
        server++;
    *server = (struct server){true, arrived_ns, m->now_ns, m->now_ns + draw_service_ns(m)};
    if (m->now_ns < m->stalled_until_ns)
        server->ends_ns += m->stalled_until_ns - m->now_ns;
    m->busy++;
    m->tally.admitted++;
}

/* Before a slot is taken the deadline is looked at again. */
static bool still_kept(const struct model *m, uint64_t arrived_ns)
{
    uint64_t gone_ns = m->now_ns - arrived_ns;

    if (m->setup.no_check)
        return true;
    return gone_ns < m->setup.deadline_ns &&
           __atomic_load_n(&m->promise.service_ns, __ATOMIC_RELAXED) <=
               m->setup.deadline_ns - gone_ns;
}

static void release_waiters(struct model *m)
{
    while (m->busy < m->setup.slots && m->waiting) {
        uint64_t arrived_ns = m->queue[m->head];

        m->head = (m->head + 1) % PLACES;
        m->waiting--;
        if (still_kept(m, arrived_ns))
            start(m, arrived_ns);
    }
}

static void arrive(struct model *m)
{
    bool kept = m->setup.no_check || promise_kept(&m->promise, m->waiting, m->setup.deadline_ns);

    m->tally.offered++;
    if (!kept)
        kept = m->waiting < PLACES && promise_sample(&m->promise, m->now_ns);
    if (kept && m->busy < m->setup.slots && m->waiting == 0)
        start(m, m->now_ns);
    else if (kept && m->waiting < PLACES)
        m->queue[(m->head + m->waiting++) % PLACES] = m->now_ns;
    schedule_arrival(m);
}

static void finish(struct model *m, struct server *server)
{
    histogram_add(&m->completed, m->now_ns - server->started_ns);
    m->completions++;
    if (m->now_ns - server->arrived_ns <= m->setup.deadline_ns)
        m->tally.useful++;
    else
        m->tally.late++;
    server->busy = false;
    m->busy--;
    release_waiters(m);
    if (m->busy < m->setup.slots)
        m->was_full = false;
}

static void step(struct model *m)
{
    struct promise_rules rules = {.deadline_ns = m->setup.deadline_ns, .alpha_ppm = ALPHA_PPM};
    struct promise_age ages[SLOTS_MAX];
    struct promise_seen seen = {.completed = &m->completed,
                                .ages = ages,
                                .completions = m->completions,
                                .useful = m->setup.no_feedback ? 0 : m->tally.useful,
                                .late = m->setup.no_feedback ? 0 : m->tally.late,
                                .window_was_full = m->was_full};

    for (unsigned i = 0; i < m->setup.slots; i++)
        if (m->servers[i].busy && !m->setup.no_ages)
            ages[seen.n_ages++] = (struct promise_age){m->now_ns - m->servers[i].started_ns, 1};
    promise_control_step(&m->control, &rules, &seen, m->now_ns, &m->promise);
    m->was_full = m->busy == m->setup.slots;
    m->next_step_ns += PERIOD_NS;
}

static struct server *next_to_finish(struct model *m)
{
    struct server *next = NULL;

    for (unsigned i = 0; i < m->setup.slots; i++)
        if (m->servers[i].busy && (!next || m->servers[i].ends_ns < next->ends_ns))
            next = &m->servers[i];
    return next;
}

void model_init(struct model *m, const struct setup *setup, uint64_t seed)
{
    memset(m, 0, sizeof(*m));
    m->setup = *setup;
    m->arrival_seed = seed;
    m->service_seed = ~seed;
    m->slowness = 1;
    m->now_ns = m->next_step_ns = 100 * S;
    schedule_arrival(m);
}

struct tally model_run(struct model *m, uint64_t for_ns)
{
    struct tally before = m->tally;
    uint64_t until_ns = m->now_ns + for_ns;

    for (;;) {
        struct server *server = next_to_finish(m);
        uint64_t ends_ns = server ? server->ends_ns : UINT64_MAX;
        uint64_t next_ns =
            m->next_arrival_ns < m->next_step_ns ? m->next_arrival_ns : m->next_step_ns;

        next_ns = ends_ns < next_ns ? ends_ns : next_ns;
        if (next_ns > until_ns)
            break;
        m->now_ns = next_ns;
        if (next_ns == ends_ns)
            finish(m, server);
        else if (next_ns == m->next_step_ns)
            step(m);
        else
            arrive(m);
    }
    m->now_ns = until_ns;
    return (struct tally){m->tally.offered - before.offered, m->tally.admitted - before.admitted,
                          m->tally.useful - before.useful, m->tally.late - before.late};
}

void model_stall(struct model *m, uint64_t for_ns)
{
    m->stalled_until_ns = m->now_ns + for_ns;
    for (unsigned i = 0; i < m->setup.slots; i++)
        m->servers[i].ends_ns += for_ns;
}

double tally_broken(struct tally t)
{
    return t.useful + t.late ? (double)t.late / (double)(t.useful + t.late) : 0;
}
