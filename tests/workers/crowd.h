/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients and services around the gate that talk in turns, and do not always behave. Nobody keeps
 * state: who receives a frame turns it into what comes next, and now and then into something else:
 * nothing (it has vanished), a RST, a FIN, the same twice, or the right thing too late. So any
 * order of events that peers can bring about comes about. Main thread.
 */
#ifndef SLUICE_TESTS_WORKERS_CROWD_H
#define SLUICE_TESTS_WORKERS_CROWD_H

#include "tests/workers/gate.h"

enum crowd_service {
    CROWD_WEB /* a slot is a connection */,
    CROWD_API /* an exchange */,
    CROWD_SERVICES
};
enum crowd_tenant { CROWD_BULK, CROWD_NORMAL, CROWD_CRITICAL, CROWD_PROBE, CROWD_TENANTS };

#define CROWD_WEB_ADDRESS "10.9.0.10"
#define CROWD_API_ADDRESS "10.9.0.11"
#define CROWD_PORT        80
#define CROWD_NETWORK     10u /* of the first tenant: 10.0.0.0/9; the next: 11.0.0.0/9, ... */

struct crowd {
    struct rte_mempool *pool;
    uint64_t random;
    unsigned oddity_percent; /* of what is received is not answered as it should be */
    bool services_are_silent;
    uint32_t next_flow;
    uint64_t sent, received;  /* frames */
    uint64_t replies, resets; /* that clients have seen */
};

extern struct crowd crowd;

/* Policy of an epoch, of both services and all tenants: its limits are others each time. The
 * caller's.
 */
struct policy *crowd_policy(uint64_t epoch);

void crowd_open(void);
void crowd_close(void);

/* Frames on their way, or in the hands of a slow service. */
unsigned crowd_under_way(void);

/* A client of the next flow that worker `owner` owns (WORKERS: of any) asks a service; false when
 * no buffer is left. */
bool crowd_begin(enum crowd_service service, uint32_t owner);

/* Takes what the gate has sent and goes on; returns how many frames it sent or received. */
unsigned crowd_answer(void);

/* Takes what the gate has sent and throws it away; returns how many frames. */
unsigned crowd_discard(void);

#endif
