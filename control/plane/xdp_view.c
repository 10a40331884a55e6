/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/xdp_view.h"

#include <stdio.h>

#include "control/plane/xdp_parts.h"

uint32_t xdp_count(const struct xdp *xdp)
{
    return xdp ? xdp->n_interfaces : 0;
}

/* Of the worker that has been silent longest; false: one has not begun, or there is none. */
static bool oldest_heartbeat(const struct xdp *xdp, const struct xdp_interface *interface,
                             uint64_t now_ns, uint64_t *age_ns)
{
    *age_ns = 0;
    for (uint32_t w = 0; w < XDP_WORKERS_MAX; w++) {
        uint64_t then_ns;

        if (!(interface->workers >> w & 1))
            continue;
        then_ns = __atomic_load_n(&xdp->maps.arrays.heartbeats[w].now_ns, __ATOMIC_RELAXED);
        if (!then_ns)
            return false;
        if (now_ns > then_ns && now_ns - then_ns > *age_ns)
            *age_ns = now_ns - then_ns;
    }
    return interface->workers != 0;
}

/* Programs can be taken away by anybody who may; only a look tells. */
static void look_again(const struct xdp_interface *interface, struct xdp_view *view)
{
    struct xdp_attached now;

    if (xdp_query(interface->index, &now) == 0 && now.id == interface->attached.id)
        return;
    view->state = XDP_STATE_OFF;
    view->mode = NULL;
    view->program = 0;
    snprintf(view->why, sizeof(view->why), "somebody has taken program %u away",
             interface->attached.id);
}

void xdp_view(const struct xdp *xdp, uint32_t index, uint64_t now_ns, struct xdp_view *view)
{
    const struct xdp_interface *interface = &xdp->interfaces[index];

    *view = (struct xdp_view){.gate = interface->gate->name,
                              .side = interface->side,
                              .device = interface->device,
                              .interface = interface->name[0] ? interface->name : NULL,
                              .wanted = &interface->gate->xdp};
    snprintf(view->why, sizeof(view->why), "%s", interface->why);
    if (!interface->on)
        return;
    view->mode = xdp_mode_name(interface->attached.mode);
    view->program = interface->attached.id;
    view->pins = xdp->maps.pinned ? xdp->settings->control.pins : NULL;
    view->counts = xdp_count_port(xdp, interface->port);
    view->alive = oldest_heartbeat(xdp, interface, now_ns, &view->heartbeat_age_ns);
    view->state = view->alive && view->heartbeat_age_ns <= interface->gate->xdp.standby_after_ns
                      ? XDP_STATE_GUARD
                      : XDP_STATE_STANDBY;
    look_again(interface, view);
}
