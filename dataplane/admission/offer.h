/* SPDX-License-Identifier: BSD-3-Clause */
/* What offer.c, waiting.c and ending.c share. Private to dataplane/admission. */
#ifndef SLUICE_ADMISSION_OFFER_H
#define SLUICE_ADMISSION_OFFER_H

#include "dataplane/admission/state.h"

/* One key for a client's work for a service. */
static inline uint64_t demand_key(uint64_t client, uint32_t service)
{
    return client ^ (service + 1ull) * 0x9e3779b97f4a7c15ull;
}

static inline uint64_t age_since_ns(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* An attempt that was tried and refused. */
struct refused {
    uint32_t tenant, service;
    enum reason reason;
    bool retry;           /* of work that was counted before */
    bool known;           /* the memory of unserved work has just said so */
    bool syn;             /* a repeat of its packet gets the same answer */
    uint64_t client, key; /* key: answered_key(), given `syn` */
};

/* Counts a refusal, and remembers it. */
void offer_refused(struct admission *adm, const struct refused *refused, uint64_t now_ns);

/* Counts an admitted attempt of `client`; `retry`: of work that was asked for before. What quotas
 * had refused, or what had failed, was no unmet demand. */
static inline void offer_admitted(struct admission *adm, const struct slot *slot, uint64_t client,
                                  bool retry)
{
    struct admission_service_counters *s = &adm->services[slot->service].counters;

    admission_count(&adm->tenants[slot->tenant].counters.admitted, 1);
    admission_count(&s->admitted, 1);
    if (retry && adm->shared->demand &&
        demand_met(adm->shared->demand, demand_key(client, slot->service)))
        admission_count(&s->served_late, 1);
    if (slot->held & SLOT_HEALTH)
        admission_count(&s->health, 1);
}

/* Of a waiter. */
#define WAITER_RETRY      0x01 /* its work was counted before */
#define WAITER_PAID_RETRY 0x02 /* from the budget */
#define WAITER_SYN        0x04 /* ATTEMPT_SYN */
#define WAITER_SHARED     0x10 /* its place is one of its share's */
#define WAITER_OPENS      0x08 /* its slot is one that the client has to confirm */

/* waiting.c: a place to wait for an attempt with its quotas taken; its number, or ADMISSION_NONE.
 */
uint32_t waiting_enter(struct admission *adm, const struct waiter *waiter);

#endif
