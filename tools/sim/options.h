/* SPDX-License-Identifier: BSD-3-Clause */
/* What `sluice-sim run` was asked for. */
#ifndef SLUICE_SIM_OPTIONS_H
#define SLUICE_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/scenario/scenario.h"

#define OPTIONS_SETS_MAX 64u
#define OPTIONS_JOBS_MAX 256u
#define OPTIONS_SEED_MAX 9007199254740992u /* 2^53, as in a file */

enum sim_format { SIM_TABLE, SIM_CSV, SIM_JSON };

/* Texts are those of argv; a list of values is cut up in place. */
struct sim_options {
    const char *scenario; /* as asked for: a name or a file */
    enum sim_format format;
    bool series;
    const char *plot; /* NULL: none */
    bool seed_given;
    uint64_t seed;
    uint32_t jobs; /* processes at once */
    uint32_t n_sets;
    const char *sets[OPTIONS_SETS_MAX]; /* "key=value" */
    const char *sweep_key;              /* NULL: as the scenario says */
    uint32_t n_values;
    const char *values[SCENARIO_VALUES_MAX];
};

extern const char options_help[];

/* argv[0] is "run". 0, 1 (help was printed) or -EINVAL, which was said on stderr. */
int options_parse(struct sim_options *options, int argc, char **argv);

#endif
