/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of the work. Each piece that was offered has exactly one outcome, that of its last
 * attempt, so that
 *   offered = useful + late + unfinished + refused (all kinds) + not_sent.
 * All latencies count from the intended time of sending.
 */
#ifndef SLUICE_LOAD_RESULTS_H
#define SLUICE_LOAD_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * useful            a complete good reply (200, RCODE 0, the echo, the handshake) by the deadline
 * late              the same after it
 * unfinished        connected, but no complete reply when the client gave up, or the reply broke
 *                   off; of datagrams: silence, whoever lost the datagram
 * refused_rst       connection refused, or reset before the first byte of a reply
 * refused_timeout   no connection when the client gave up
 * refused_429 ...   that status
 * refused_servfail, refused_refused   that RCODE
 * refused_unreachable   an ICMP error for the datagram
 * refused_other     another status or RCODE, an error of the network, or closed without a byte
 * not_sent          the generator had no descriptor, port or place for it: not the service's doing
 */
#define OUTCOME_LIST(X)                                                                            \
    X(USEFUL, "useful")                                                                            \
    X(LATE, "late")                                                                                \
    X(UNFINISHED, "unfinished")                                                                    \
    X(REFUSED_RST, "refused_rst")                                                                  \
    X(REFUSED_TIMEOUT, "refused_timeout")                                                          \
    X(REFUSED_429, "refused_429")                                                                  \
    X(REFUSED_403, "refused_403")                                                                  \
    X(REFUSED_503, "refused_503")                                                                  \
    X(REFUSED_SERVFAIL, "refused_servfail")                                                        \
    X(REFUSED_REFUSED, "refused_refused")                                                          \
    X(REFUSED_UNREACHABLE, "refused_unreachable")                                                  \
    X(REFUSED_OTHER, "refused_other")                                                              \
    X(NOT_SENT, "not_sent")

#define OUTCOME_AS_ENUM(NAME, text) OUTCOME_##NAME,
enum outcome { OUTCOME_LIST(OUTCOME_AS_ENUM) OUTCOME_COUNT };

#define LATENCY_NONE      UINT64_MAX
#define RESULTS_KINDS_MAX 16u

struct latency {
    uint64_t ns;
    uint32_t second; /* of the run, in which it was intended */
};

/* Latencies kept one by one: their number is bounded by the schedule, and percentiles are exact. */
struct latencies {
    uint64_t n;
    struct latency *list;
};

/* What was intended for one second of the run, and what became of it. */
struct second {
    uint64_t offered;
    uint64_t attempts, admitted; /* for that work, whenever they were */
    uint64_t outcomes[OUTCOME_COUNT];
    /* Once finished; LATENCY_NONE: there was none. */
    uint64_t p50_ns, p99_ns, eff_p95_ns, eff_p99_ns;
};

/* How a piece of work ended. */
struct ending {
    enum outcome outcome;
    uint32_t kind;
    uint64_t intended_ns, latency_ns;
    uint64_t deadline_ns; /* UINT64_MAX: none, then the latency is what it cost */
};

struct results {
    uint64_t deadline_ns; /* that `behind` is measured by */
    uint64_t duration_ns;
    uint64_t offered;
    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t by_kind[RESULTS_KINDS_MAX][OUTCOME_COUNT];
    struct latencies answered;  /* useful and late, as they were */
    struct latencies effective; /* useful as it was; late and unfinished at their deadline */
    struct latencies refusal;   /* time to refusal, every kind */
    uint64_t first_sent_ns, last_sent_ns, lag_max_ns;
    uint64_t attempts; /* that were sent */
    uint64_t admitted; /* of them, neither refused nor without a connection */
    uint64_t behind;   /* of them, more than a tenth of the deadline after their time */
    uint32_t n_seconds;
    struct second *seconds;
};

/* Room for `offered` pieces of work. 0 or -ENOMEM. */
int results_init(struct results *results, uint64_t offered, uint64_t duration_ns,
                 uint64_t deadline_ns);
void results_free(struct results *results);

/* An attempt at the work of `intended_ns` that was due at `due_ns` of the run went out at
 * `sent_ns`.
 */
void results_sent(struct results *results, uint64_t intended_ns, uint64_t due_ns, uint64_t sent_ns);
/* It was let in. */
void results_admitted(struct results *results, uint64_t intended_ns);
/* Once per piece of work. */
void results_add(struct results *results, const struct ending *ending);
/* Sorts; call once, before the questions below. */
void results_finish(struct results *results);

bool outcome_is_refusal(enum outcome outcome);
uint64_t results_refused(const uint64_t outcomes[OUTCOME_COUNT]);
/* Which of `n` sorted values, from 0, is the percentile: number round_half_even(p (n - 1)), as in
 * the simulator. `n` is not 0. */
uint64_t results_rank(uint64_t n, unsigned int percent);
/* *ns untouched and false when there is none. */
bool results_percentile(const struct latencies *latencies, unsigned int percent, uint64_t *ns);
/* Attempts per second from the first to the last sent; 0 below two. */
double results_sent_per_s(const struct results *results);

#endif
