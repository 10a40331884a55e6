/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long wire between two interfaces: every frame that one receives is sent by the other a fixed
 * time later, in the order it came, both ways. It stands for the distance to the clients where the
 * kernel has no netem.
 *
 * The time counts from when this process takes the frame, so the delay is never shorter than asked
 * for. Bounds: frames under way each way (`frames`; more are dropped and counted, none is sent
 * early), WIRE_FRAME_MAX_BYTES. What one interface sends itself is not passed on.
 */
#ifndef SLUICE_LAB_WIRE_H
#define SLUICE_LAB_WIRE_H

#include <stdint.h>
#include <stdio.h>

#define WIRE_FRAMES_MAX      65536u
#define WIRE_DELAY_MAX_NS    (10 * UINT64_C(1000000000))
#define WIRE_FRAME_MAX_BYTES 2028u /* with an outer VLAN tag 4 more */

struct wire_frame;

struct wire_way {
    const char *from, *to;
    int in_fd, out_fd;
    struct wire_frame *ring; /* frames first..end-1 are under way, each in the place of its number
                                modulo the size of the ring */
    uint64_t first, end;
    uint64_t under_way_peak;
    /* received = sent + queue_full + too_long + send_failed + those under way */
    uint64_t received, sent, queue_full, too_long, send_failed;
};

struct wire {
    uint64_t delay_ns;
    uint32_t frames; /* each way */
    struct wire_way ways[2];
};

/* Opens both interfaces, promiscuous; they must be up. The names outlive the wire. 0 or -errno;
 * wire_close() is due in either case. */
int wire_open(struct wire *wire, const char *one, const char *other);
void wire_close(struct wire *wire);
/* Runs until SIGTERM or SIGINT. 0 or -errno. */
int wire_run(struct wire *wire);
/* One line of JSON; `missed` counts what the kernel dropped before this process could take it. */
void wire_report(const struct wire *wire, FILE *out);

#endif
