/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the shipped scenarios stand: $SLUICE_SCENARIOS, else where they were installed, else the
 * source tree. NAME is NAME.conf there. */
#ifndef SLUICE_SIM_SHELF_H
#define SLUICE_SIM_SHELF_H

/* The file of a NAME, or that very FILE if the text holds a '/' or there is no such name. NULL:
 * neither is there, which was said on stderr, or no memory. The caller frees it. */
char *shelf_find(const char *name_or_file);

/* Prints each NAME and what it is about. 0, -ENOENT: no folder, -EINVAL: a scenario is wrong;
 * both were said. */
int shelf_list(void);

#endif
