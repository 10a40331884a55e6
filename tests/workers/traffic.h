/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients and the service around the gate. A flow is SYN, SYN-ACK, FIN, FIN: one buffer goes
 * around, for whoever receives a frame turns it into the answer and puts it on some queue, mostly
 * of a worker that does not own the flow. What the gate loses comes back to the pool by itself.
 * Main thread.
 */
#ifndef SLUICE_TESTS_WORKERS_TRAFFIC_H
#define SLUICE_TESTS_WORKERS_TRAFFIC_H

#include "tests/workers/gate.h"

#define TRAFFIC_SERVICE        "10.9.0.10"
#define TRAFFIC_PORT           80
#define TRAFFIC_DATA_BYTES     6u         /* in a frame that has data */
#define TRAFFIC_CAPPED_NETWORK "11.0.0.0" /* of the tenant whose attempts are limited: /9 */

struct traffic {
    struct rte_mempool *pool;
    uint64_t random;
    uint32_t next_flow; /* each number is used for one flow */
    /* frames by what they are */
    uint64_t sent, received;
    uint64_t syns_sent, syns_seen, refusals_seen, flows_closed;
};

extern struct traffic traffic;

void traffic_open(void);
void traffic_close(void);

/* The same and the gate before it, for a group of tests; afterwards, what still runs is stopped. */
int traffic_set_up(void **state);
int traffic_tear_down(void **state);

/* Buffers on their way through the gate, or lost in it. */
unsigned traffic_under_way(void);

uint32_t traffic_owner(uint32_t flow);    /* worker */
bool traffic_is_capped(uint32_t flow);    /* of TENANT_CAPPED? */
uint32_t traffic_flow_of(uint32_t owner); /* the next flow of that worker; WORKERS: of any */

/* A SYN of the flow into a queue of the outside device; false when no buffer is left. */
bool traffic_open_flow(uint32_t flow, unsigned queue);

/* Frames of flow that are no answer: into a queue of the device. */
bool traffic_send(uint32_t flow, enum direction direction, uint8_t tcp_flags, unsigned queue);

/* The same with data. */
bool traffic_send_data(uint32_t flow, enum direction direction, uint8_t tcp_flags, unsigned queue);

/* Data with these sequence numbers (those of all other frames are 0). */
struct traffic_numbers {
    uint32_t seq, ack;
};
bool traffic_send_numbered(uint32_t flow, enum direction direction, struct traffic_numbers numbers,
                           unsigned queue);

/* Control traffic into a queue of the outside device. */
bool traffic_send_arp(unsigned queue);

/* Takes what the gate has sent and answers it; returns how many frames. */
unsigned traffic_answer(void);

/* Takes what the gate has sent and throws it away; returns how many frames. */
unsigned traffic_discard(void);

#endif
