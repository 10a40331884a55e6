/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may enter, and why not. The one decision core: the same object code serves the workers, unit
 * tests, fuzzers, benchmarks and the simulator.
 *
 * A struct admission belongs to one worker (one thread at a time); struct admission_shared is what
 * all workers have in common, atomics only. Nothing here reads a clock, draws a random number,
 * allocates, blocks or fails: time is an argument (monotonic ns), memory comes from the caller, and
 * the answer to anything is a decision. Tenants and services are named by the `id` the policy gave
 * their names, so live state outlasts any number of policies.
 *
 * Decisions are made cheapest first, and every limit is tested before any is debited, so a refusal
 * spends nothing. Order: denied, deadline, breaker, quota (rate, packets, bits, share), retry
 * budget, shed, window (capacity), wait queue. What is not there yet has its place in
 * admission_offer() where the order says.
 */
#ifndef SLUICE_ADMISSION_ADMISSION_H
#define SLUICE_ADMISSION_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/bucket.h"
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

/* One attempt to start work. */
struct attempt {
    uint32_t tenant;   /* id */
    uint32_t service;  /* id; ADMISSION_NO_SERVICE: charged to the tenant's quotas, takes no slot */
    uint32_t ip_bytes; /* of the packet that carries it */
};

struct slot {
    uint32_t tenant, service; /* ids */
};

struct decision {
    enum verdict verdict;
    enum reason reason; /* REASON_NONE when admitted */
};

/* Counters have one writer, the worker; anyone may read them (relaxed 64-bit loads). */
struct admission_tenant_counters {
    /* What most packets touch: one cache line. */
    uint64_t packets[DIRECTION_MAX], bytes[DIRECTION_MAX]; /* forwarded; bytes by IP length */
    uint64_t attempts;                                     /* offers made */
    uint64_t attempt_packets; /* packets that carried them, retransmissions included */
    uint64_t admitted;
    uint64_t adopted;                     /* flows found mid-way, slot taken on debt */
    uint64_t refused[REASON_ATTEMPT_MAX]; /* by reason; attempts = admitted + sum of these */
    uint64_t dropped_packets;             /* packets of known flows over the packet quota */
    uint64_t dropped_bits;                /* ... over the bit quota */
};

struct admission_service_counters {
    uint64_t attempts, attempt_packets, admitted, adopted;
    uint64_t refused[REASON_ATTEMPT_MAX];
    uint64_t outcomes[OUTCOME_MAX];
    uint64_t answered;   /* refusals told to the client */
    uint64_t unanswered; /* refusals dropped: form `drop`, or beyond refuse_rate */
};

struct admission;
struct admission_shared;

/* What the structures need, so that the caller can place them (cache-line aligned). */
struct admission_size {
    uint32_t n_tenants, n_services; /* ids are below these */
    uint32_t n_workers;             /* at least 1 */
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

/* Fetches ahead what a packet of that tenant, and what an attempt of it, will be judged by, as far
 * as it is the worker's own. With thousands of tenants nothing of that is in a cache. */
void admission_prefetch_packet(const struct admission *adm, uint32_t tenant);
void admission_prefetch_attempt(const struct admission *adm, uint32_t tenant);

/* Asks for one attempt. On admit its packet is counted as one that passes, and with a service a
 * slot (tenant, service) is held until admission_complete(). Owner thread. */
struct decision admission_offer(struct admission *adm, const struct attempt *attempt,
                                uint64_t now_ns);

/* Counts an attempt that was refused before it could be offered: no room in the flow table, say. */
void admission_refuse(struct admission *adm, const struct attempt *attempt, enum reason reason);

/* Counts a further packet of an attempt that was already answered for; it costs no attempt. */
void admission_repeat(struct admission *adm, const struct slot *slot);

/* Charges one outside -> inside packet of `ip_bytes` to a tenant's packet and bit quotas: both are
 * tested, then both debited. Counts it when it passes. Owner thread. */
struct decision admission_charge(struct admission *adm, uint32_t tenant, uint32_t ip_bytes,
                                 uint64_t now_ns);

/* Counts one inside -> outside packet; no limit applies. */
void admission_count_out(struct admission *adm, uint32_t tenant, uint32_t ip_bytes);

/* Takes a slot on debt for work that already runs (a flow found mid-way). Bills no attempt. */
void admission_adopt_flow(struct admission *adm, const struct slot *slot);

/* Ends the work of a slot; exactly once per slot admitted or adopted. */
void admission_complete(struct admission *adm, const struct slot *slot, enum outcome outcome);

/* May this refusal be told to the client? Takes from the service's refuse_rate and counts either
 * way; false for form `drop`. */
bool admission_may_answer(struct admission *adm, uint32_t service, uint64_t now_ns);

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
const struct window *admission_tenant_window(const struct admission_shared *shared,
                                             uint32_t tenant);
const struct window *admission_service_window(const struct admission_shared *shared,
                                              uint32_t service);

#endif
