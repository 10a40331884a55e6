/* SPDX-License-Identifier: BSD-3-Clause */
/* <linux/if_xdp.h> and bpf/maps.h have a name in common, so this is apart. */
#ifndef SLUICE_BENCH_XSK_H
#define SLUICE_BENCH_XSK_H

/* An AF_XDP socket that an XSKMAP takes: it has a receive ring, and is bound to nothing. Its
 * descriptor or -errno; while it is open the map knows it. */
int xsk_open(void);

#endif
