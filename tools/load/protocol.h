/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked over a connection, and when that has been answered. client.c opens, writes, reads
 * and gives up; a protocol knows the bytes.
 */
#ifndef SLUICE_LOAD_PROTOCOL_H
#define SLUICE_LOAD_PROTOCOL_H

#include <event2/event_struct.h>
#include <http_parser.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/load/options.h"
#include "tools/load/results.h"

struct client;
struct work;

/* What is sent for one kind of work. */
struct request_text {
    size_t bytes; /* 0: to be connected is all */
    char text[LOAD_KIND_MAX_BYTES + 256];
};

/* One connection, or one datagram socket, and what is under way on it. */
struct attempt {
    struct event event;
    struct client *client;
    TAILQ_ENTRY(attempt) place;
    struct work *work;
    struct request_text *text;
    size_t written_bytes;
    int fd;
    bool connected;
    /* Below: the protocol's. */
    uint64_t id;             /* drawn for each attempt; replies to datagrams are known by it */
    struct http_parser http; /* its data is the attempt */
    bool complete;           /* the HTTP parser has seen the end of the reply */
    bool answered;           /* at least one byte of a reply came */
    bool lasts;              /* the connection can take another request */
    char field[12];          /* of the HTTP header that is being read, as much as matters */
    uint8_t field_bytes;
    bool in_value;
    bool value_ended;       /* only blanks may follow */
    uint32_t retry_after_s; /* what a reply asked for in seconds, 0: nothing */
    enum outcome verdict;   /* of a complete reply; OUTCOME_USEFUL also when it is too late */
};

enum reading { READ_MORE, READ_COMPLETE, READ_BROKEN };

struct protocol {
    const char *name;
    int socket_type;
    in_port_t port; /* where the target names none */
    /* The option that names kinds of work, and its default; NULL: all requests are alike. */
    const char *kind_option, *kind_default;
    bool (*kind_fits)(const char *kind);
    void (*compose)(const struct load_options *options, const char *kind, struct request_text *out);
    /* Before the first byte is sent; a request that carries the attempt's id is given it here. NULL
     * when nothing is sent, and so is `read`. */
    void (*begin)(struct attempt *attempt);
    /* Takes what came: part of a stream (`n` = 0: its end), or a datagram. Sets the verdict when
     * it returns READ_COMPLETE. */
    enum reading (*read)(struct attempt *attempt, const char *bytes, size_t n);
};

extern const struct protocol protocol_http, protocol_tcp, protocol_udp, protocol_dns;

/* NULL when there is none of that name. */
const struct protocol *protocol_find(const char *name);

#endif
