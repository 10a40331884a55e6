/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of a deny list that the XDP program finds without searching ranges. Control thread.
 */
#ifndef SLUICE_PLANE_XDP_HOSTS_H
#define SLUICE_PLANE_XDP_HOSTS_H

#include "bpf/maps.h"
#include "dataplane/policy/prefix.h"

/* Puts the single addresses among `denied_v4` into the buckets of a bank, of which there are
 * XDP_HOSTS: into the fewest that have room for all, for those stay in the cache. Says in `image`
 * how to search them. */
void xdp_hosts_fill(struct hosts_bucket *buckets, const struct prefix_view *denied_v4,
                    struct xdp_image *image);

#endif
