/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/plane.h"

int plane_set_tenant(struct plane *plane, uint32_t index, const struct policy_tenant *tenant)
{
    struct policy_spec *spec = &plane->settings->policy;
    struct policy_tenant before = spec->tenants[index];
    struct policy *policy;
    int err;

    spec->tenants[index] = *tenant;
    spec->epoch++;
    err = policy_create(spec, &policy);
    if (!err) {
        err = dataplane_publish(plane->dataplane, policy);
        if (!err)
            return 0;
        policy_free(policy);
    }
    spec->tenants[index] = before;
    spec->epoch--;
    return err;
}
