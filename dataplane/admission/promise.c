/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/promise.h"

#define NS_PER_S 1000000000ull
#define MILLION  1000000u

#define RECENT_NS 10000000000ull
#define LATELY_NS 1000000000ull
/* Lately is also no more than some completions: a change shall not wait for a second to pass. */
#define LATELY_PIECES 8u
#define PIECES_LEAST  4u  /* fewer prove nothing, */
#define BEFORE_PIECES 16u /* nor against fewer than these */

#define FULL_S        2.0 /* memory of mu, halved there */
#define FULL_PIECES   4.0 /* before that many mu is not known */
#define FULL_STALE_NS 1000000000ull

#define ALPHA_LOT_MISSES   6u /* allowed in a lot: alpha is looked at after 6 / alpha pieces */
#define ALPHA_LOWEST_PART  32u
#define ALPHA_HIGHEST_PART 4u
#define HALF_PPM           (MILLION / 2)

static void window_restart(struct promise_window *w, const struct histogram *at, uint64_t ns)
{
    for (unsigned i = 0; i < 2; i++) {
        w->start[i] = *at;
        w->since_ns[i] = ns;
    }
}

static void window_advance(struct promise_window *w, const struct histogram *now, uint64_t now_ns)
{
    w->start[0] = w->start[1];
    w->since_ns[0] = w->since_ns[1];
    w->start[1] = *now;
    w->since_ns[1] = now_ns;
}

static void windows_advance(struct promise_control *ctl, const struct histogram *completed,
                            uint64_t now_ns)
{
    struct histogram newest;

    if (now_ns - ctl->recent.since_ns[1] >= RECENT_NS / 2)
        window_advance(&ctl->recent, completed, now_ns);
    histogram_diff(&newest, completed, &ctl->lately.start[1]);
    if (now_ns - ctl->lately.since_ns[1] >= LATELY_NS / 2 ||
        histogram_count(&newest) >= LATELY_PIECES)
        window_advance(&ctl->lately, completed, now_ns);
}

/* Adds the work that has been running for `from_ns` up to, not including, `below_ns`. Seen at some
 * moment of its life it has, by the median, lived half of it: it counts with twice its age. */
static void add_running(struct histogram *h, const struct promise_seen *seen, uint64_t from_ns,
                        uint64_t below_ns)
{
    for (size_t i = 0; i < seen->n_ages; i++) {
        uint64_t age_ns = seen->ages[i].age_ns;

        if (age_ns >= from_ns && age_ns < below_ns)
            h->cells[histogram_index(2 * age_ns)] += seen->ages[i].count;
    }
}

/*
 * Adds the work that runs for at least `slow_ns` to what completed within the last `window_ns`.
 * Younger work says nothing yet. What was that slow before the window began tells of the time
 * before, and is left out where anything else is known: requests that hang for minutes do not make
 * a service slow in which others are done at once.
 */
static void add_slow(struct histogram *h, const struct promise_seen *seen, uint64_t slow_ns,
                     uint64_t window_ns)
{
    bool alone = histogram_count(h) < PIECES_LEAST;

    add_running(h, seen, slow_ns, alone ? UINT64_MAX : slow_ns + window_ns);
}

/* The sample: completed work since the window's start and, with it, the slow of what runs. */
static void sample_take(struct histogram *sample, const struct promise_control *ctl,
                        const struct promise_seen *seen, uint64_t now_ns)
{
    uint64_t quantile_ns = 0;

    histogram_diff(sample, seen->completed, &ctl->recent.start[0]);
    histogram_quantile_ns(sample, MILLION - ctl->alpha_ppm, &quantile_ns);
    add_slow(sample, seen, quantile_ns, now_ns - ctl->recent.since_ns[0]);
}

/* Is half of what happened lately outside of what almost everything was before? */
static bool has_changed(const struct promise_control *ctl, const struct promise_seen *seen,
                        uint64_t now_ns)
{
    uint64_t lately_ns = now_ns - ctl->lately.since_ns[0], low_ns, high_ns, n, below, above;
    struct histogram before, lately;

    histogram_diff(&before, &ctl->lately.start[0], &ctl->recent.start[0]);
    if (histogram_count(&before) < BEFORE_PIECES) /* all were stuck: then that is what was */
        add_running(&before, seen, lately_ns, UINT64_MAX);
    if (histogram_count(&before) < BEFORE_PIECES ||
        !histogram_quantile_ns(&before, ctl->alpha_ppm, &low_ns) ||
        !histogram_quantile_ns(&before, MILLION - ctl->alpha_ppm, &high_ns))
        return false;
    histogram_diff(&lately, seen->completed, &ctl->lately.start[0]);
    add_slow(&lately, seen, high_ns, lately_ns);
    n = histogram_count(&lately);
    below = n - histogram_from(&lately, low_ns - 1); /* not in the quantile's own cell */
    above = histogram_from(&lately, high_ns);
    return n >= PIECES_LEAST && (2 * below >= n || 2 * above >= n);
}

static void forget(struct promise_control *ctl)
{
    ctl->recent = ctl->lately;
    ctl->full_s = ctl->full_completions = 0;
}

static void learn_mu(struct promise_control *ctl, const struct promise_seen *seen, uint64_t now_ns)
{
    if (seen->window_was_full) {
        ctl->full_s += (double)(now_ns - ctl->last_ns) / NS_PER_S;
        ctl->full_completions += (double)(seen->completions - ctl->completions);
        ctl->last_full_ns = now_ns;
    } else if (now_ns - ctl->last_full_ns >= FULL_STALE_NS) {
        ctl->full_s = ctl->full_completions = 0;
    }
    if (ctl->full_s > FULL_S) {
        ctl->full_s /= 2;
        ctl->full_completions /= 2;
    }
}

/* 1 / mu, 0 if unknown. */
static uint64_t interval_ns(const struct promise_control *ctl, const struct promise_rules *rules)
{
    double seconds = 0;
    uint64_t ns;

    if (ctl->full_completions >= FULL_PIECES)
        seconds = ctl->full_s / ctl->full_completions;
    ns = (uint64_t)(seconds * NS_PER_S);
    if (ns < rules->interval_ns)
        ns = rules->interval_ns;
    return ns < PROMISE_INTERVAL_MAX_NS ? ns : PROMISE_INTERVAL_MAX_NS;
}

static void lot_restart(struct promise_control *ctl, uint64_t from_ns)
{
    ctl->lot_pieces = ctl->lot_misses = 0;
    ctl->lot_allowed = 0;
    ctl->lot_from_ns = from_ns;
}

/* `lost_ppm` of the work takes longer than the deadline by itself. */
static void calibrate(struct promise_control *ctl, const struct promise_rules *rules,
                      const struct promise_seen *seen, uint32_t lost_ppm, uint64_t now_ns)
{
    uint64_t misses = seen->late + seen->unfinished - ctl->misses;
    uint64_t pieces = seen->useful - ctl->useful + misses;
    uint32_t lowest = rules->alpha_ppm / ALPHA_LOWEST_PART;
    uint32_t highest = rules->alpha_ppm * ALPHA_HIGHEST_PART;

    if (now_ns < ctl->lot_from_ns)
        return;
    ctl->lot_pieces += pieces;
    ctl->lot_misses += misses;
    ctl->lot_allowed += (double)pieces * (rules->alpha_ppm + lost_ppm) / MILLION;
    if (ctl->lot_misses > ALPHA_LOT_MISSES && (double)ctl->lot_misses > ctl->lot_allowed) {
        ctl->alpha_ppm -= ctl->alpha_ppm / 3;
        lot_restart(ctl, now_ns + rules->deadline_ns);
    } else if (ctl->lot_pieces * rules->alpha_ppm >= (uint64_t)ALPHA_LOT_MISSES * MILLION) {
        if ((double)ctl->lot_misses * 2 < ctl->lot_allowed)
            ctl->alpha_ppm += ctl->alpha_ppm / 4 + 1;
        lot_restart(ctl, now_ns);
    }
    if (ctl->alpha_ppm > (highest < HALF_PPM ? highest : HALF_PPM))
        ctl->alpha_ppm = highest < HALF_PPM ? highest : HALF_PPM;
    if (ctl->alpha_ppm <= lowest)
        ctl->alpha_ppm = lowest + 1;
}

/* S, so that what needs not wait is refused only by a service that is hopeless. */
static uint64_t service_ns(const struct histogram *sample, uint32_t alpha_ppm, uint32_t lost_ppm,
                           uint64_t most_ns)
{
    uint64_t ns = 0;

    if (lost_ppm <= HALF_PPM)
        alpha_ppm = alpha_ppm + lost_ppm < HALF_PPM ? alpha_ppm + lost_ppm : HALF_PPM;
    histogram_quantile_ns(sample, MILLION - alpha_ppm, &ns);
    return lost_ppm <= HALF_PPM && ns > most_ns ? most_ns : ns;
}

static void remember(struct promise_control *ctl, const struct promise_seen *seen, uint64_t now_ns)
{
    ctl->last_ns = now_ns;
    ctl->completions = seen->completions;
    ctl->useful = seen->useful;
    ctl->misses = seen->late + seen->unfinished;
}

static void begin(struct promise_control *ctl, const struct promise_rules *rules,
                  const struct promise_seen *seen, uint64_t now_ns)
{
    ctl->alpha_ppm = rules->alpha_ppm;
    ctl->full_s = ctl->full_completions = 0;
    ctl->last_full_ns = now_ns;
    window_restart(&ctl->recent, seen->completed, now_ns);
    window_restart(&ctl->lately, seen->completed, now_ns);
    lot_restart(ctl, now_ns);
    remember(ctl, seen, now_ns);
}

static void publish(struct promise *out, uint64_t interval, uint64_t service)
{
    __atomic_store_n(&out->interval_ns, interval, __ATOMIC_RELAXED);
    __atomic_store_n(&out->service_ns, service, __ATOMIC_RELAXED);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The share of a sample in cells above the time. */
static uint32_t share_above_ppm(const struct histogram *sample, uint64_t ns)
{
    uint64_t n = histogram_count(sample);
    uint64_t above = n ? histogram_from(sample, histogram_upper_ns(histogram_index(ns))) : 0;

    return n ? (uint32_t)((double)above / (double)n * MILLION) : 0;
}

void promise_control_step(struct promise_control *ctl, const struct promise_rules *rules,
                          const struct promise_seen *seen, uint64_t now_ns, struct promise *out)
{
    uint64_t work_ns = minus(rules->deadline_ns, seen->rtt_p99_ns), interval, service;
    struct histogram sample;
    uint32_t lost_ppm;

    if (rules->deadline_ns == 0) {
        ctl->alpha_ppm = 0; /* a later deadline begins anew */
        publish(out, 0, 0);
        return;
    }
    if (ctl->alpha_ppm == 0)
        begin(ctl, rules, seen, now_ns);
    if (now_ns < ctl->last_ns)
        now_ns = ctl->last_ns;
    windows_advance(ctl, seen->completed, now_ns);
    if (has_changed(ctl, seen, now_ns))
        forget(ctl);
    sample_take(&sample, ctl, seen, now_ns);
    lost_ppm = share_above_ppm(&sample, work_ns);
    calibrate(ctl, rules, seen, lost_ppm, now_ns);
    learn_mu(ctl, seen, now_ns);
    interval = interval_ns(ctl, rules);
    service = service_ns(&sample, ctl->alpha_ppm, lost_ppm, minus(work_ns, interval));
    publish(out, interval, service ? service + seen->rtt_p99_ns : 0);
    /* In time after all: the next sample need not wait for its second. */
    if (lost_ppm > HALF_PPM && seen->useful != ctl->useful)
        __atomic_store_n(&out->sample_after_ns, now_ns, __ATOMIC_RELAXED);
    remember(ctl, seen, now_ns);
}
