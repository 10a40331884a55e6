/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A piece of work: what somebody wants done once, in one attempt or several. Its time and its
 * deadline count from the intended time of the first. Only refusals are tried again: work that was
 * begun and not finished may have been done, and silence leaves no time.
 *
 * Clients of a scenario are those of the simulator: deadline, timeout and latency count from the
 * intended time of each attempt, and what was not finished is tried again, too.
 */
#ifndef SLUICE_LOAD_WORK_H
#define SLUICE_LOAD_WORK_H

#include "tools/load/client.h"

struct work {
    struct event again; /* the time of the next attempt */
    struct client *client;
    struct arrival arrival;
    uint64_t due_ns; /* of the latest attempt, of the run */
    uint32_t attempts;
    struct event *next;
};

const struct load_kind *work_kind(const struct work *work);
/* For how long its deadline has been running. */
uint64_t work_age_ns(const struct work *work, uint64_t now_ns);
/* When the client gives up, of the run. */
uint64_t work_give_up_ns(const struct work *work);

/* Starts the work that is due; its outcome is in the results once, now or later. Then `next`, a
 * timer, is due (NULL: nothing is). */
void work_start(struct client *client, const struct arrival *arrival, struct event *next);

/* An attempt has ended so at `now_ns` of the run; the service asked to be left alone for
 * `retry_after_ns` (0: it did not). The work may be gone afterwards. */
void work_tried(struct work *work, enum outcome outcome, uint64_t now_ns, uint64_t retry_after_ns);

#endif
