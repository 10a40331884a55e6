/* SPDX-License-Identifier: BSD-3-Clause */
/* Socket addresses: the target, and the sources that requests are sent from in turn. */
#ifndef SLUICE_LOAD_SOURCE_H
#define SLUICE_LOAD_SOURCE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define SOURCES_MAX 4096u

struct source {
    struct sockaddr_storage address;
    socklen_t length;
};

struct source_list {
    uint32_t n;
    struct source *list;
};

/* "192.0.2.1:80", "[2001:db8::1]:80", or without a port (`port`). 0 or -EINVAL. */
int source_parse_target(const char *text, in_port_t port, struct source *out);

/*
 * A list separated by commas: addresses, and prefixes, which stand for those addresses of this host
 * (in its network namespace) that lie inside. Appends to `list`. 0; -EINVAL (not an address or a
 * prefix), -ENOENT (no address of this host in the prefix), -E2BIG (over SOURCES_MAX), -ENOMEM.
 */
int source_list_add(struct source_list *list, const char *text);
/* Appends those addresses of this host that `fits`. 0; -E2BIG, -ENOMEM, or what getifaddrs() says.
 */
int source_list_add_own(struct source_list *list,
                        bool (*fits)(const struct sockaddr *address, const void *arg),
                        const void *arg);
void source_list_free(struct source_list *list);

#endif
