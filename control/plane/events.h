/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control thread waits for: its period, the control socket, and signals that end it.
 */
#ifndef SLUICE_PLANE_EVENTS_H
#define SLUICE_PLANE_EVENTS_H

#include "control/plane/plane.h"
#include "control/serve/socket.h"

uint64_t monotonic_ns(void);
uint64_t realtime_ns(void);

/* Blocks the signals that events_run() takes. Call before any other thread exists. */
int events_block_signals(void);

/* Serves until SIGTERM or SIGINT; 0, or -errno when it cannot wait. */
int events_run(struct plane *plane, struct control_socket *sock);

#endif
