/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be promised: will work that enters now be done before its deadline? Refuse if not, as
 *
 *   (waiting + 1) / mu + S + e > remaining
 *
 * mu: completions per second of the full service. S: the quantile 1 - alpha of its service times.
 * e: RTT p99. Workers compare; the control thread estimates once a period. How:
 *
 * S   over the last 5 to 10 s of completed work. Work that still runs and is older than that
 *     quantile joins the sample: without it, a service that has become slow looks as fast as ever
 *     until something slow is done (censoring). It joins with twice its age, the median of a life
 *     seen at some moment of it. When at least half of what happened lately lies outside the
 *     quantiles alpha and 1 - alpha, the service has changed, and what is older is forgotten.
 *     Requests that hung before the window began are left out while others are done.
 * mu  from periods in which the window stayed full: else completions show the demand. Over 1 to 2 s
 *     of such time; a second without any makes it unknown. A configured capacity holds until full
 *     periods show less.
 * alpha starts as configured and follows the share of broken promises. It is looked at after
 *     6 / alpha pieces of work: a quarter more when less than half of what is allowed was broken; a
 *     third less at once when more than allowed was. 1/32 to 4 times what is configured.
 *     Work that takes longer than the deadline by itself is not held against it, as no refusal but
 *     everybody's would help: its share is added to alpha. When that is over one half the service
 *     is hopeless: only samples pass, and one that is in time is followed by the next at once.
 *
 * Zero means unknown, and what is unknown refuses nobody.
 */
#ifndef SLUICE_ADMISSION_PROMISE_H
#define SLUICE_ADMISSION_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/histogram.h"

#define PROMISE_SAMPLE_NS       1000000000ull
#define PROMISE_INTERVAL_MAX_NS (1ull << 38)

/* Per service, shared. The control thread publishes, workers read; only the time of the next sample
 * is moved by both. All fields atomic. */
struct promise {
    uint64_t interval_ns;     /* 1 / mu, at most PROMISE_INTERVAL_MAX_NS */
    uint64_t service_ns;      /* S + e */
    uint64_t sample_after_ns; /* from then on one attempt passes, hopeless or not */
} __attribute__((aligned(64)));

/* Does work behind `waiting` others (below 2^24) end within `remaining_ns`? Any worker. */
static inline bool promise_kept(const struct promise *p, uint32_t waiting, uint64_t remaining_ns)
{
    uint64_t interval_ns = __atomic_load_n(&p->interval_ns, __ATOMIC_RELAXED);
    uint64_t service_ns = __atomic_load_n(&p->service_ns, __ATOMIC_RELAXED);

    return ((uint64_t)waiting + 1) * interval_ns + service_ns <= remaining_ns;
}

/* Is it time for the next sample? Takes nothing. */
static inline bool promise_sample_is_due(const struct promise *p, uint64_t now_ns)
{
    return now_ns >= __atomic_load_n(&p->sample_after_ns, __ATOMIC_RELAXED);
}

/* Shall an attempt that seems hopeless pass as a sample? One a second, over all workers. */
static inline bool promise_sample(struct promise *p, uint64_t now_ns)
{
    uint64_t after_ns = __atomic_load_n(&p->sample_after_ns, __ATOMIC_RELAXED);

    return now_ns >= after_ns &&
           __atomic_compare_exchange_n(&p->sample_after_ns, &after_ns, now_ns + PROMISE_SAMPLE_NS,
                                       false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

struct promise_rules {
    uint64_t deadline_ns; /* 0: none, everything is promised */
    uint64_t interval_ns; /* 1 / configured capacity; 0: not configured */
    uint32_t alpha_ppm;   /* share of promises that may be broken, 1 .. 500000 */
};

/* `count` pieces of work have been running for `age_ns`. */
struct promise_age {
    uint64_t age_ns;
    uint64_t count;
};

/* What the control thread saw. Counts are cumulative and never reset. */
struct promise_seen {
    const struct histogram *completed; /* service times, over all workers */
    const struct promise_age *ages;    /* of work that runs now, in any order */
    size_t n_ages;
    uint64_t completions; /* pieces of work that left their slots */
    uint64_t useful;      /* admitted work that was in time, */
    uint64_t late;        /* that was not, */
    uint64_t unfinished;  /* and that ended otherwise */
    uint64_t rtt_p99_ns;  /* 0: unknown */
    bool window_was_full; /* all through the period that ends now */
};

/* Cumulative counts as they were at two moments, half a length apart: the difference to now reaches
 * back between one half and the whole. */
struct promise_window {
    struct histogram start[2]; /* the older one first */
    uint64_t since_ns[2];
};

/* The control thread's, one per service with a deadline: 32 KiB, all zero at first. */
struct promise_control {
    struct promise_window recent; /* what S is taken of */
    struct promise_window lately; /* what tells that the service has changed */
    double full_s, full_completions;
    uint64_t last_full_ns;
    uint64_t last_ns, completions, useful, misses; /* of the last step */
    uint64_t lot_pieces, lot_misses;               /* since alpha was last looked at */
    double lot_allowed;
    uint64_t lot_from_ns; /* what ended before was promised by another alpha */
    uint32_t alpha_ppm;   /* in force; 0 before the first step */
};

/*
 * Once a period: takes in what was `seen` until `now_ns` and publishes to `out`. The first step
 * only remembers the counts. It costs some ten passes over a histogram, and 24 KiB of stack.
 */
void promise_control_step(struct promise_control *ctl, const struct promise_rules *rules,
                          const struct promise_seen *seen, uint64_t now_ns, struct promise *out);

#endif
