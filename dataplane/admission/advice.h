/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control thread tells the workers once a period: probabilities, and what can be promised.
 * Written field by field with relaxed stores, read with every attempt; never waited for.
 * `stamped_ns` ages it: what a stalled control thread said last loses its force (shed.h).
 */
#ifndef SLUICE_ADMISSION_ADVICE_H
#define SLUICE_ADMISSION_ADVICE_H

#include <stdint.h>

#include "dataplane/admission/promise.h"
#include "dataplane/policy/policy.h"

/* Probabilities are p * 2^32. */
struct advice {
    uint32_t shed[CLASS_MAX];
    uint32_t turned_away; /* by the operator's ramp: 0, or the share that is not let in yet */
    uint32_t by_attempt;  /* few clients: hash each attempt, not who asks */
    uint32_t retry_after_s;
    uint32_t epoch; /* of the hashes: which clients are shed changes once in a while */
    uint64_t stamped_ns;
    struct promise promise;
} __attribute__((aligned(64)));

/* The gateway's own overload, for all services. */
struct gateway_advice {
    uint32_t shed[CLASS_MAX];
    uint64_t stamped_ns;
} __attribute__((aligned(64)));

#endif
