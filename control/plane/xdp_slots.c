/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/xdp_slots.h"

uint32_t xdp_slots_count(const struct prefix_view *view)
{
    return view->n_slots - 1;
}

/* The range that the next slot begins in, unless it begins there itself. */
static uint32_t last_range(const struct prefix_view *view, uint32_t slot)
{
    const uint32_t last = view->slots[slot + 1];
    const struct prefix_range *range = &view->ranges[last];

    if (last == view->slots[slot])
        return last;
    return prefix_slot_of(view->shape,
                          (struct prefix_point){range->first_high, range->first_low}) == slot
               ? last
               : last - 1;
}

void xdp_slots_fill(struct xdp_slot *slots, const struct prefix_view *view,
                    const struct prefix_range *ranges)
{
    for (uint32_t i = 0; i < xdp_slots_count(view); i++) {
        const uint32_t first = view->slots[i], n = last_range(view, i) - first + 1;

        slots[i] = n == 1 ? (struct xdp_slot){.first = ranges[first].value}
                          : (struct xdp_slot){.first = first, .n = n};
    }
}
