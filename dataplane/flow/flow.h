/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker's flows: fixed memory chosen at start, one index line and one entry line per lookup.
 *
 * A key is the outside endpoint, the inside endpoint, protocol and VLAN, so both directions of a
 * conversation find the same entry. An index line holds FLOW_WAYS (tag, entry) pairs; a key has two
 * candidate lines, and the second is read only while some flow of the first had to move there.
 * When both are full, or no entry is free, flow_insert() says so: flows in the table are never
 * evicted for a new one. With three entries a line at most, both lines of a key are full for about
 * one key in ten thousand when every entry is used, and hardly ever before.
 *
 * Owner thread only, except flow_table_used(), which any thread may read.
 */
#ifndef SLUICE_FLOW_FLOW_H
#define SLUICE_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/packet/packet.h"
#include "dataplane/policy/address.h"

#define FLOW_WAYS 8
#define FLOW_MAX  16777216u /* flows per worker */

struct flow_key {
    struct address outside, inside;
    uint16_t outside_port, inside_port;
    uint32_t tags; /* protocol << 24 | inner VLAN id << 12 | outer VLAN id */
};

enum flow_state {
    FLOW_FREE,
    FLOW_OPENING,     /* TCP SYN passed, the service has not answered */
    FLOW_ANSWERED,    /* the service's SYN-ACK passed */
    FLOW_ESTABLISHED, /* the client's ACK or data passed; UDP: any datagram */
    FLOW_CLOSING,     /* one FIN passed */
    FLOW_LINGERING,   /* the client reset it, the service has not confirmed */
    FLOW_SHUT,        /* ended by our own answer to both sides: what still comes is dropped */
    FLOW_CLOSED,      /* both FINs or the service's RST passed; kept for stragglers */
};

#define FLOW_SENT_BITS 14

/* Exactly one cache line. */
struct flow {
    struct flow_key key;
    uint8_t state : 3; /* enum flow_state */
    uint8_t share : 5; /* of the service's window. The owner's, as `held` */
    uint8_t flags;     /* FLOW_HAS_* and the like */
    uint16_t service;  /* id; FLOW_NO_SERVICE */
    uint16_t tenant;   /* id */
    uint8_t held;      /* SLOT_* of its slot, and of its connection */
    uint8_t marks;     /* FLOW_IS_TIMED and the like */
    uint32_t heard_ms; /* last sign of life on the table's age clock (lifecycle.h says which) */
    uint32_t began;    /* the attempt, or the exchange that runs or ran last; flow_time() */
    union {
        uint32_t slot_since; /* FLOW_HAS_SLOT: when it was taken; flow_time(). The owner's */
        uint32_t waiter;     /* FLOW_WAITS: index of its waiter. The owner's */
    };
    /* Of exchanges, once the service has replied: low bits of the sequence numbers up to which it
     * had the client's data when it last did, and up to which it has sent its own. */
    uint16_t acked;
    uint16_t sent : FLOW_SENT_BITS;
    uint16_t unit : 2; /* enum policy_unit, from flow_restart() */
} __attribute__((aligned(64)));

#define FLOW_NO_SERVICE 0xffffu

/* flags */
#define FLOW_HAS_SLOT        0x01 /* a slot is held; cleared by the owner exactly once */
#define FLOW_HAS_FIN_OUTSIDE 0x02
#define FLOW_HAS_FIN_INSIDE  0x04
#define FLOW_ASKED_OUTSIDE   0x08 /* UDP the inside started: one datagram back passes unasked */
#define FLOW_OWES            0x10 /* TCP: data of the client passed, no byte of the reply since */
#define FLOW_REPLIES         0x20 /* exchange: its reply has begun and has not ended */
#define FLOW_UNHEARD         0x40 /* TCP: no byte of the service's since the SYN */
#define FLOW_WAITS           0x80 /* its packet is held until there is a slot. The owner's */

/* marks */
#define FLOW_IS_TIMED  0x01 /* it stands in the ring of silences. The owner's */
#define FLOW_STRAGGLES 0x02 /* closed, and the service still sends data: a client that vanished */
#define FLOW_RETRIED   0x04 /* the SYN has been repeated */
#define FLOW_SPEAKS    0x08 /* lingering, and the client sends on: its RST may be forged */
#define FLOW_RESYN     0x10 /* open, and a SYN came: its client may have begun anew */
/* The owner's, kept until the flow is started anew: */
#define FLOW_CONNECTED 0x20 /* holds a place among its service's connections */
#define FLOW_FIRST     0x40 /* its first request has not come */
#define FLOW_HEALTH    0x80 /* a health check's */

/* held, beside SLOT_*: of the work that runs */
#define FLOW_REPORTED 0x40 /* the breaker has heard of it */
#define FLOW_FAILED   0x80 /* its reply says that it failed */

/* Time of `began` and `slot_since`: units of 2^14 ns (16 us), which come round after 19 hours. */
#define FLOW_TICK_SHIFT 14

static inline uint32_t flow_time(uint64_t now_ns)
{
    return (uint32_t)(now_ns >> FLOW_TICK_SHIFT);
}

static inline uint64_t flow_since_ns(uint32_t then, uint64_t now_ns)
{
    return (uint64_t)(uint32_t)(flow_time(now_ns) - then) << FLOW_TICK_SHIFT;
}

/* Since the attempt or exchange began. */
static inline uint64_t flow_elapsed_ns(const struct flow *flow, uint64_t now_ns)
{
    return flow_since_ns(flow->began, now_ns);
}

_Static_assert(sizeof(struct flow_key) == 40,
               "no padding: the key is hashed and compared as words");
_Static_assert(sizeof(struct flow) == 64, "an entry is one cache line");
_Static_assert(FLOW_CLOSED < 1 << 3, "a state fits its bits");

struct flow_table;

/* Bytes for at most `max` flows (1 .. FLOW_MAX). */
size_t flow_table_bytes(uint32_t max);

/* Builds the table in zeroed, cache-line aligned memory. `seed` keys the hash: keep it secret, so
 * that nobody outside can choose flows that collide. */
struct flow_table *flow_table_init(void *memory, uint32_t max, const uint64_t seed[4]);

/* Keyed hash of a key, the same for both directions. */
uint64_t flow_hash(const struct flow_table *table, const struct flow_key *key);

struct flow *flow_find(struct flow_table *table, const struct flow_key *key, uint64_t hash);

/* One lookup of a burst: `key` is asked for, `hash` and `flow` are the answer. A key without tags
 * asks for nothing. */
struct flow_query {
    struct flow_key key;
    uint64_t hash;
    struct flow *flow; /* NULL: not in the table */
} __attribute__((aligned(64)));

/* Many lookups at once, so that their waits for memory overlap. */
void flow_find_burst(struct flow_table *table, struct flow_query *queries, unsigned n);

/* Would flow_insert() find a place for a key with this hash? */
bool flow_has_room(const struct flow_table *table, uint64_t hash);

/* A new entry with that key, state FLOW_OPENING, all else zero; NULL when there is no room. The key
 * must not be in the table. */
struct flow *flow_insert(struct flow_table *table, const struct flow_key *key, uint64_t hash);

/* Frees an entry; the caller has ended its slot. */
void flow_remove(struct flow_table *table, struct flow *flow);

/* A flow's number in the table, 1 .. max, and back: for whom pointers are too large. Numbers of
 * removed flows are given to others, or name an entry in state FLOW_FREE. */
uint32_t flow_index(const struct flow_table *table, const struct flow *flow);
struct flow *flow_at(struct flow_table *table, uint32_t index);

uint32_t flow_table_used(const struct flow_table *table);
uint32_t flow_table_max(const struct flow_table *table);

/*
 * The age clock: milliseconds that passed while the worker was awake. A step of more than
 * FLOW_TICK_MAX_MS (a paused machine) counts as that much only, because packets may have come that
 * nobody saw. Returns the age clock.
 */
#define FLOW_TICK_MAX_MS 1000
uint32_t flow_table_tick(struct flow_table *table, uint64_t now_ns);
uint32_t flow_table_now_ms(const struct flow_table *table);

/*
 * Visits the entries in turn, a share of the table that fits the time since the last call (the
 * whole table in FLOW_SWEEP_MS), and calls `visit` for each one in use. `visit` may remove its
 * entry. True when it has come to the end of the table; what is still due is left to the next call,
 * which begins anew.
 */
#define FLOW_SWEEP_MS 256
typedef void flow_visit(struct flow_table *table, struct flow *flow, void *context);
bool flow_table_sweep(struct flow_table *table, flow_visit *visit, void *context);

#endif
