/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP programs at the interfaces of the gates, as listings show them. Control thread only.
 */
#ifndef SLUICE_PLANE_XDP_VIEW_H
#define SLUICE_PLANE_XDP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/verdict.h"
#include "dataplane/worker/settings.h"

struct xdp;

enum xdp_state {
    XDP_STATE_OFF,     /* no program of ours is there; `why` says why not */
    XDP_STATE_GUARD,   /* in front of the workers */
    XDP_STATE_STANDBY, /* in their place */
};

/* Packets since the daemon's start, and invariant 1 of the program:
 * received = socket + passed + redirected + sum of dropped. */
struct xdp_counts {
    uint64_t received;
    uint64_t guarded;    /* of these: came while the workers were there */
    uint64_t socket;     /* to a worker */
    uint64_t passed;     /* to the stack */
    uint64_t redirected; /* to the other interface of the gate */
    uint64_t dropped[REASON_MAX];
};

/* One device of a gate. Strings live as long as the settings and the struct xdp. */
struct xdp_view {
    const char *gate, *side;
    const char *device;
    const char *interface; /* NULL: the kernel has none of it */
    const struct gate_xdp *wanted;
    enum xdp_state state;
    const char *mode;          /* "native", "generic"; NULL while off */
    uint32_t program;          /* its id; 0 while off */
    const char *pins;          /* folder; NULL while off */
    bool alive;                /* a worker of it has shown a sign of life, ever */
    uint64_t heartbeat_age_ns; /* of the worker that has been silent longest */
    char why[256];             /* "" while it is on */
    struct xdp_counts counts;
};

/* NULL has none. `now_ns` is CLOCK_MONOTONIC. */
uint32_t xdp_count(const struct xdp *xdp);
void xdp_view(const struct xdp *xdp, uint32_t index, uint64_t now_ns, struct xdp_view *view);

#endif
