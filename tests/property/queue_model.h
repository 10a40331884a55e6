/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service behind a window and a bounded queue, in virtual time, with the shed controller in front
 * of it. Poisson arrivals of three classes; `slots` servers; a FIFO of `places` whose waiters are
 * dropped at release when they are older than `age_ns`. A full queue takes no alert either, so that
 * shedding alone protects it, unless `displace` lets it push out the newest waiter of a lower
 * class.
 */
#ifndef SLUICE_TESTS_QUEUE_MODEL_H
#define SLUICE_TESTS_QUEUE_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/admission/shed.h"
#include "dataplane/admission/shed_control.h"
#include "tests/property/random.h"

#define MODEL_S          1000000000ull
#define MODEL_SLOTS_MAX  128
#define MODEL_PLACES_MAX 1024
#define MODEL_RETRIES    4096 /* tries waiting for their turn */
#define MODEL_NEVER      UINT64_MAX

enum model_shedding { MODEL_STICKY, MODEL_RANDOM /* a new draw each try */, MODEL_NO_SHEDDING };

struct model_setup {
    double offered_per_s[CLASS_MAX];
    uint64_t service_ns;
    unsigned slots, places;
    uint64_t age_ns;
    bool exponential; /* service times; else all the same */
    bool displace;    /* a critical arrival takes the place of the newest lower waiter */
    bool blind;       /* the controller is never told of a full window, so it learns nothing */
    enum model_shedding shedding;
    unsigned clients;        /* of each class; those with an even number retry */
    unsigned retries;        /* after a refusal, a fixed time apart; 0: none */
    struct shed_rules rules; /* wait_age_s 0: PI off */
    uint64_t seed;
};

struct model_count {
    uint64_t offered, tries, shed, full, aged, served; /* offered: without retries */
    uint64_t waited_ns;                                /* by what was served, in sum */
    uint64_t patient, patient_shed; /* work of clients that retry; shed to the end */
    uint64_t single, single_shed;   /* of those that do not */
};

struct model_waiter {
    uint64_t since_ns;
    int class;
};

struct model_try {
    uint64_t at_ns;
    uint64_t attempt; /* the same for all its tries */
    uint32_t client;
    unsigned left;
    int class;
};

struct model {
    struct model_setup setup;
    struct shed_control control;
    struct shed_output out;
    struct shed_sample sample;
    struct model_count count[CLASS_MAX];
    uint64_t now_ns, next_step_ns;
    uint64_t arrival_ns[CLASS_MAX], ends_ns[MODEL_SLOTS_MAX], next_end_ns;
    struct model_waiter waiters[MODEL_PLACES_MAX]; /* a ring */
    struct model_try tries[MODEL_RETRIES];         /* a ring, in order of time */
    unsigned used, head, waiting, first_try, n_tries;
    unsigned most_waiting;
    uint64_t oldest_served_ns, oldest_head_ns;
    uint64_t seed;
};

static inline double model_uniform(struct model *m)
{
    return (double)((random_u64(&m->seed) >> 11) + 1) / 9007199254740992.0; /* (0, 1] */
}

static inline uint64_t model_gap_ns(struct model *m, double per_s)
{
    return per_s > 0 ? 1 + (uint64_t)(-log(model_uniform(m)) / per_s * 1e9) : MODEL_NEVER;
}

static inline void model_set_rate(struct model *m, int class, double per_s)
{
    uint64_t gap_ns = model_gap_ns(m, per_s);

    m->setup.offered_per_s[class] = per_s;
    m->arrival_ns[class] = gap_ns == MODEL_NEVER ? MODEL_NEVER : m->now_ns + gap_ns;
}

static inline void model_start(struct model *m, const struct model_setup *setup)
{
    memset(m, 0, sizeof(*m));
    m->setup = *setup;
    m->seed = setup->seed;
    m->next_end_ns = MODEL_NEVER;
    shed_control_init(&m->control);
    for (int c = 0; c < CLASS_MAX; c++)
        model_set_rate(m, c, setup->offered_per_s[c]);
}

static inline void model_find_next_end(struct model *m)
{
    m->next_end_ns = MODEL_NEVER;
    for (unsigned i = 0; i < m->used; i++)
        m->next_end_ns = m->ends_ns[i] < m->next_end_ns ? m->ends_ns[i] : m->next_end_ns;
}

static inline void model_serve(struct model *m, int class, uint64_t waited_ns)
{
    uint64_t service_ns = m->setup.service_ns;

    if (m->setup.exponential)
        service_ns = model_gap_ns(m, 1e9 / (double)service_ns);
    m->ends_ns[m->used++] = m->now_ns + service_ns;
    m->count[class].served++;
    m->count[class].waited_ns += waited_ns;
    m->oldest_served_ns = waited_ns > m->oldest_served_ns ? waited_ns : m->oldest_served_ns;
    model_find_next_end(m);
}

/* Pushes the newest waiter below `class` out of the queue. */
static inline bool model_displace(struct model *m, int class)
{
    for (unsigned i = m->waiting; i-- > 0;) {
        if (m->waiters[(m->head + i) % MODEL_PLACES_MAX].class >= class)
            continue;
        m->count[m->waiters[(m->head + i) % MODEL_PLACES_MAX].class].full++;
        for (; i + 1 < m->waiting; i++)
            m->waiters[(m->head + i) % MODEL_PLACES_MAX] =
                m->waiters[(m->head + i + 1) % MODEL_PLACES_MAX];
        m->waiting--;
        return true;
    }
    return false;
}

static inline void model_enter(struct model *m, int class)
{
    if (m->used < m->setup.slots && m->waiting == 0) {
        model_serve(m, class, 0);
    } else if (m->waiting < m->setup.places ||
               (m->setup.displace && class == CLASS_CRITICAL && model_displace(m, class))) {
        m->waiters[(m->head + m->waiting++) % MODEL_PLACES_MAX] =
            (struct model_waiter){m->now_ns, class};
        m->most_waiting = m->waiting > m->most_waiting ? m->waiting : m->most_waiting;
    } else {
        m->count[class].full++;
    }
}

static inline uint64_t model_head_age_ns(const struct model *m)
{
    return m->waiting ? m->now_ns - m->waiters[m->head % MODEL_PLACES_MAX].since_ns : 0;
}

static inline void model_end_one(struct model *m)
{
    unsigned i = 0;

    while (m->ends_ns[i] != m->now_ns)
        i++;
    m->ends_ns[i] = m->ends_ns[--m->used];
    m->sample.completed++;
    model_find_next_end(m);
    while (m->waiting > 0 && m->used < m->setup.slots) {
        uint64_t age_ns = model_head_age_ns(m);
        int class = m->waiters[m->head++ % MODEL_PLACES_MAX].class;

        m->waiting--;
        if (age_ns > m->setup.age_ns)
            m->count[class].aged++;
        else
            model_serve(m, class, age_ns);
    }
    if (m->used < m->setup.slots)
        m->sample.window_was_full = false;
}

static inline bool model_sheds(struct model *m, int class, uint64_t client)
{
    uint32_t hash = shed_hash(client, (uint32_t) class, (uint32_t)(m->now_ns / SHED_EPOCH_NS));

    if (m->setup.shedding == MODEL_NO_SHEDDING)
        return false;
    if (m->setup.shedding == MODEL_RANDOM)
        hash = (uint32_t)random_u64(&m->seed);
    return shed_hits(hash, m->out.p[class]);
}

/* One try; what is shed comes again, if its client is one that retries. */
static inline void model_try_once(struct model *m, struct model_try t)
{
    struct model_count *count = &m->count[t.class];
    bool retries = m->setup.retries > 0 && t.client % 2 == 0;

    count->tries++;
    m->sample.offered[t.class]++;
    if (!model_sheds(m, t.class, m->out.by_attempt ? t.attempt : t.client)) {
        model_enter(m, t.class);
        return;
    }
    count->shed++;
    if (t.left > 0 && m->n_tries < MODEL_RETRIES) {
        t.at_ns = m->now_ns + MODEL_S / 5;
        t.left--;
        m->tries[(m->first_try + m->n_tries++) % MODEL_RETRIES] = t;
    } else if (retries) {
        count->patient_shed++;
    } else {
        count->single_shed++;
    }
}

static inline void model_arrive(struct model *m, int class)
{
    struct model_try t = {.at_ns = m->now_ns, .class = class};
    bool retries;

    t.client = (uint32_t)random_below(&m->seed, m->setup.clients);
    t.attempt = random_u64(&m->seed);
    retries = m->setup.retries > 0 && t.client % 2 == 0;
    t.left = retries ? m->setup.retries : 0;
    m->count[class].offered++;
    m->count[class].patient += retries;
    m->count[class].single += !retries;
    m->arrival_ns[class] += model_gap_ns(m, m->setup.offered_per_s[class]);
    model_try_once(m, t);
}

static inline void model_control(struct model *m)
{
    uint64_t age_ns = model_head_age_ns(m);

    m->oldest_head_ns = age_ns > m->oldest_head_ns ? age_ns : m->oldest_head_ns;
    m->sample.head_age_ns = age_ns;
    m->sample.clients = m->setup.clients;
    m->sample.window_was_full &= !m->setup.blind;
    shed_control_step(&m->control, &m->setup.rules, &m->sample, m->now_ns, &m->out);
    m->sample.window_was_full = m->used == m->setup.slots;
    m->next_step_ns = m->now_ns + m->out.period_ns;
}

/* Runs until `until_ns`, event by event, or until a step of the controller if `one_step`. */
static inline void model_run(struct model *m, uint64_t until_ns, bool one_step)
{
    for (;;) {
        uint64_t retry_ns = m->n_tries ? m->tries[m->first_try % MODEL_RETRIES].at_ns : MODEL_NEVER;
        uint64_t next_ns = m->next_end_ns < m->next_step_ns ? m->next_end_ns : m->next_step_ns;
        int class = CLASS_BULK;

        for (int c = CLASS_NORMAL; c < CLASS_MAX; c++)
            class = m->arrival_ns[c] < m->arrival_ns[class] ? c : class;
        next_ns = m->arrival_ns[class] < next_ns ? m->arrival_ns[class] : next_ns;
        next_ns = retry_ns < next_ns ? retry_ns : next_ns;
        if (next_ns > until_ns)
            break;
        m->now_ns = next_ns;
        if (next_ns == m->next_end_ns) {
            model_end_one(m);
        } else if (next_ns == retry_ns) {
            m->n_tries--;
            model_try_once(m, m->tries[m->first_try++ % MODEL_RETRIES]);
        } else if (next_ns == m->arrival_ns[class]) {
            model_arrive(m, class);
        } else {
            model_control(m);
            if (one_step)
                return;
        }
    }
    m->now_ns = until_ns;
}

static inline double model_p(const struct model *m, int class)
{
    return m->out.p[class] / 4294967296.0;
}

static inline uint64_t model_lost(const struct model *m, int class)
{
    return m->count[class].full + m->count[class].aged;
}

#endif
