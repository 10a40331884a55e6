/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search of a service map (service_map.h), over an array that the caller knows how to read:
 * that of a policy, or a map of the XDP program. Compiles for BPF.
 */
#ifndef SLUICE_POLICY_SERVICE_SEARCH_H
#define SLUICE_POLICY_SERVICE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/policy/address.h"

/* Ports of one address that belong to a service: protocol << 16 | port, `last` included. Sorted by
 * the halves of the address, as numbers of whatever byte order, then by port. */
struct service_span {
    uint64_t halves[2];
    uint32_t first, last;
    uint32_t service;
};

#define SERVICE_SPANS_MAX 4194304
#define SERVICE_STEPS_MAX 23 /* of a search among SERVICE_SPANS_MAX spans */

/* Elements of the array; NULL only where a number is out of range. */
typedef const struct service_span *service_span_fn(const void *array, uint32_t number);

/* Does the span start behind that place? */
static inline bool service_span_is_above(const struct service_span *span,
                                         const struct address *address, uint32_t port)
{
    if (span->halves[0] != address->halves[0])
        return span->halves[0] > address->halves[0];
    if (span->halves[1] != address->halves[1])
        return span->halves[1] > address->halves[1];
    return span->first > port;
}

/* Of the `n` spans from number `base`, the last that starts at the place or before it; the first
 * one if none does, NULL if there are none. The function is inlined: BPF has no calls by pointer.
 */
static inline __attribute__((always_inline)) const struct service_span *
service_span_before(uint32_t base, uint32_t n, const struct address *address, uint32_t port,
                    const void *array, service_span_fn *span_at)
{
    const struct service_span *span;

    if (n == 0)
        return NULL;
    for (int step = 0; step < SERVICE_STEPS_MAX && n > 1; step++) {
        span = span_at(array, base + n / 2);
        if (span && !service_span_is_above(span, address, port))
            base += n / 2;
        n -= n / 2;
    }
    return span_at(array, base);
}

static inline bool service_span_is_of(const struct service_span *span,
                                      const struct address *address)
{
    return span->halves[0] == address->halves[0] && span->halves[1] == address->halves[1];
}

static inline bool service_span_holds(const struct service_span *span,
                                      const struct address *address, uint32_t port)
{
    return service_span_is_of(span, address) && span->first <= port && port <= span->last;
}

static inline uint32_t service_place(uint8_t protocol, uint16_t port)
{
    return (uint32_t)protocol << 16 | port;
}

#endif
