/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to look at which flow again, to the millisecond: exchanges end in silence, and their slots
 * are wanted sooner than the sweep comes by.
 *
 * A ring of SILENCE_SPAN_MS milliseconds, each with the list of flows to look at then, in memory
 * taken at start. Nothing is taken out of it but by its time, so a flow may have spoken meanwhile,
 * have ended, or be another one by now: whoever pops it asks flow_silent(). Full, it takes no more,
 * and the sweep has to find the flow (within FLOW_SWEEP_MS).
 *
 *     first byte of a reply:  push at now + silence, unless FLOW_IS_TIMED; then mark it so
 *     popped, FLOW_REPLIES:   flow_silent()? end the exchange : push at heard_ms + silence
 *     popped, else:           clear FLOW_IS_TIMED
 *
 * So a flow is in it once, however many exchanges it has in that time. Times are of the table's age
 * clock. Each call takes constant time, and steps over each millisecond once. Owner thread only.
 */
#ifndef SLUICE_FLOW_SILENCE_H
#define SLUICE_FLOW_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SILENCE_SPAN_MS 1024

struct silence;

/* Bytes for at most `max` flows (1 .. FLOW_MAX). */
size_t silence_bytes(uint32_t max);

/* Builds the ring in zeroed, cache-line aligned memory. */
struct silence *silence_init(void *memory, uint32_t max);

/* Has the flow (flow_index(), never 0) popped at `due_ms`; at once if that has passed. No later
 * than SILENCE_SPAN_MS - 1 after the last pop, so longer silences are looked at before they are
 * over. False: the ring is full. */
bool silence_push(struct silence *silence, uint32_t flow, uint32_t due_ms);

/* The next flow that is due, or 0. In the order of time; within a millisecond in none. */
uint32_t silence_pop_due(struct silence *silence, uint32_t now_ms);

#endif
