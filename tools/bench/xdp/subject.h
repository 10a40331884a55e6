/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the cost of a packet is measured of: a loaded program, and the sources that its packets are
 * drawn from. Functions return 0 or -errno.
 */
#ifndef SLUICE_BENCH_SUBJECT_H
#define SLUICE_BENCH_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "tools/bench/xdp/draw.h"

struct subject {
    const char *name;
    struct draw_plan plan;
    uint32_t verdict; /* enum xdp_action that every packet must meet with */

    const void *details; /* what else `open` needs to know */

    int (*open)(struct subject *subject);
    /* How many packets met with what the name says, so far; NULL: the verdict is all there is. */
    int (*count)(const struct subject *subject, uint64_t *packets);
    void (*close)(struct subject *subject);

    int program; /* descriptor, from open to close */
    void *loaded;
};

/* The program that does nothing, and one lookup of a source that is not there. */
extern const struct subject subject_noop, subject_miss;
/* xdp-filter of Debian's xdp-tools, its object for IPv4 addresses: each source is denied. */
extern const struct subject subjects_filter[];
extern const size_t n_subjects_filter;
/* The gate's own program, by what it does with packets (gate_subjects.c). */
extern const struct subject subjects_gate[];
extern const size_t n_subjects_gate;

#endif
