/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP programs at the interfaces of the gates: in front of the workers, and in their place when
 * they are away. bpf/DESIGN.md says how they get there and which gap each way leaves.
 *
 * One set of maps serves all interfaces. The programs outlive a killed daemon; its next start finds
 * them, counts what they did, and takes over. A gate whose program cannot be had goes on without
 * where xdp is "optional". Control thread only.
 */
#ifndef SLUICE_PLANE_XDP_H
#define SLUICE_PLANE_XDP_H

#include <stddef.h>

#include "control/config/config.h"
#include "control/plane/xdp_view.h"
#include "dataplane/worker/worker.h"

/*
 * Loads the programs, and sets care and heartbeats of the settings: before the data plane is
 * created from them and `policy`, which is in force from now on. Nothing is attached yet, and what
 * a former daemon left is still there. 0, or -errno with a sentence in `why` when
 *   -EBUSY   another daemon serves one of the interfaces, or keeps its maps where ours should be,
 *   -EEXIST  somebody else's program is at an interface,
 *   others   a gate that requires its program cannot have it.
 */
int xdp_start(struct settings *settings, const struct policy *policy, struct xdp **out, char *why,
              size_t why_bytes);

/* The data plane could not be created: what libbpf and libxdp have said of its devices, which is
 * kept from stderr else. */
void xdp_tell_said(void);

/* The data plane is there: what its workers poll, and how they hash. */
void xdp_serve(struct xdp *xdp, struct dataplane *dataplane);

/* Another policy is in force. Waits until no program uses the one before the last: some 10 ms. */
void xdp_publish(struct xdp *xdp, const struct policy *policy);

/* Once a period: what the control loop says goes to the programs, what they counted to the data
 * plane. */
void xdp_tend(struct xdp *xdp);

/* After the data plane is gone. Programs and maps stay where a gate is configured so, and go
 * elsewhere. */
void xdp_stop(struct xdp *xdp);

#endif
