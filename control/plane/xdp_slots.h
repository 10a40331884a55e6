/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots of a prefix table, as bpf/slots.h searches them. Control thread.
 */
#ifndef SLUICE_PLANE_XDP_SLOTS_H
#define SLUICE_PLANE_XDP_SLOTS_H

#include "bpf/slots.h"
#include "dataplane/policy/prefix.h"

/* How many slots there are of a table: one fewer than it has, for its last one is nobody's but an
 * end. */
uint32_t xdp_slots_count(const struct prefix_view *view);

/* Writes them all. `ranges` are those of `view`, perhaps with other values. */
void xdp_slots_fill(struct xdp_slot *slots, const struct prefix_view *view,
                    const struct prefix_range *ranges);

#endif
