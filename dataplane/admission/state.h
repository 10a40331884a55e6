/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What admission keeps: what all workers share, and the leases, waiters and counters of one
 * worker. Private to dataplane/admission.
 */
#ifndef SLUICE_ADMISSION_STATE_H
#define SLUICE_ADMISSION_STATE_H

#include "dataplane/admission/admission.h"
#include "dataplane/admission/advice.h"
#include "dataplane/admission/answered.h"
#include "dataplane/admission/demand_memory.h"
#include "dataplane/admission/lease.h"
#include "dataplane/admission/occupancy.h"
#include "dataplane/admission/reserve.h"
#include "dataplane/admission/retry.h"
#include "dataplane/admission/share.h"
#include "dataplane/admission/wait.h"

#define ADMISSION_NONE UINT32_MAX
#define AGE_CELLS      64u

/* An event bucket has a pool for each period, because credits of different periods are different
 * units: a change of period moves the tokens from one pool to another. */
enum period_index { PERIOD_SECOND, PERIOD_MINUTE, PERIOD_HOUR, PERIOD_DAY, PERIOD_MAX };

/* -- shared by all workers -- */

struct tenant_shared {
    struct pool attempts[PERIOD_MAX], packets[PERIOD_MAX];
    struct pool bits;
    struct window window;
    struct occupancy occupancy;
    uint32_t retries __attribute__((aligned(64))); /* retry.h */
    /* The rates in force, or last in force of a name that is gone: control thread only. */
    struct quota_rate attempts_rate, packets_rate, bits_rate;
    uint32_t milli_erlangs;
    bool seen;
} __attribute__((aligned(64)));

struct service_shared {
    struct advice advice; /* from the control thread, once a period */
    struct breaker breaker;
    struct window window;                 /* opening: of a SYN whose client has not confirmed yet */
    struct window shares[SHARES_MAX + 1]; /* of the window; unused while the service names none */
    struct window waiting;                /* over all workers, */
    struct window places[SHARES_MAX + 1]; /* and of whose share */
    struct window connections;            /* unit exchange: open ones */
    struct window health;                 /* the slot reserved for health checks */
    struct pool refusals[PERIOD_MAX], health_tokens[PERIOD_MAX];
    struct quota_rate refusals_rate, health_rate; /* as a tenant's */
    enum breaker_mode breaker_mode;               /* in force: control thread only */
    bool seen;
} __attribute__((aligned(64)));

/* Raised when a worker's leases were reclaimed; read by that worker alone. */
struct generation {
    uint32_t number; /* atomic */
} __attribute__((aligned(64)));

struct admission_shared {
    struct admission_size size;
    struct tenant_shared *tenants;
    struct service_shared *services;
    struct demand_memory *demand; /* NULL: none */
    struct generation *generations;
    struct gateway_advice gateway;
};

/* -- one worker's -- */

/* What the slots of a service are counted in beside its window, for the survey. */
enum slot_part {
    PART_OPENING, /* the window of what is not confirmed; such a slot is in one of the others, too
                   */
    PART_NO_SHARE,
    PART_SHARE, /* of share number 0; the others follow */
    PART_MAX = PART_SHARE + SHARES_MAX + 1,
};

static inline enum slot_part slot_part(const struct slot *slot)
{
    return slot->held & SLOT_SHARED ? (enum slot_part)(PART_SHARE + slot->share) : PART_NO_SHARE;
}

/*
 * One tenant on one worker. The leases come first, a line each; then what every packet needs; the
 * counters stand apart.
 */
struct tenant_state {
    struct lease attempts, packets, bits;
    struct pool *attempts_pool, *packets_pool, *bits_pool;
    uint32_t window;        /* slots */
    uint32_t milli_erlangs; /* POLICY_ERLANGS_UNLIMITED */
    uint32_t next_held;     /* in the queue of who has leases */
    uint8_t class;          /* enum policy_class */
    bool metered;           /* packets or bits are limited */
    bool held;              /* in that queue */
    /* as a service's; surveyed counts in pass survey_pass, and the last slot was taken in
     * taken_pass */
    uint32_t slots, surveyed, survey_pass, taken_pass;
    struct admission_tenant_counters counters __attribute__((aligned(64)));
} __attribute__((aligned(64)));

/* What the policy in force says of a service, in the form in which attempts need it. */
struct service_rules {
    uint32_t window[CLASS_MAX]; /* slots a class may bring the use to */
    uint32_t places[CLASS_MAX]; /* and waiting attempts */
    uint32_t connections, opening;
    uint32_t n_shares; /* rules of shares[] in use; 0: the window is everybody's */
    uint64_t deadline_ns, wait_age_ns, retry_ns;
    enum policy_order order;
    bool answers; /* refusal form is not `drop` */
    bool judged;  /* has a breaker */
    bool opens;   /* its connections hold slots before the client has confirmed them */
    struct share_rules shares[SHARES_MAX + 1], place_shares[SHARES_MAX + 1];
    struct breaker_rules breaker;
};

struct service_state {
    struct lease refusals, health;
    struct pool *refusals_pool, *health_pool;
    struct service_rules rules;
    struct wait_queue queue;
    struct wait_sojourn sojourn;
    uint32_t next_held;    /* as a tenant's */
    uint32_t next_waiting; /* in the list of services with waiters */
    bool held, listed;     /* in the first, in the second */
    /* Of the service's waiting, this worker's, by whose share they count; the last are nobody's.
     * Atomic. */
    uint32_t places[SHARES_MAX + 2];
    /* published: a bit for each hash of who asked, since clients_ns and in the window before */
    uint64_t clients, clients_before;
    uint64_t clients_ns;
    /* Slots by age, in cells of doubling ns: of the pass under way, and of the last, published. */
    uint32_t survey[AGE_CELLS], running[AGE_CELLS];
    bool ages_known;          /* in running */
    uint32_t slots_moved;     /* a bit for each part, since the pass began */
    uint32_t slots;           /* taken and not given back on this worker, */
    uint32_t parts[PART_MAX]; /* and of each part */
    /* Found in the pass under way, and how many fewer the last one found, if nothing moved. */
    uint32_t surveyed, found[PART_MAX], lost[PART_MAX];
    struct admission_service_counters counters __attribute__((aligned(64)));
    /* SYN to SYN-ACK; attempt to the end of a useful reply, and of any other; how long what was not
     * useful was waited for; slot to end of reply */
    struct histogram connect, useful, useless, missed, held_for;
} __attribute__((aligned(64)));

struct admission {
    struct admission_shared *shared;
    struct tenant_state *tenants;
    struct service_state *services;
    struct answered *answered; /* NULL: nothing is remembered */
    struct wait_pool *waiters;
    const struct generation *generation;
    struct admission_size size;
    /* Queue of who has leases: tenants by id, services by n_tenants + id. ADMISSION_NONE: empty */
    uint32_t first_held, last_held;
    uint32_t first_waiting; /* services with waiters */
    bool any_erlangs;       /* some tenant has a quota of them */
    uint32_t survey_pass;
    uint32_t owed;        /* lost slots given back to services, not yet to tenants */
    uint32_t n_displaced; /* waiters that were displaced and do not know it yet */
    struct waiter displaced[ADMISSION_DISPLACED_MAX];
};

/* One writer: a plain load and a relaxed store, so that readers never see half a number. */
static inline void admission_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint32_t admission_generation(const struct admission *adm)
{
    return __atomic_load_n(&adm->generation->number, __ATOMIC_RELAXED);
}

static inline void tenant_count_packet(struct tenant_state *t, enum direction direction,
                                       uint32_t ip_bytes)
{
    admission_count(&t->counters.packets[direction], 1);
    admission_count(&t->counters.bytes[direction], ip_bytes);
}

/* limits.c: false: the service has no breaker. */
bool limits_breaker(const struct policy_breaker *breaker, struct breaker_rules *rules);

/* leases.c: remembers who holds leases, so that admission_tidy() finds it. */
void admission_queue_tenant(struct admission *adm, uint32_t tenant);
static inline void admission_note_tenant(struct admission *adm, uint32_t tenant)
{
    if (!adm->tenants[tenant].held)
        admission_queue_tenant(adm, tenant);
}
void admission_note_service(struct admission *adm, uint32_t service);

/* slots.c: a slot in the windows of tenant, share and service, or in none of them. */
struct slot_wish {
    uint32_t tenant, service;
    uint8_t share;
    uint8_t class; /* enum policy_class */
    bool health;   /* may have the slot reserved for health checks */
    bool opening;  /* is a connection the client has to confirm */
};
enum reason slot_take(struct admission *adm, const struct slot_wish *wish, uint8_t *held);
void slot_give_back(struct admission *adm, const struct slot *slot);

/* waiting.c: gives back the places of a dead worker's waiters. */
void waiting_reclaim(struct admission *dead, uint32_t service);

/* quotas.c: of an attempt; all or none. */
enum reason quotas_take(struct admission *adm, const struct attempt *attempt, uint64_t now_ns);
void quotas_give_back(struct admission *adm, uint32_t tenant, uint32_t ip_bytes);
/* Until the quota that refused has what was missing; UINT64_MAX: never. */
uint64_t quotas_wait_ns(const struct admission *adm, const struct attempt *refused,
                        enum reason reason, uint64_t now_ns);

#endif
