/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in front of every file by builds with ThreadSanitizer. Of several producers of a ring
 * the later one waits for the earlier one with a relaxed load and then releases both their work to
 * the consumer. No machine that DPDK runs on reorders that, but it is not in C11's rules, and
 * ThreadSanitizer would report every packet of the earlier producer. So here the wait acquires.
 */
#include <rte_pause.h>

#define rte_wait_until_equal_32(address, expected, order)                                          \
    rte_wait_until_equal_32(address, expected, __ATOMIC_ACQUIRE)
