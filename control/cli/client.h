/* SPDX-License-Identifier: BSD-3-Clause */
/* One question to the daemon, one answer: all that sluicectl and sluiced have in common. */
#ifndef SLUICE_CLI_CLIENT_H
#define SLUICE_CLI_CLIENT_H

#include <stddef.h>

#define CLIENT_REQUEST_MAX 4096 /* bytes, the newline included */
#define CLIENT_ANSWER_MAX  (1u << 30)
#define CLIENT_PATIENCE_S  10 /* without a byte from the daemon */

/*
 * Sends `request` (one line, newline included) to the socket at `path` and reads one line. 0, the
 * line without its newline in *answer (the caller frees it) and its length; or -errno with what
 * went wrong in `why`. An answer that ends before its newline is -EPROTO.
 */
int client_ask(const char *path, const char *request, char **answer, size_t *answer_bytes,
               char *why, size_t why_bytes);

#endif
