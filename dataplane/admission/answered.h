/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one worker has answered lately: which attempts were refused, and why. A SYN that comes again
 * gets the same answer and costs no quota; it is a packet of the same attempt. Where the refusal
 * was silent, a client's stack repeats its SYN after 1 s; a Windows client asks about three times
 * more even after an RST (KB175523).
 *
 * The same are SYNs with one 4-tuple and one initial sequence number. A 4-tuple alone does not say
 * so: Linux moves its choice of ports every ten seconds, to where it may have been two seconds ago,
 * and behind an address that many share they go round sooner; of 2400 connects in six seconds up to
 * 29 had the ports of another.
 *
 * Set-associative: four ways in a line of 64 bytes, so a question costs one cache line; the oldest
 * way makes room. An attempt that was forgotten so is asked about anew, as any other. Keys are
 * hashes of 64 bits; a hash must be keyed, so that nobody can choose what collides. 56 bits are
 * kept beside the line's number: two attempts in a line are taken for one once in 2^56.
 * Times are whole 64-bit nanoseconds, monotonic, of the caller's clock: nothing wraps around.
 *
 * Belongs to one worker.
 */
#ifndef SLUICE_ADMISSION_ANSWERED_H
#define SLUICE_ADMISSION_ANSWERED_H

#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/verdict.h"

/* An answer stands for so long after the first refusal; repeats do not prolong it. */
#define ANSWERED_NS 3000000000ull

struct answered;

/* Memory for `lines` (a power of two) lines of four answers. Build in zeroed memory of that many
 * bytes, aligned to a cache line; nothing to free but the memory. */
size_t answered_bytes(uint32_t lines);
struct answered *answered_init(void *memory, uint32_t lines);

/* The hash of an attempt, from that of its flow and its SYN's sequence number. */
static inline uint64_t answered_key(uint64_t flow, uint32_t isn)
{
    return flow ^ isn * 0x9e3779b97f4a7c15ull;
}

/* Fetches ahead what answered_find() will look at. */
void answered_prefetch(const struct answered *answered, uint64_t hash);

/* Why that attempt was refused in the last ANSWERED_NS; REASON_NONE: not known. */
enum reason answered_find(const struct answered *answered, uint64_t hash, uint64_t now_ns);

/* Remembers a refusal. If there is one already that still stands, that one is kept. */
void answered_note(struct answered *answered, uint64_t hash, enum reason reason, uint64_t now_ns);

/* The attempt was let in after all, or its ports belong to new work. */
void answered_forget(struct answered *answered, uint64_t hash);

#endif
