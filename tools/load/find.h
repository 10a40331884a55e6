/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches the highest rate at which a service keeps its promise (see search.h), trial by trial. */
#ifndef SLUICE_LOAD_FIND_H
#define SLUICE_LOAD_FIND_H

#include "tools/load/options.h"

/* Prints each trial and the answer. 0; 1 when even the lowest rate fails or the service does not
 * come back to itself after a trial; -ENOMEM or -E2BIG. */
int find_run(const struct load_options *options);

#endif
