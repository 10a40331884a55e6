/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking a path for a listening unix socket, and giving it back: removes what a dead daemon left
 * behind, never what a live one uses, and never anything that is not a socket.
 */
#ifndef SLUICE_SERVE_BIND_H
#define SLUICE_SERVE_BIND_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

struct control_binding {
    int fd; /* listening, non-blocking */
    dev_t device;
    ino_t inode;
    struct sockaddr_un address;
};

/* Errors as control_socket_open(). */
int control_bind(struct control_binding *binding, const char *path, char *why, size_t why_bytes);
void control_unbind(struct control_binding *binding);

#endif
