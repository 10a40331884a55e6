/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/backoff.h"

uint64_t backoff_wait_ns(const struct backoff *backoff, uint32_t n, double uniform)
{
    uint64_t wait_ns = backoff->max_ns;

    if (n < 64 && backoff->base_ns <= backoff->max_ns >> n)
        wait_ns = backoff->base_ns << n;
    return backoff->jitter ? (uint64_t)((double)wait_ns * uniform) : wait_ns;
}
