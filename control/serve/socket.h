/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: a unix stream socket that one thread serves without ever blocking in it.
 *
 * A client sends one request line and gets one answer line, then the connection is closed. Every
 * client has a place, every place a deadline:
 *   more than CONTROL_CLIENTS_MAX clients      the newcomer is answered `busy` at once
 *   request longer than CONTROL_REQUEST_MAX,
 *   cut short, or holding a NUL byte           answered `usage`
 *   request not complete in CONTROL_STALL_NS   dropped
 *   answer not read on for CONTROL_STALL_NS    dropped; a slow reader that goes on gets all of it
 *
 * Time is an argument: nanoseconds of any monotonic clock, the same one in every call.
 * One thread at a time. Nothing here raises SIGPIPE.
 */
#ifndef SLUICE_SERVE_SOCKET_H
#define SLUICE_SERVE_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#define CONTROL_CLIENTS_MAX 16
#define CONTROL_REQUEST_MAX 4096 /* bytes, the newline included */
#define CONTROL_STALL_NS    5000000000ull

struct control_socket;

/*
 * An answer in the making: a long one comes piece by piece, the next when the last has left, so
 * that it takes neither much memory nor much time at once. Belongs to the socket, which frees it.
 */
struct control_answer {
    /* The next piece of text, which the socket frees; NULL after the last, or when there is no
     * memory. The last piece ends in the answer's one newline: a reader knows what was cut short.
     */
    char *(*next)(struct control_answer *answer);
    void (*release)(struct control_answer *answer);
};

/* Answers one request line (no newline in it); NULL when there is no memory. */
typedef struct control_answer *control_handler(void *context, const char *line);

/*
 * Binds `path` with mode 0660, creating its directory (0755) if that is missing. A dead socket in
 * the way is removed; a live one or anything else is left alone. 0, or -errno with a sentence for
 * people in `why`:
 *   -EADDRINUSE    a live daemon answers there, or is about to,
 *   -ENOTSOCK      what is there is no socket,
 *   -ENAMETOOLONG  the path does not fit a socket address,
 *   others as the system reports them.
 */
int control_socket_open(const char *path, struct control_socket **out, char *why, size_t why_bytes);

/* Drops every client and removes the socket, unless somebody else's has taken its place. */
void control_socket_close(struct control_socket *sock);

/* How many clients have a place now. */
uint32_t control_socket_clients(const struct control_socket *sock);

/* A descriptor that polls readable when control_socket_serve() has something to do. */
int control_socket_fd(const struct control_socket *sock);

/* Does what can be done without waiting: at most one request, and one piece of each answer. Call
 * when the descriptor is readable, and at least once a second so that deadlines are kept. */
void control_socket_serve(struct control_socket *sock, control_handler *handler, void *context,
                          uint64_t now_ns);

#endif
