/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which share of each class a service sheds: a controller, pure, one step a period. Control thread.
 *
 * Feed-forward from the measured rates, and a PI controller on the age of the oldest waiter for
 * what the rates do not tell (a capacity mis-stated, work that became heavier). With mu the
 * capacity and R the reserve kept for classes above, for each class c from the lowest:
 *
 *   B_c  = max(0, mu - R - rates of the higher classes over 30 s - what lower classes spill)
 *   p_ff = clamp(1 - B_c / rate_c, 0, ceiling)
 *   x   += (h e + g (d - d_before)) / T     d head age, e = clamp(d - d_ref, -d_ref, 5 d_ref),
 *                                           d_ref = wait_age / 5
 *
 * x is the load to shed besides, as a share of mu: taken from the lowest class up to its ceiling,
 * then from the next, never from `critical`. It is kr * p of the plant d' = -kr * p, kr = rate/mu,
 * so the loop gain m is 1 whatever the overload: stable for m (2g + h) < 4 and m g < 2, settles in
 * 25 periods. x stays within what the ceilings can give (anti-windup) and loses 1/64 in a period
 * whose queue is empty for the second time (as PIE does, RFC 8033).
 *
 * What is shed at random leaves work that comes at random: at mu and no more, slots idle now and
 * then while others are refused. Where nothing is reserved, and there is a queue, x may therefore
 * fall to -SHED_SLACK, but not below what feed-forward sheds: that load is given back to the
 * highest class that sheds, then to the next, and d_ref is wait_age / 3, where the queue stands. So
 * mu is no limit: a service that does more than it says gets up to half as much again. A reserve is
 * room that shall be empty: there x stays at 0 or above.
 *
 * The higher classes enter over 30 s so that a short burst of alerts spends the reserve R, which is
 * there for it, and the lower classes do not pay for every one.
 *
 * Noise is not overload. A rate of n/s measured over t s is uncertain by sqrt(n/t); a service
 * whose bulk just fits B_c would shed some of it in every upward wobble. Therefore
 *  - a rate is the mean over up to SHED_RATE_S, and restarts from a short one when the two differ
 *    by more than 3 standard deviations of the short one (and a tenth); it grows no longer while
 *    they differ by more than 1.4: quiet in the steady state, and yet as quick as the short one
 *    when a step comes;
 *  - feed-forward engages when the rate stands significantly above B_c or has just stepped above
 *    it, and disengages when the rate is down at B_c: the smaller excess is what R is for;
 *  - unless feed-forward is engaged the PI waits until a queue has stood for SHED_STAND_NS: a queue
 *    that comes and goes is how a queue works.
 *
 * Nothing is shed in the first second, nor before SHED_COLD_SAMPLE attempts.
 *
 * An unknown mu is learnt: completions a second over periods in which the window stayed full. While
 * feed-forward keeps the window from filling nothing more is learnt, and a service that recovered
 * would be held to its worst for ever. Where nothing is reserved, mu therefore grows by half a
 * second while work is shed and the window is not full, up to a quarter above what is completed: at
 * its capacity the service shows by a full window that it is. Where room is reserved an empty slot
 * says nothing, and the figure is forgotten after SHED_LEARN_KEEP_NS of that: the PI takes over
 * what is shed (its x starts there), lowers it until the queue stands at d_ref, and mu is learnt
 * anew under the full window.
 */
#ifndef SLUICE_ADMISSION_SHED_CONTROL_H
#define SLUICE_ADMISSION_SHED_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/policy.h"

#define SHED_COLD_NS       1000000000ull /* after the first sample: nothing is shed */
#define SHED_COLD_SAMPLE   32            /* attempts, as well */
#define SHED_FAST_MAX_S    0.5           /* horizon of the short mean ... */
#define SHED_FAST_MIN_S    0.1           /* ... which shrinks to hold ... */
#define SHED_FAST_SAMPLE   48.0          /* ... about so many attempts */
#define SHED_RATE_S        8.0           /* horizon of a class's rate, and of a learnt capacity */
#define SHED_SLOW_S        30.0          /* horizon of what is kept for the higher classes */
#define SHED_STAND_NS      1000000000ull /* with a head of d_ref at every sample: the queue stands */
#define SHED_GAIN          0.3           /* g */
#define SHED_STEP          0.03          /* h */
#define SHED_LEARN_S       1.0 /* time under a full window before a learnt capacity is believed */
#define SHED_LEARN_SAMPLE  32  /* completions, as well */
#define SHED_LEARN_KEEP_NS 30000000000ull /* shedding without a full window: forgotten */
#define SHED_LEARN_GROWTH  0.5            /* a second, while work is shed and slots are free, */
#define SHED_LEARN_MORE    1.5            /* up to so much of what is completed */
#define SHED_DONE_S        1.0            /* in that time */
#define SHED_CLIENTS_FEW   32             /* distinct clients: fewer are shed by attempt */
#define SHED_SLACK         0.5            /* of mu: what x may take back of what is shed */
#define SHED_PERIOD_SAMPLE 32             /* attempts in a period, where its bounds allow */
#define SHED_PERIOD_MIN_NS 10000000ull
#define SHED_PERIOD_MAX_NS 100000000ull

/* What the operator says of one service. */
struct shed_rules {
    double capacity_per_s; /* mu, attempts it completes; 0: unknown, learnt under a full window */
    double reserve_per_s;  /* R, kept free for the higher classes */
    double ceiling;        /* largest share shed of a class, 0 .. 1; usually 0.98 */
    double wait_age_s;     /* largest age of a waiter; 0: no wait queue and so no PI */
};

/* What was counted, up to now. */
struct shed_sample {
    uint64_t offered[CLASS_MAX]; /* attempts that came to the shed step so far, shed ones too;
                                    without retries where these are known */
    uint64_t completed;          /* so far */
    uint64_t head_age_ns;        /* of the oldest waiter now; 0: nobody waits */
    uint32_t clients;            /* distinct clients of late, an estimate; 0 counts as few */
    bool window_was_full;        /* at every moment since the sample before */
};

/* A mean over the last `span_s`, which grows with the samples up to a horizon. */
struct shed_mean {
    double per_s, span_s;
};

struct shed_class {
    struct shed_mean fast, rate, slow;
    uint64_t offered; /* at the sample before */
    bool engaged;     /* feed-forward sheds */
};

/* State of one service. The caller owns it; only the functions below touch it. */
struct shed_control {
    struct shed_class classes[CLASS_MAX];
    struct shed_mean learnt; /* capacity */
    struct shed_mean done;   /* completions */
    double p[CLASS_MAX];     /* shares shed now */
    double pi;               /* x */
    uint64_t stood_ns;       /* so long every sample had a head of d_ref or older */
    uint64_t seen_ns;        /* since the first sample */
    uint64_t untested_ns;    /* so long shedding kept the window from filling */
    uint64_t seen;           /* attempts since the first sample, all classes */
    uint64_t learnt_from;    /* completions */
    uint64_t completed;      /* at the sample before */
    uint64_t head_age_ns;    /* at the sample before */
    uint64_t last_ns;        /* time of the sample before */
    bool started;            /* there is a sample before */
};

struct shed_output {
    uint32_t p[CLASS_MAX]; /* as in shed.h; critical is always 0 */
    double rate_per_s[CLASS_MAX];
    double capacity_per_s; /* configured or learnt; 0: unknown, feed-forward is off */
    uint64_t period_ns;    /* until the next step; it may come earlier or later */
    bool by_attempt;       /* hash the attempt: there are too few clients to hash */
};

void shed_control_init(struct shed_control *control);

/*
 * One period. The first call only notes the counters. `rules` may change between calls. A time that
 * has not moved on changes nothing but is answered.
 */
void shed_control_step(struct shed_control *control, const struct shed_rules *rules,
                       const struct shed_sample *sample, uint64_t now_ns, struct shed_output *out);

/* p * 2^32, saturating; what is no probability is 0. */
uint32_t shed_probability(double p);

#endif
