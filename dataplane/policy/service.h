/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One service as a policy states it: where it is, how much work it bears, and what becomes of the
 * work beyond that. Plain data. Ranges are what control/config allows; the arrays belong to whoever
 * fills a specification, and to the policy in a snapshot.
 */
#ifndef SLUICE_POLICY_SERVICE_H
#define SLUICE_POLICY_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/address.h"
#include "dataplane/policy/rate.h"

#define POLICY_NAME_MAX   63       /* bytes of a tenant's or service's name */
#define POLICY_WINDOW_MAX 16777216 /* slots, or connections */
#define POLICY_PLACES_MAX 65536    /* waiting places of one service */
#define POLICY_SHARES_MAX 20       /* of one service's window */
#define POLICY_PROBES_MAX 16       /* prefixes of one service's health checks */
#define POLICY_PPM        1000000u

/* Value of the work, lowest first: the order in which shedding takes it. */
enum policy_class { CLASS_BULK, CLASS_NORMAL, CLASS_CRITICAL, CLASS_MAX };

enum policy_protocol { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17 };

/* What a slot counts: a TCP connection, one request and its reply on a TCP connection, or a UDP
 * datagram and its reply. */
enum policy_unit { UNIT_CONNECTION, UNIT_EXCHANGE, UNIT_DATAGRAM };

/* How a refused attempt is told. */
enum policy_refusal { REFUSAL_DROP, REFUSAL_RST };

/* What becomes of a request on an open connection that finds no slot: both ways reset, answered
 * 503, or let through on debt. */
enum policy_turn { TURN_RST, TURN_HTTP, TURN_PASS };

/* Who leaves the queue first. ADAPTIVE: FIFO, and the newest first while it is overloaded. */
enum policy_order { ORDER_FIFO, ORDER_ADAPTIVE, ORDER_DEADLINE, ORDER_MAX };

/* AUTO: as it goes. OPEN, CLOSED: held there by an operator, at run time only. */
enum policy_breaker_mode { POLICY_BREAKER_AUTO, POLICY_BREAKER_OPEN, POLICY_BREAKER_CLOSED };

struct policy_ports {
    uint16_t first, last; /* both included, host byte order */
};

struct policy_wait {
    uint32_t places; /* 0 .. POLICY_PLACES_MAX; 0: nobody waits */
    uint64_t age_ns; /* 1 ms .. 10 s: who waited longer is refused */
    enum policy_order order;
};

/* Kept back from lower classes. */
struct policy_reserve {
    uint32_t slots, places;
};

struct policy_shed {
    uint32_t ceiling_ppm;      /* 0 .. POLICY_PPM, the largest share shed of a class; 0: off */
    struct quota_rate reserve; /* capacity that stays free for bursts of the higher classes */
};

struct policy_breaker {
    uint32_t failures;    /* 1 .. 1000 in a row open it; 0: there is no breaker */
    uint64_t open_ns;     /* 100 ms .. 60 s, the first time; doubles up to open_max_ns */
    uint64_t open_max_ns; /* open_ns .. 1 h */
    uint64_t response_ns; /* to the first byte of a reply, else it has failed; 1 ms .. 10 min */
    enum policy_breaker_mode mode;
};

struct policy_network {
    struct address network; /* host bits are masked by the policy */
    uint8_t bits;           /* 0 .. 128, in the mapped form */
};

/* Health checks, by where they come from. */
struct policy_probes {
    struct policy_network *prefixes;
    uint32_t n;
    struct quota_rate attempts; /* reserved for them */
};

struct policy_slo {
    uint32_t objective_ppm; /* useful share of the offered work; 0: none stated */
    uint64_t latency_ns;    /* a useful reply is no later; 0: none stated */
};

/* One tenant's part of the service's window. */
struct policy_share {
    uint32_t tenant;              /* index into tenants[] */
    uint32_t guaranteed, ceiling; /* slots; the ceiling may be POLICY_WINDOW_MAX: no limit */
    uint32_t weight;              /* 1 .. 1000, among those who borrow */
};

struct policy_service {
    struct address *addresses;
    struct policy_ports *ports;
    uint32_t n_addresses, n_ports;
    uint32_t
        tenant;  /* index into tenants[]: who asks when no prefix matches; POLICY_NONE: default */
    uint32_t id; /* index of the live state that belongs to this name */
    uint32_t window;      /* slots; POLICY_WINDOW_MAX: no limit */
    uint32_t connections; /* live at once, whatever the unit; POLICY_WINDOW_MAX: no limit */
    enum policy_protocol protocol;
    enum policy_unit unit;
    enum policy_refusal refusal;
    bool closed_in_standby; /* no new work while the workers are away and its capacity unknown */
    enum policy_turn turn;
    struct quota_rate refuse_rate; /* answered refusals per period; the rest is dropped */
    struct quota_rate capacity;    /* completions per period; unlimited: not known */
    uint64_t deadline_ns;          /* from the first attempt to the end of the reply; 0: none */
    uint64_t silence_ns; /* 1 ms .. 60 s: an exchange ends when its reply pauses so long */
    struct policy_wait wait;
    struct policy_reserve reserve[CLASS_MAX]; /* of NORMAL and CRITICAL */
    struct policy_shed shed;
    struct policy_breaker breaker;
    struct policy_probes probes;
    struct policy_slo slo;
    struct policy_share *shares;
    uint32_t n_shares; /* 0 .. POLICY_SHARES_MAX */
    /* The operator's ramp, at run time only: this share of the work is admitted at first, all of it
     * after admit_over_ns. POLICY_PPM: no ramp. */
    uint32_t admit_ppm;
    uint64_t admit_over_ns;
    uint32_t admit_orders; /* changes with each order: the ramp then begins anew */
    char name[POLICY_NAME_MAX + 1];
};

/* No limits, no queue, no shedding, no breaker: what a service is that states nothing, but for its
 * place, protocol, unit and form of refusal, which the caller fills in. */
struct policy_service policy_service_unlimited(void);

#endif
