/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a client that was refused waits before it tries again. */
#ifndef SLUICE_LOAD_BACKOFF_H
#define SLUICE_LOAD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct backoff {
    uint64_t base_ns, max_ns; /* base not above max */
    bool jitter;              /* full jitter (Brooker 2015), else always the whole time */
};

/* Before retry `n` (0: the first): min(max, base x 2^n), with jitter times `uniform` of (0, 1]. */
uint64_t backoff_wait_ns(const struct backoff *backoff, uint32_t n, double uniform);

#endif
