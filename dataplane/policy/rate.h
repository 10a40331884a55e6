/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rate as an operator states it, before it becomes credits (dataplane/admission/bucket.h):
 * `amount` per `period_s` seconds, `burst` beyond the steady rate at once. amount = 0 blocks;
 * `unlimited` is a flag of its own, never a number.
 */
#ifndef SLUICE_POLICY_RATE_H
#define SLUICE_POLICY_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct quota_rate {
    uint64_t amount;   /* attempts, packets or bits */
    uint64_t burst;    /* attempts, packets or bytes */
    uint32_t period_s; /* 1, 60, 3600 or 86400; bits are always per second */
    bool unlimited;
};

#endif
