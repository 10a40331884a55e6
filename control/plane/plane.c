/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/plane.h"

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
        if (!err)
            return 0;
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
