/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quotas of a policy as rates of buckets. What is out of range cannot come from a checked
 * configuration; it blocks rather than opens. Pure functions; any thread.
 */
#ifndef SLUICE_ADMISSION_QUOTA_H
#define SLUICE_ADMISSION_QUOTA_H

#include "dataplane/admission/bucket.h"
#include "dataplane/policy/rate.h"

/* Attempts or packets. */
static inline struct bucket_rate quota_rate_of_events(const struct quota_rate *quota)
{
    struct bucket_rate rate;

    if (quota->unlimited)
        bucket_rate_unlimited(&rate);
    else if (!bucket_rate_events(&rate, quota->amount, quota->period_s, quota->burst))
        bucket_rate_events(&rate, 0, 1, 0);
    return rate;
}

/* Bits a second, counted in bytes. */
static inline struct bucket_rate quota_rate_of_bits(const struct quota_rate *quota)
{
    struct bucket_rate rate;

    if (quota->unlimited)
        bucket_rate_unlimited(&rate);
    else if (!bucket_rate_bytes(&rate, quota->amount / 8, quota->burst))
        bucket_rate_bytes(&rate, 0, 0);
    return rate;
}

#endif
