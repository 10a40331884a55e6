/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gateway's own overload: which share of each class is refused (reason `gateway`) because the
 * workers no longer keep up with what the devices receive. Apart from any service's capacity, and
 * over all services alike. Pure, one step a period. Control thread.
 *
 * A receive ring is either nearly empty or, within milliseconds of the workers falling behind, full
 * and missing packets, so a share set straight from its depth would swing between nothing and all.
 * The level is therefore integrated around half full:
 *
 *   above half (or with packets missed, which counts as full): level += excess * dt /
 * GATEWAY_RISE_S below half:                                                level -= lack * dt /
 * GATEWAY_FALL_S
 *
 * excess and lack are 0 at half and 1 at full and empty. To rise, two samples in turn must show it:
 * one burst is no overload. 0 .. 1 of the level sheds bulk up to GATEWAY_CEILING, 1 .. 2 normal,
 * 2 .. 3 critical up to GATEWAY_CRITICAL_MAX: a class is touched when the one below it is spent.
 * A gateway that is never more than half full sheds nothing, and a calm one is back at nothing
 * within 3 * GATEWAY_FALL_S.
 */
#ifndef SLUICE_ADMISSION_GATEWAY_CONTROL_H
#define SLUICE_ADMISSION_GATEWAY_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/policy.h"

#define GATEWAY_RISE_S       1.0  /* full rings raise the level by one class in so long */
#define GATEWAY_FALL_S       0.25 /* empty ones lower it by one class */
#define GATEWAY_CEILING      0.98 /* largest share of bulk and of normal */
#define GATEWAY_CRITICAL_MAX 0.5  /* of critical */

/* The caller owns it; start from zeros. */
struct gateway_control {
    double level;     /* 0 .. CLASS_MAX, in classes */
    double excess;    /* of the sample before, 0 .. 1 */
    uint64_t last_ns; /* time of the sample before */
    bool started;     /* there is a sample before */
};

struct gateway_sample {
    double fill;     /* the fullest receive queue, as a share of its ring: 0 .. 1 */
    uint64_t missed; /* packets that devices and rings missed since the sample before */
};

/* Sets p[], as in shed.h. A time that has not moved on changes nothing but is answered. */
void gateway_control_step(struct gateway_control *control, const struct gateway_sample *sample,
                          uint64_t now_ns, uint32_t p[CLASS_MAX]);

#endif
