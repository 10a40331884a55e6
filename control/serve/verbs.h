/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control socket can be asked. A request is words separated by blanks, an answer one JSON
 * object: {"version":1, ...}, or
 *   {"error":{"code":CODE,"message":TEXT[,"key":KEY][,"range":TEXT]}}
 * with CODE one of usage (no such request), unknown (no tenant or service of that name), range (a
 * value that may not be set), busy (try again), internal.
 *
 * Counters are 64-bit, start with the process and are never reset by a change of policy. A list
 * of tenants or services is made while it is sent, each entry a value of its own moment. Control
 * thread only; nothing here waits for a worker.
 */
#ifndef SLUICE_SERVE_VERBS_H
#define SLUICE_SERVE_VERBS_H

#include "control/plane/plane.h"
#include "control/serve/socket.h"

#define VERBS_WORDS_MAX 64

/* The answer to one request line, a control_handler; `plane` is the struct plane, which must
 * outlive the use of the answer but not its release. NULL when there is no memory. */
struct control_answer *verbs_answer(void *plane, const char *line);

#endif
