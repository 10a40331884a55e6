/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches of packets into and out of the rings, and the base: the least that a forwarder can do.
 */
#ifndef SLUICE_BENCH_TRAFFIC_H
#define SLUICE_BENCH_TRAFFIC_H

#include "tools/bench/frames.h"
#include "tools/bench/scene.h"

/* Puts a packet of each of the batch's `n` flows into a receive ring. False: no buffers. */
bool traffic_send(struct scene *scene, struct side *side, unsigned n, struct frame_kind kind);

/* Takes the batch back out of a transmit ring. False unless all `n` came, each as `expected`. */
bool traffic_collect(struct side *side, unsigned n, bool (*expected)(const uint8_t *frame));

/* Takes `n` waiting packets through the journey of a worker. */
void traffic_journey(struct scene *scene, unsigned n, enum direction direction);

/* The base: receives them in the same bursts, swaps their MAC addresses, sends them on. */
void traffic_swap_macs(struct scene *scene, unsigned n);

#endif
