/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is kept back for the more valuable classes of work, of a service's slots and of its places
 * to wait: trunk reservation as of telephone exchanges. A class may use a limit up to what the
 * classes above it have reserved; what is reserved for a class itself it shares with those above.
 */
#ifndef SLUICE_ADMISSION_RESERVE_H
#define SLUICE_ADMISSION_RESERVE_H

#include <stdint.h>

#include "dataplane/policy/policy.h"

/* How many of `limit` may be used, by everybody together, when one of class `c` enters. `reserve`
 * has the slots or places kept for each class; more than there are keeps them all. */
static inline uint32_t reserve_limit(uint32_t limit, const uint32_t reserve[CLASS_MAX],
                                     enum policy_class c)
{
    for (unsigned higher = (unsigned)c + 1; higher < CLASS_MAX; higher++)
        limit = limit > reserve[higher] ? limit - reserve[higher] : 0;
    return limit;
}

#endif
