/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/plane.h"

#include "control/plane/xdp.h"

#define NS_PER_S 1000000000ull

/* The specification as it stands, under a new epoch. */
static int publish(struct plane *plane)
{
    struct policy_spec *spec = &plane->settings->policy;
    struct policy *policy;
    int err;

    spec->epoch++;
    err = policy_create(spec, &policy);
    if (!err) {
        err = dataplane_publish(plane->dataplane, policy);
        if (!err) {
            plane->denied_pending = false;
            xdp_publish(plane->xdp, policy);
            return 0;
        }
        policy_free(policy);
    }
    spec->epoch--;
    return err;
}

int plane_set_tenant(struct plane *plane, uint32_t index, const struct policy_tenant *tenant)
{
    struct policy_tenant *place = &plane->settings->policy.tenants[index], before = *place;
    int err;

    *place = *tenant;
    err = publish(plane);
    if (err)
        *place = before;
    return err;
}

int plane_set_service(struct plane *plane, uint32_t index, const struct policy_service *service)
{
    struct policy_service *place = &plane->settings->policy.services[index], before = *place;
    int err;

    *place = *service;
    err = publish(plane);
    if (err)
        *place = before;
    return err;
}

static void publish_denied(struct plane *plane)
{
    plane->settings->policy.denied = plane->denied->networks;
    plane->settings->policy.n_denied = plane->denied->n;
    plane->denied_pending = true;
    publish(plane);
}

static void save_denied(struct plane *plane)
{
    plane->denied_tried_s = plane->denied_now_ns / NS_PER_S;
    plane->denied_unsaved = deny_save(plane->denied);
}

void plane_deny(struct plane *plane, bool others)
{
    if (others)
        publish_denied(plane);
    save_denied(plane);
}

void plane_tend_denied(struct plane *plane, uint64_t now_ns)
{
    uint64_t now_s = now_ns / NS_PER_S;

    plane->denied_now_ns = now_ns;
    if (deny_expire(plane->denied, now_s) || plane->denied_pending)
        publish_denied(plane);
    /* A disk that is full is so for longer than a period. */
    if (plane->denied->unsaved && now_s != plane->denied_tried_s)
        save_denied(plane);
}
