/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The deny list: networks from which nothing gets in, each for good or until some time, and the
 * file that keeps them while the daemon is away. Control thread only.
 *
 * The file has a line for each network, "10.1.0.0/16" or "10.1.0.0/16 1793455200": until that
 * second of CLOCK_REALTIME, which goes on over restarts and reboots; who sets the clock moves the
 * end. An entry ends at its second or within a period after it, never before. Lines that cannot be
 * understood are told, one by one, and written back as they are, comments too. A file that cannot
 * be read is never written over.
 */
#ifndef SLUICE_PLANE_DENY_H
#define SLUICE_PLANE_DENY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/policy/policy.h"

#define DENY_FILE_MAX_BYTES (16u * 1024 * 1024)
#define DENY_FOREVER        0 /* in place of an end */

struct deny_list {
    const char *path;                /* of the file; the caller's */
    struct policy_network *networks; /* sorted, host bits masked, each once */
    uint64_t *ends_s;                /* of networks[i]; DENY_FOREVER: it has none */
    uint32_t n;
    char *kept; /* lines of the file that are no entries */
    size_t kept_bytes;
    bool unread;  /* there is a file that could not be read */
    bool unsaved; /* the file is older than the list */
};

/*
 * The list that `path` holds at `now_s`; entries that have ended are left out. No file: an empty
 * list. What is wrong with it is told to `report`, a line each. NULL when there is no memory.
 */
struct deny_list *deny_open(const char *path, uint64_t now_s, FILE *report);
void deny_close(struct deny_list *list);

/* Puts a network on the list, or gives the entry it has a new end: 1, or 0. -ENOSPC: there are
 * POLICY_DENIED_MAX. */
int deny_put(struct deny_list *list, const struct policy_network *network, uint64_t end_s);
/* 0, or -ENOENT. */
int deny_remove(struct deny_list *list, const struct policy_network *network);
bool deny_has(const struct deny_list *list, const struct policy_network *network);

/* Takes off the list what has ended at `now_s`; returns how many. */
uint32_t deny_expire(struct deny_list *list, uint64_t now_s);

/*
 * Writes the file anew, readable by its owner alone, and whole or not at all. 0, or -errno, and
 * then `unsaved` stays; -EEXIST: a file is there that could not be read.
 */
int deny_save(struct deny_list *list);

#endif
