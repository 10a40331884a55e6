/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may enter, who waits, and why not. The one decision core: the same object code serves the
 * workers, unit tests, fuzzers, benchmarks and the simulator.
 *
 * A struct admission belongs to one worker (one thread at a time); struct admission_shared is what
 * all workers have in common, atomics only. Nothing here reads a clock, draws a random number,
 * allocates, blocks or fails: time is an argument (monotonic ns), memory comes from the caller, and
 * the answer to anything is a decision. Tenants and services are named by the `id` the policy gave
 * their names, so live state outlasts any number of policies.
 *
 * Decisions are made cheapest first, and every limit is tested before any is debited, so a refusal
 * spends nothing. Order: denied, gateway, deadline, breaker, quota (erlangs, rate, packets, bits,
 * share), retry budget, shed, window (connections, capacity), wait queue; a breaker's trial is
 * claimed last of all. DESIGN.md says why each of them is there.
 */
#ifndef SLUICE_ADMISSION_ADMISSION_H
#define SLUICE_ADMISSION_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/breaker.h"
#include "dataplane/admission/bucket.h"
#include "dataplane/admission/histogram.h"
#include "dataplane/admission/ledger.h"
#include "dataplane/admission/verdict.h"
#include "dataplane/admission/window.h"
#include "dataplane/policy/policy.h"

#define ADMISSION_NO_SERVICE UINT32_MAX

/* Direction of a packet through the gate. */
enum direction { DIRECTION_IN /* outside -> inside */, DIRECTION_OUT, DIRECTION_MAX };

/* How a slot's work ended. */
enum outcome {
    OUTCOME_FINISHED, /* both sides closed, or the exchange was answered */
    OUTCOME_RESET,    /* the service reset it */
    OUTCOME_ABORTED,  /* the client reset it; the service closed too, or `linger` passed */
    OUTCOME_AGED,     /* freed unproven: nothing was heard for the configured time */
    OUTCOME_MAX,
};

/* What an attempt asks for. */
enum attempt_kind {
    ATTEMPT_WORK,    /* a slot: a connection, a datagram, a further turn of an open connection */
    ATTEMPT_CONNECT, /* a connection of a service whose unit is the exchange: no slot yet */
    ATTEMPT_FIRST,   /* the slot for the first request of a connection that was let in; its packet
                        has passed admission_meter() */
};

#define ATTEMPT_SYN    0x01 /* repeats of the packet are the same attempt: a TCP SYN */
#define ATTEMPT_HEALTH 0x02 /* a health check: from a probe prefix of its service */

/* One attempt to start work. */
struct attempt {
    uint32_t tenant;   /* id */
    uint32_t service;  /* id; ADMISSION_NO_SERVICE: charged to the tenant's quotas, takes no slot */
    uint32_t ip_bytes; /* of the packet that carries it */
    uint8_t kind;      /* enum attempt_kind */
    uint8_t flags;     /* ATTEMPT_* */
    uint8_t share;     /* policy_share_of() */
    uint8_t held;      /* ATTEMPT_FIRST: the `held` of the connection's slot */
    uint64_t client;   /* keyed hash of who asks (its address): the same for all its attempts */
    uint64_t flow;     /* keyed hash of the flow, the same for all packets of the attempt */
    uint32_t isn;      /* ATTEMPT_SYN: its sequence number, the same in every repeat of that SYN */
    uint64_t cookie;   /* comes back with the decision when the attempt had to wait */
};

/* What a slot holds beside its places in the windows. */
#define SLOT_HEALTH   0x01 /* it is a health check's */
#define SLOT_TRIAL    0x02 /* it is the one trial of a half-open breaker */
#define SLOT_OPENING  0x04 /* a connection that the client has not confirmed */
#define SLOT_ADOPTED  0x10 /* on debt: its work was found running */
#define SLOT_SHARED   0x20 /* a place in its tenant's share of the window */
#define SLOT_RESERVED 0x08 /* the one reserved for health checks, beside the window */

struct slot {
    uint32_t tenant, service; /* ids */
    uint8_t share;
    uint8_t held; /* SLOT_* */
};

struct decision {
    enum verdict verdict;
    enum reason reason; /* REASON_NONE unless refused */
    uint32_t waiter;    /* VERDICT_WAIT: for admission_cancel() */
    uint8_t held;       /* VERDICT_ADMIT: SLOT_*, to be kept with the slot */
};

/* How the work of a slot went. */
struct ending {
    enum outcome outcome;
    bool failed;         /* its reply said so, as far as it can be read */
    uint64_t client;     /* as in the attempt */
    uint64_t held_ns;    /* from the slot to now */
    uint64_t latency_ns; /* from the attempt's first packet to now */
};

/* Counters have one writer, the worker; anyone may read them (relaxed 64-bit loads). */
struct admission_tenant_counters {
    /* What most packets and attempts touch: one cache line. */
    uint64_t packets[DIRECTION_MAX], bytes[DIRECTION_MAX]; /* forwarded; bytes by IP length */
    uint64_t attempts;                                     /* tries */
    uint64_t attempt_packets; /* packets that carried them, retransmissions included */
    uint64_t admitted;
    uint64_t offered;   /* pieces of work: tries that are no retry, an estimate (demand_memory.h),
                           and no health check */
    uint64_t adopted;   /* flows found mid-way, slot taken on debt */
    uint64_t waited;    /* that had to wait before they were admitted or refused, */
    uint64_t cancelled; /* or left */
    uint64_t ended[LEDGER_MAX];           /* what became of the admitted */
    uint64_t refused[REASON_ATTEMPT_MAX]; /* by reason */
    uint64_t dropped_packets;             /* packets of known flows over the packet quota */
    uint64_t dropped_bits;                /* ... over the bit quota */
};

/* attempts = admitted + refused + cancelled + waiting + connections without a first request. */
struct admission_service_counters {
    uint64_t attempts, attempt_packets, admitted, adopted;
    uint64_t offered, waited;
    struct ledger ledger; /* what became of the admitted, and how long they held their slots */
    uint64_t connected;   /* ATTEMPT_CONNECT let in */
    uint64_t health;      /* of the admitted: health checks, which the ledger leaves out */
    uint64_t failed;      /* of the unfinished: the reply said that it failed */
    uint64_t refused[REASON_ATTEMPT_MAX];
    uint64_t outcomes[OUTCOME_MAX];
    uint64_t answered;   /* refusals told to the client */
    uint64_t unanswered; /* refusals dropped: form `drop`, or beyond refuse_rate */
    uint64_t cancelled;  /* waiters whose client left */
    uint64_t reclaimed;  /* slots that no flow held any more */
    /* for the control loop */
    uint64_t reached[CLASS_MAX]; /* work that came as far as shedding, retries left out */
    uint64_t refused_unique;     /* work refused for want of capacity, each piece once, */
    uint64_t served_late;        /* and what of it was admitted after all */
    uint64_t good, bad;          /* results that the breaker judges */
};

struct admission;
struct admission_shared;
struct advice; /* advice.h */

/* Beside its n_waiters a worker may have so many that were displaced and do not know it yet. */
#define ADMISSION_DISPLACED_MAX 32u

/* What the structures need, so that the caller can place them (cache-line aligned). */
struct admission_size {
    uint32_t n_tenants, n_services; /* ids are below these */
    uint32_t n_workers;             /* at least 1 */
    uint32_t n_waiters;             /* places for waiting attempts on a worker; may be 0 */
    uint32_t n_answered;            /* refusals a worker remembers; 0: none */
    uint32_t n_demand;              /* pieces of unserved work all workers remember; 0: none */
};
size_t admission_shared_bytes(const struct admission_size *size);
size_t admission_bytes(const struct admission_size *size);

/* Build in zeroed memory of that many bytes; nothing to free but the memory. `worker` is below
 * n_workers. */
struct admission_shared *admission_shared_init(void *memory, const struct admission_size *size);
struct admission *admission_init(void *memory, struct admission_shared *shared, uint32_t worker);

/*
 * A policy comes into force in two steps: the control thread prepares what is shared, just before
 * it publishes; then each worker takes the limits over. Neither keeps the policy. Buckets of new
 * names start full; live ones keep their tokens, clamped to the new
 * burst, and nothing is refilled. Until the last worker has taken over, old and new limits hold
 * side by side.
 */
void admission_shared_adopt(struct admission_shared *shared, const struct policy *policy,
                            uint64_t now_ns);
void admission_adopt(struct admission *adm, const struct policy *policy, uint64_t now_ns);

/* Fetches ahead what a packet of that tenant, and what an attempt, will be judged by, as far as it
 * is not many workers' at once. With thousands of tenants nothing of that is in a cache. */
void admission_prefetch_packet(const struct admission *adm, uint32_t tenant);
void admission_prefetch_attempt(const struct admission *adm, const struct attempt *attempt);

/*
 * Asks for one attempt. Owner thread.
 *   ADMIT   its packet is counted as one that passes. ATTEMPT_WORK and ATTEMPT_FIRST hold a slot
 *           until admission_complete(), ATTEMPT_CONNECT a place among the service's connections
 *           until admission_disconnect().
 *   WAIT    the decision comes from admission_poll(), with the cookie; the caller keeps the packet.
 *   REFUSE  nothing is held, nothing was spent.
 */
struct decision admission_offer(struct admission *adm, const struct attempt *attempt,
                                uint64_t now_ns);

/* A decision about an attempt that waited. */
struct released {
    uint64_t cookie;
    struct slot slot;
    struct decision decision; /* ADMIT or REFUSE */
    uint64_t waited_ns;
};

/* Takes up to `n` attempts from the wait queues: first whose time is over, then as many as find a
 * slot. Owner thread, once per loop; costs a comparison while nobody waits. */
unsigned admission_poll(struct admission *adm, uint64_t now_ns, struct released *released,
                        unsigned n);

/* The client of a waiter has left. Owner thread; `waiter` from its decision, `flow` as in its
 * attempt. False: it waits no more; else *cookie is the attempt's. */
bool admission_cancel(struct admission *adm, uint32_t waiter, uint64_t flow, uint64_t *cookie);

/* Everybody who still waits is refused with `gateway`, a worker that stops calls it until 0. */
unsigned admission_dismiss(struct admission *adm, uint64_t now_ns, struct released *released,
                           unsigned n);

/* Counts an attempt that was refused before it could be offered: no room in the flow table, say. */
void admission_refuse(struct admission *adm, const struct attempt *attempt, enum reason reason,
                      uint64_t now_ns);

/* Counts a further packet of an attempt that was already answered for; it costs no attempt. */
void admission_repeat(struct admission *adm, const struct slot *slot);

/* Charges one outside -> inside packet of `ip_bytes` to a tenant's packet and bit quotas: both are
 * tested, then both debited. Counts it when it passes. Owner thread. */
struct decision admission_charge(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                 uint64_t now_ns);

/* The same of the packet that carries an ATTEMPT_FIRST (but a health check's, which has tokens of
 * its own), before that is offered: its decision counts it as forwarded or gives it back. */
struct decision admission_meter(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                uint64_t now_ns);

/* Counts one inside -> outside packet; no limit applies. */
void admission_count_out(struct admission *adm, uint32_t tenant, uint32_t ip_bytes);

/* Takes a slot on debt for work that already runs (a flow found mid-way, a request that passes for
 * want of a way to refuse it). Bills no attempt. */
void admission_adopt_flow(struct admission *adm, struct slot *slot); /* sets `held` */
/* The same for a connection of a service whose unit is the exchange. */
void admission_adopt_connection(struct admission *adm, const struct slot *slot);
/* An attempt that passed as something else and is under way: its tenant pays for it if it has any
 * of its attempts left. */
void admission_bill(struct admission *adm, uint32_t tenant, uint64_t now_ns);

/* Has the service room for a further connection? For one that asks for its slot at once: it may
 * have to wait for that, and is a connection only then. So those who wait count as well, also where
 * they have their connection already: rather some too few than one too many. */
bool admission_may_connect(const struct admission *adm, uint32_t service);

/* What was seen of admitted work while it runs. Owner thread. */
void admission_confirmed(struct admission *adm, struct slot *slot); /* clears SLOT_OPENING */
void admission_connected(struct admission *adm, const struct slot *slot, uint64_t latency_ns);
void admission_first_byte(struct admission *adm, const struct slot *slot, uint64_t now_ns);
/* No answer in time, or a reset in its place: the breaker hears of it. At most once per work. */
void admission_no_answer(struct admission *adm, const struct slot *slot, uint32_t hash,
                         uint64_t now_ns);

/* Ends the work of a slot; exactly once per slot admitted or adopted. */
void admission_complete(struct admission *adm, const struct slot *slot, const struct ending *ending,
                        uint64_t now_ns);
/* The owner of the flows goes over its slots in turn, each once in a pass, and says how long each
 * has been held. At the end of a pass, slots that no flow holds are given back. */
void admission_survey_slot(struct admission *adm, const struct slot *slot, uint64_t held_ns);
void admission_survey_end(struct admission *adm);

/* Ends a connection of a service whose unit is the exchange; its work has ended before. */
void admission_disconnect(struct admission *adm, const struct slot *slot);

/* May this refusal be told to the client? Takes from the service's refuse_rate and counts either
 * way; false for form `drop`. */
bool admission_may_answer(struct admission *adm, uint32_t service, uint64_t now_ns);

/* Seconds after which the client of an attempt that was just refused may come again, 1 or more: for
 * want of capacity when the service's backlog will be gone; over a quota when that has earned what
 * was missing, as far as it can be told. Of the attempt tenant, service and ip_bytes matter. Owner
 * thread. Divides: for refusals that tell. */
uint32_t admission_retry_after_s(const struct admission *adm, const struct attempt *refused,
                                 enum reason reason, uint64_t now_ns);

/* Returns leased tokens that were not used for LEASE_IDLE_NS, looking at no more than
 * ADMISSION_TIDY_MAX tenants and services. Owner thread, about once per loop. */
#define ADMISSION_TIDY_MAX 8
void admission_tidy(struct admission *adm, uint64_t now_ns);

/* Takes back what a worker has leased that gave no sign of life: its leases are void from now on,
 * even if it was only paused. Control thread. */
void admission_reclaim(struct admission *dead);

/* For listings; any thread, values of a moment. */
const struct admission_tenant_counters *admission_tenant_counters(const struct admission *adm,
                                                                  uint32_t tenant);
const struct admission_service_counters *admission_service_counters(const struct admission *adm,
                                                                    uint32_t service);
uint64_t admission_attempt_tokens(const struct admission_shared *shared,
                                  const struct policy_tenant *tenant, uint64_t now_ns);
/* What is left of a tenant's quota in erlangs, in slot-ms (below zero: owed; meaningless when
 * unlimited), and of its retry budget, in tenths of a retry. */
int64_t admission_occupancy_ms(const struct admission_shared *shared,
                               const struct policy_tenant *tenant, uint64_t now_ns);
uint32_t admission_retry_tenths(const struct admission_shared *shared, uint32_t tenant);
const struct window *admission_tenant_window(const struct admission_shared *shared,
                                             uint32_t tenant);
const struct advice *admission_service_advice(const struct admission_shared *shared,
                                              uint32_t service);
const struct window *admission_service_window(const struct admission_shared *shared,
                                              uint32_t service);
/* A part of it, numbered as policy_share_of() does. */
const struct window *admission_share_window(const struct admission_shared *shared, uint32_t service,
                                            unsigned share);

/* How long things take. */
enum latency {
    LATENCY_CONNECT,   /* SYN to SYN-ACK */
    LATENCY_REPLY,     /* attempt to the end of its reply, of replies that ended */
    LATENCY_EFFECTIVE, /* the same of all admitted work: what was late, or has no reply, counts as
                          its deadline */
    LATENCY_MAX,
};
/* Adds one worker's to `sum`. */
void admission_sum_latency(const struct admission *adm, uint32_t service, enum latency latency,
                           struct histogram *sum);

#endif
