/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Since when a client's piece of work is unserved: from its first refusal, or from an admission
 * that failed. A new attempt of the same client to the same service inside the deadline is a retry
 * of that work, and is counted once in `offered`.
 *
 * Keyed by a 64-bit hash of client and service, which must be keyed itself, so that nobody can
 * choose what collides. Two connections of one client look alike, so what is counted by it is an
 * estimate. Set-associative: eight words of 64 bits in a cache line, the oldest makes room; a
 * question costs one cache line. A word is a tag of 22 bits, a count of 3, and the time in units
 * of 2^20 ns (1.05 ms), 39 bits:
 *  - the time does not wrap around within 18 years of the monotonic clock (2^59 ns);
 *  - a time is given back rounded down, so that work looks up to 1.05 ms older than it is;
 *  - unknown work is taken for a retry at most 8 times in 2^22 questions;
 *  - of a client's pieces that were refused at the same time, because they had waited side by side,
 *    no more than 7 are counted as served later on. Browsers open six connections;
 *  - work is forgotten early when eight newer ones fell into its line. tests/property/
 *    prop_demand_memory.c measures how often, beside Bloom filters of the same size.
 *
 * Shared by all workers, lock-free: one atomic word is all there is to an entry, and nothing else
 * hangs on it, so relaxed order does. Workers that race for one entry may lose it: the work then
 * counts as new, or one served at the same moment as unserved. Times are monotonic ns; a time later
 * than a worker's own, of a clock ahead of its, counts as now.
 */
#ifndef SLUICE_ADMISSION_DEMAND_MEMORY_H
#define SLUICE_ADMISSION_DEMAND_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMAND_WAYS    8u
#define DEMAND_TICK_NS (1ull << 20)

struct demand_memory;

/* Memory for `lines` (a power of two) lines of DEMAND_WAYS entries; few are forgotten early while
 * no more than half of them are in use. Build in zeroed memory of that many bytes, aligned to a
 * cache line; nothing to free but the memory. */
size_t demand_bytes(uint32_t lines);
struct demand_memory *demand_init(void *memory, uint32_t lines);

/* Fetches ahead what the others will look at. */
void demand_prefetch(const struct demand_memory *memory, uint64_t hash);

/* Is work of that client unserved for less than `within_ns`? If so *first_ns is since when. Any
 * worker, as the other two. */
bool demand_find(const struct demand_memory *memory, uint64_t hash, uint64_t within_ns,
                 uint64_t now_ns, uint64_t *first_ns);

/* Notes work that was refused or failed now. The first time is kept while it is younger than
 * `within_ns`. */
void demand_note(struct demand_memory *memory, uint64_t hash, uint64_t within_ns, uint64_t now_ns);

/* The same of work refused for want of capacity: true if that is one more piece of unmet demand.
 * Of a retry (`again`) only if the refusals before were all for other reasons. */
bool demand_note_unmet(struct demand_memory *memory, uint64_t hash, bool again, uint64_t within_ns,
                       uint64_t now_ns);

/* A piece of the work was admitted: true if it was unmet demand, which it is no more. */
bool demand_met(struct demand_memory *memory, uint64_t hash);

/* The work was served; and forgotten, unless pieces of that client's are still unmet. */
void demand_forget(struct demand_memory *memory, uint64_t hash, uint64_t now_ns);

#endif
