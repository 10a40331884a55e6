/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "dataplane/admission/shed_control.h"

#define NS_PER_S       1e9
#define FAST_SIGMAS    3.0
#define FAST_SHARE     0.1 /* real arrivals are burstier than Poisson's: smaller steps are averaged */
#define DOUBT_SIGMAS   1.4
#define ENGAGE_SIGMAS  3.0
#define PI_DECAY       (1.0 / 64)
#define SHED_CLASS_MAX CLASS_CRITICAL /* classes below this one may be shed */

/* What one step hands from part to part. */
struct period {
    uint64_t dt_ns;
    double dt_s;
    double capacity; /* 0: unknown */
    bool forgot;     /* it was known until now */
    bool stepped_up[CLASS_MAX];
};

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

uint32_t shed_probability(double p)
{
    if (!(p > 0))
        return 0;
    return p >= 1 ? UINT32_MAX : (uint32_t)(p * 4294967296.0);
}

void shed_control_init(struct shed_control *control)
{
    memset(control, 0, sizeof(*control));
}

/* Adds what was counted at `per_s` for `dt_s`. A plain mean until the horizon, then exponential. */
static void mean_add(struct shed_mean *m, double per_s, double dt_s, double horizon_s)
{
    double span_s = m->span_s + dt_s;

    m->per_s += (per_s - m->per_s) * dt_s / span_s;
    m->span_s = span_s < horizon_s ? span_s : horizon_s;
}

/* A counter that starts anew is no burst of 2^64. */
static uint64_t counted(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/*
 * Whether the short mean tells of a step; if it only raises a doubt, the long one grows no longer.
 * The variance is that of an exponential mean of Poisson arrivals; a single one after silence is no
 * step.
 */
static bool class_stepped(struct shed_class *c, double fast_s, double dt_s)
{
    double variance = (c->rate.per_s + 1 / fast_s) / (2 * fast_s);
    double difference = c->fast.per_s - c->rate.per_s, least = FAST_SHARE * c->rate.per_s;
    double square = difference * difference;

    if (square > FAST_SIGMAS * FAST_SIGMAS * variance && square > least * least)
        return true;
    if (square > DOUBT_SIGMAS * DOUBT_SIGMAS * variance && c->rate.span_s > c->fast.span_s)
        c->rate.span_s -= dt_s;
    return false;
}

/* Takes in `n` attempts. True when the rate has just stepped up. */
static bool class_observe(struct shed_class *c, uint64_t n, double dt_s)
{
    double now = (double)n / dt_s, before;
    double fast_s = clamp(SHED_FAST_SAMPLE / (c->rate.per_s + 1), SHED_FAST_MIN_S, SHED_FAST_MAX_S);

    mean_add(&c->fast, now, dt_s, fast_s);
    mean_add(&c->rate, now, dt_s, SHED_RATE_S);
    mean_add(&c->slow, now, dt_s, SHED_SLOW_S);
    if (!class_stepped(c, fast_s, dt_s))
        return false;
    before = c->rate.per_s;
    c->rate = c->fast;
    return c->rate.per_s > before;
}

static void observe(struct shed_control *s, const struct shed_sample *sample, struct period *period)
{
    for (int c = 0; c < CLASS_MAX; c++) {
        uint64_t n = counted(sample->offered[c], s->classes[c].offered);

        period->stepped_up[c] = class_observe(&s->classes[c], n, period->dt_s);
        s->classes[c].offered = sample->offered[c];
        s->seen += n;
    }
    s->seen_ns += period->dt_ns;
}

static bool sheds(const struct shed_control *s)
{
    bool engaged = s->pi > 0;

    for (int c = 0; c < SHED_CLASS_MAX; c++)
        engaged |= s->classes[c].engaged;
    return engaged;
}

/* The service completes what it is let have, and has slots free: perhaps it can do more. */
static void try_more(struct shed_control *s, double dt_s)
{
    double most = s->done.per_s * SHED_LEARN_MORE;
    double grown = s->learnt.per_s * (1 + SHED_LEARN_GROWTH * dt_s);

    if (s->learnt.per_s < most)
        s->learnt.per_s = grown < most ? grown : most;
}

/* Completions a second while the window was full are what the service can do. Where room is
 * reserved a window that is not full says nothing. */
static void learn(struct shed_control *s, const struct shed_rules *rules,
                  const struct shed_sample *sample, const struct period *period)
{
    uint64_t n = counted(sample->completed, s->completed);

    s->completed = sample->completed;
    mean_add(&s->done, (double)n / period->dt_s, period->dt_s, SHED_DONE_S);
    if (sample->window_was_full) {
        mean_add(&s->learnt, (double)n / period->dt_s, period->dt_s, SHED_RATE_S);
        s->learnt_from += n;
        s->untested_ns = 0;
    } else if (sheds(s)) {
        s->untested_ns += period->dt_ns;
        if (rules->reserve_per_s == 0)
            try_more(s, period->dt_s);
    }
    if (s->untested_ns < SHED_LEARN_KEEP_NS)
        return;
    s->learnt = (struct shed_mean){0};
    s->learnt_from = 0;
    s->untested_ns = 0;
}

static double capacity(const struct shed_control *s, const struct shed_rules *rules)
{
    if (rules->capacity_per_s > 0)
        return rules->capacity_per_s;
    if (s->learnt.span_s < SHED_LEARN_S || s->learnt_from < SHED_LEARN_SAMPLE)
        return 0;
    return s->learnt.per_s;
}

/* Whether the class's rate is above what it may have, as sure as its noise allows. */
static bool engages(const struct shed_class *c, double budget, bool stepped_up)
{
    double excess = c->rate.per_s - budget;

    if (excess <= 0)
        return false;
    return c->engaged || stepped_up ||
           excess * excess > ENGAGE_SIGMAS * ENGAGE_SIGMAS * c->rate.per_s / c->rate.span_s;
}

static void feed_forward(struct shed_control *s, const struct shed_rules *rules,
                         const struct period *period)
{
    double higher = 0, spill = 0;

    for (int c = 0; c < CLASS_MAX; c++)
        higher += s->classes[c].slow.per_s;
    for (int c = 0; c < SHED_CLASS_MAX; c++) {
        struct shed_class *one = &s->classes[c];
        double budget, p;

        higher -= one->slow.per_s;
        budget = period->capacity - rules->reserve_per_s - higher - spill;
        budget = budget > 0 ? budget : 0;
        one->engaged = period->capacity > 0 && engages(one, budget, period->stepped_up[c]);
        p = one->engaged ? 1 - budget / one->rate.per_s : 0;
        s->p[c] = p < rules->ceiling ? p : rules->ceiling;
        spill += (p - s->p[c]) * one->rate.per_s;
    }
}

static double total_rate(const struct shed_control *s)
{
    double sum = 0;

    for (int c = 0; c < CLASS_MAX; c++)
        sum += s->classes[c].rate.per_s;
    return sum;
}

/* The load shed now, per second. */
static double shed_load(const struct shed_control *s)
{
    double sum = 0;

    for (int c = 0; c < SHED_CLASS_MAX; c++)
        sum += s->p[c] * s->classes[c].rate.per_s;
    return sum;
}

/* The load that the ceilings leave to shed, per second. */
static double room(const struct shed_control *s, const struct shed_rules *rules)
{
    double sum = 0;

    for (int c = 0; c < SHED_CLASS_MAX; c++)
        sum += (rules->ceiling - s->p[c]) * s->classes[c].rate.per_s;
    return sum;
}

/* Where nothing is reserved the queue may have what feed-forward sheds too much. */
static bool fills_queue(const struct shed_rules *rules, const struct period *period)
{
    return rules->reserve_per_s == 0 && period->capacity > 0;
}

/* Moves x. `mu` is the capacity, or the offered rate where that is unknown. */
static void integrate(struct shed_control *s, const struct shed_rules *rules,
                      const struct shed_sample *sample, const struct period *period, double mu)
{
    double d = (double)sample->head_age_ns / NS_PER_S, before = (double)s->head_age_ns / NS_PER_S;
    bool fills = fills_queue(rules, period);
    double d_ref = rules->wait_age_s / (fills ? 3 : 5);
    double e = clamp(d - d_ref, -d_ref, 5 * d_ref);
    double least = fills ? -clamp(shed_load(s) / mu, 0, SHED_SLACK) : 0;

    s->stood_ns = d >= d_ref ? s->stood_ns + period->dt_ns : 0;
    if (!sheds(s) && s->stood_ns < SHED_STAND_NS) {
        s->pi = 0;
        return;
    }
    s->pi += (SHED_STEP * e + SHED_GAIN * (d - before)) / period->dt_s;
    if (sample->head_age_ns == 0 && s->head_age_ns == 0 && s->pi > 0)
        s->pi -= s->pi * PI_DECAY;
    s->pi = clamp(s->pi, least, room(s, rules) / mu);
}

/* Takes `load` a second from the lowest class that has room, then from the next. */
static void take(struct shed_control *s, const struct shed_rules *rules, double load)
{
    for (int c = 0; c < SHED_CLASS_MAX && load > 0; c++) {
        double rate = s->classes[c].rate.per_s;
        double part = (rules->ceiling - s->p[c]) * rate;

        part = part < load ? part : load;
        if (rate > 0)
            s->p[c] += part / rate;
        load -= part;
    }
}

/* Gives `load` a second back to the highest class that sheds, then to the next. */
static void give(struct shed_control *s, double load)
{
    for (int c = SHED_CLASS_MAX - 1; c >= 0 && load > 0; c--) {
        double rate = s->classes[c].rate.per_s;
        double part = s->p[c] * rate;

        part = part < load ? part : load;
        if (rate > 0)
            s->p[c] -= part / rate;
        load -= part;
    }
}

static void decide(struct shed_control *s, const struct shed_rules *rules,
                   const struct shed_sample *sample, struct period *period)
{
    double mu = period->capacity > 0 ? period->capacity : total_rate(s);

    if (s->seen_ns < SHED_COLD_NS || s->seen < SHED_COLD_SAMPLE)
        return;
    if (period->forgot && mu > 0)
        s->pi = shed_load(s) / mu;
    feed_forward(s, rules, period);
    if (rules->wait_age_s > 0 && mu > 0)
        integrate(s, rules, sample, period, mu);
    else
        s->pi = 0;
    take(s, rules, s->pi * mu);
    give(s, -s->pi * mu);
}

static uint64_t next_period_ns(double per_s)
{
    return per_s > 0 ? (uint64_t)clamp(SHED_PERIOD_SAMPLE * NS_PER_S / per_s,
                                       (double)SHED_PERIOD_MIN_NS, (double)SHED_PERIOD_MAX_NS)
                     : SHED_PERIOD_MAX_NS;
}

static void step(struct shed_control *s, const struct shed_rules *rules,
                 const struct shed_sample *sample, uint64_t dt_ns)
{
    struct period period = {.dt_ns = dt_ns, .dt_s = (double)dt_ns / NS_PER_S};
    bool known = capacity(s, rules) > 0;

    observe(s, sample, &period);
    learn(s, rules, sample, &period);
    period.capacity = capacity(s, rules);
    period.forgot = known && period.capacity == 0;
    decide(s, rules, sample, &period);
}

static void start(struct shed_control *s, const struct shed_sample *sample)
{
    for (int c = 0; c < CLASS_MAX; c++)
        s->classes[c].offered = sample->offered[c];
    s->completed = sample->completed;
}

void shed_control_step(struct shed_control *s, const struct shed_rules *rules,
                       const struct shed_sample *sample, uint64_t now_ns, struct shed_output *out)
{
    if (!s->started)
        start(s, sample);
    else if (now_ns > s->last_ns)
        step(s, rules, sample, now_ns - s->last_ns);
    if (!s->started || now_ns > s->last_ns) {
        s->last_ns = now_ns;
        s->head_age_ns = sample->head_age_ns;
    }
    s->started = true;
    for (int c = 0; c < CLASS_MAX; c++) {
        out->p[c] = shed_probability(s->p[c]);
        out->rate_per_s[c] = s->classes[c].rate.per_s;
    }
    out->capacity_per_s = capacity(s, rules);
    out->period_ns = next_period_ns(total_rate(s));
    out->by_attempt = sample->clients < SHED_CLIENTS_FEW;
}
