/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circuit breaker of a service's backend: after failures nothing is sent for a while, then one
 * attempt tries for all, then more and more are let in.
 *
 *              ask                      failure            success           time (`until`)
 *   CLOSED     PASS                     the n-th opens     count := 0        -
 *   RAMPING    PASS for hash < share,   the n-th opens,    count := 0        CLOSED, level 0
 *              else REFUSE              level + 1
 *   OPEN       REFUSE, past `until`     -                  -                 a claim: HALF_OPEN
 *              MAY_PROBE
 *   HALF_OPEN  REFUSE                   the probe's opens, the probe's:      OPEN since `until`,
 *                                       level + 1          RAMPING           level + 1
 *
 * n = rules.failures in a row, over all workers. breaker_trip() opens CLOSED and RAMPING like the
 * n-th failure. A period of OPEN is open_ns * 2^level, at most open_max_ns, +- jitter. One failure
 * while RAMPING does not reopen: with work in flight from before there always is one. But a backend
 * that answers probes and breaks down under load opens for longer each time, since the level falls
 * back to 0 only when a ramp ends without an opening; ramp_ns = 0 gives this up. Results that are
 * not the probe's change nothing while OPEN or HALF_OPEN. Refusals by Sluice are no results.
 *
 * The state is one word, changed by compare-and-swap alone: who loses changes nothing. What time
 * changes is worked out by whoever looks, so nothing depends on traffic or on the control thread.
 * Functions may be called by any thread unless they say otherwise. Times are monotonic ns below
 * 2^59 (18 years); workers' clocks may differ. `until` is kept in us, rounded up.
 * Sources: the states are Nygard's (Release It!, 2007); with failures = 1, no doubling and no ramp
 * it is nginx's passive check of a server (max_fails = 1, fail_timeout = open_ns).
 */
#ifndef SLUICE_ADMISSION_BREAKER_H
#define SLUICE_ADMISSION_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_NS_MIN         1000000ull        /* of any span in the rules */
#define BREAKER_NS_MAX         86400000000000ull /* a day */
#define BREAKER_JITTER_MAX     100000u           /* ppm */
#define BREAKER_RATIO_RESULTS  20u               /* in the last */
#define BREAKER_RATIO_SECONDS  10u               /* at least, and */
#define BREAKER_RATIO_FAILED   500000u           /* ppm of them failed: trips */
#define BREAKER_GENERATION_MAX 127u

enum breaker_mode { BREAKER_AUTO, BREAKER_FORCED_OPEN, BREAKER_FORCED_CLOSED };
enum breaker_state { BREAKER_CLOSED, BREAKER_RAMPING, BREAKER_OPEN, BREAKER_HALF_OPEN };
enum breaker_answer { BREAKER_PASS, BREAKER_REFUSE, BREAKER_MAY_PROBE };

/* Of one policy, immutable, the caller's. A forced mode wins over the state, which then stands
 * still: results, trips and claims are ignored. */
struct breaker_rules {
    uint64_t open_ns;     /* BREAKER_NS_MIN .. open_max_ns */
    uint64_t open_max_ns; /* .. BREAKER_NS_MAX; = open_ns: no doubling */
    uint64_t probe_ns;    /* a probe without a result by then has failed; above the time-outs of
                             the caller, so that no result comes later. BREAKER_NS_MIN .. MAX */
    uint64_t ramp_ns;     /* 0: none, or BREAKER_NS_MIN .. BREAKER_NS_MAX */
    uint32_t failures;    /* in a row, at least 1 */
    uint32_t jitter_ppm;  /* 0 (exact) .. BREAKER_JITTER_MAX */
    enum breaker_mode mode;
    /* derived by breaker_rules_init() */
    uint32_t jitter_q32; /* jitter_ppm as a fraction of 2^32 */
    uint64_t ramp_q63;   /* 0.9 / ramp_ns as a fraction of 2^63 */
};

/* Shared by all workers; zeroed: closed. */
struct breaker {
    uint64_t word;     /* atomic: state, level, generation, until */
    uint32_t failures; /* atomic: in a row while closed or ramping */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct breaker) == 64, "breakers share no cache line");

/* What holds at a time; for listings, and the control thread. */
struct breaker_view {
    enum breaker_state state;
    uint32_t level;      /* doublings of this period; while ramping, of the last */
    uint32_t generation; /* changes with every change of state but a ramp's end; wraps after
                            BREAKER_GENERATION_MAX */
    uint64_t until_ns; /* when the ramp ends, a probe may start or has failed; 0: closed, forced */
};

/* Checks the rules and derives the rest. False when out of range. Not per attempt. */
bool breaker_rules_init(struct breaker_rules *rules);

/* breaker_ask() of a breaker that is not plainly closed. */
enum breaker_answer breaker_ask_word(uint64_t word, const struct breaker_rules *rules,
                                     uint32_t hash, uint64_t now_ns);

/*
 * May an attempt pass? Changes nothing. `hash` (of the attempt or client, even over 32 bits)
 * decides who passes while ramping: below a share from 10 % to 100 %, linear in time. It must not
 * be the hash by which work is shed, or who is let in here would be shed there first.
 */
static inline enum breaker_answer breaker_ask(const struct breaker *b,
                                              const struct breaker_rules *rules, uint32_t hash,
                                              uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&b->word, __ATOMIC_RELAXED);

    if (__builtin_expect((word & 3) == BREAKER_CLOSED && rules->mode == BREAKER_AUTO, 1))
        return BREAKER_PASS;
    return breaker_ask_word(word, rules, hash, now_ns);
}

/* After BREAKER_MAY_PROBE, when nothing else is in the attempt's way: true for one attempt per open
 * period, which is the probe (its results say so); all others are refused. */
bool breaker_claim(struct breaker *b, const struct breaker_rules *rules, uint64_t now_ns);

/* An attempt failed. `hash` decides the jitter of the period it may open: 0 the shortest. */
void breaker_failure(struct breaker *b, const struct breaker_rules *rules, bool probe,
                     uint32_t hash, uint64_t now_ns);

/* The first byte of a reply. */
void breaker_success(struct breaker *b, const struct breaker_rules *rules, bool probe,
                     uint64_t now_ns);

/* The control thread saw too many failures. */
void breaker_trip(struct breaker *b, const struct breaker_rules *rules, uint32_t hash,
                  uint64_t now_ns);

/* Control thread, when a forced mode goes back to BREAKER_AUTO: what was seen before counts no
 * more. From open, the next attempt is a probe, and the ramp follows; from closed, it is closed. */
void breaker_unforce(struct breaker *b, enum breaker_mode from, uint64_t now_ns);

struct breaker_view breaker_view(const struct breaker *b, const struct breaker_rules *rules,
                                 uint64_t now_ns);

const char *breaker_state_name(enum breaker_state state);

/* Results of the last BREAKER_RATIO_SECONDS, in cells of a second, the last one unfinished. One
 * writer, the control thread; zeroed: its first sample is only where it starts from. */
struct breaker_ratio {
    struct breaker_results {
        uint64_t successes, failures;
    } cells[BREAKER_RATIO_SECONDS], seen; /* seen: as last given */
    uint64_t second;                      /* of the newest cell; never moves back */
    uint32_t generation;
    bool started;
};

/*
 * Is it time for breaker_trip()? `results` are counts since ever, given once a period with the
 * breaker's view. Only results since the breaker last closed count: it starts anew whenever the
 * generation changes, and while open or half-open.
 */
bool breaker_ratio_trips(struct breaker_ratio *ratio, const struct breaker_view *view,
                         const struct breaker_results *results, uint64_t now_ns);

#endif
