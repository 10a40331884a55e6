/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running daemon as its verbs see it: the settings in force, the data plane, and the one way to
 * change policy. Control thread only.
 */
#ifndef SLUICE_PLANE_PLANE_H
#define SLUICE_PLANE_PLANE_H

#include <stdint.h>

#include "control/config/config.h"
#include "control/plane/deny.h"
#include "control/plane/xdp_view.h"
#include "dataplane/worker/worker.h"

/* What the last whole period showed of one worker. */
struct plane_sample {
    double busy;              /* share of cycles spent on packets, 0 .. 1 */
    double cycles_per_packet; /* busy cycles over received packets; 0 when there were none */
    double packets_per_s;
};

struct plane {
    struct settings *settings; /* settings->policy is the specification in force */
    struct dataplane *dataplane;
    struct xdp *xdp;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    uint32_t clients;    /* of the control socket */
    struct deny_list *denied;
    uint64_t denied_now_ns;  /* CLOCK_REALTIME, by which its entries end */
    uint64_t denied_tried_s; /* when it was last tried to be saved */
    int denied_unsaved;      /* 0, or the -errno of that */
    bool denied_pending;     /* what it says is not published yet */
    struct plane_sample samples[DATAPLANE_WORKERS_MAX];
};

/*
 * Replaces tenant or service `index` of the specification and publishes the policy made from it. 0
 * or -errno, and then nothing has changed.
 */
int plane_set_tenant(struct plane *plane, uint32_t index, const struct policy_tenant *tenant);
int plane_set_service(struct plane *plane, uint32_t index, const struct policy_service *service);

/*
 * Saves what has become of plane->denied, and puts it into force if it holds other networks now.
 * Neither fails: what cannot be published now (-EBUSY), or saved, plane_tend_denied() tries again.
 */
void plane_deny(struct plane *plane, bool others);
/* Once a period, at CLOCK_REALTIME `now_ns`: takes off the deny list what has ended. */
void plane_tend_denied(struct plane *plane, uint64_t now_ns);

#endif
