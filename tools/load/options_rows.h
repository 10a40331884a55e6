/* SPDX-License-Identifier: BSD-3-Clause */
/* The options there are, one row each. */
#ifndef SLUICE_LOAD_OPTIONS_ROWS_H
#define SLUICE_LOAD_OPTIONS_ROWS_H

#include "tools/load/options.h"

/* Where an option is known. */
#define IN_LOAD 1u
#define IN_FIND 2u
#define IN_BOTH (IN_LOAD | IN_FIND)
/* Goes with --scenario. */
#define WITH_SCENARIO 4u
#define IN_ALL        (IN_BOTH | WITH_SCENARIO)

struct options_row {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what it takes; NULL: nothing */
    unsigned int modes;
    /* NULL: --help. 0, 1 (done, nothing to run) or -EINVAL. */
    int (*read)(struct load_options *options, const char *value);
    const char *help; /* lines of 69 at most */
};

#define OPTIONS_ROWS_MAX 40u

extern const struct options_row options_rows[];
extern const unsigned int options_rows_n; /* OPTIONS_ROWS_MAX at most */

#endif
