/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/backend.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REPLY(status, body_bytes, body)                                                            \
    "HTTP/1.1 " status "\r\nContent-Type: text/plain\r\nContent-Length: " body_bytes               \
    "\r\nConnection: close\r\n\r\n" body
#define NS_PER_S      UINT64_C(1000000000)
#define CLIENT_HEADER "\r\nX-Real-IP:"

struct connection {
    struct queue_work work; /* first, so that the queue's work is the connection */
    struct event event;
    struct backend *backend;
    struct census_prefix *prefix; /* NULL: a proxy's, whose client is not known yet */
    int fd;
    size_t head_bytes;
    char head[BACKEND_HEAD_MAX_BYTES + 1];
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void attribute(struct connection *connection, struct census_prefix *prefix)
{
    connection->prefix = prefix;
    headcount_enter(&prefix->count);
}

static void close_connection(struct connection *connection)
{
    event_del(&connection->event);
    close(connection->fd);
    headcount_leave(&connection->backend->census.all);
    if (connection->prefix)
        headcount_leave(&connection->prefix->count);
    free(connection);
}

static void answer(struct connection *connection, const char *reply)
{
    /* Replies are far smaller than a socket buffer: one call, and an error means a client gone. */
    send(connection->fd, reply, strlen(reply), MSG_NOSIGNAL);
    close_connection(connection);
}

static bool client_gone(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN);
}

static void wait_for_next_end(struct backend *backend, uint64_t now_ns)
{
    uint64_t end_ns, left_us;
    struct timeval left;

    if (!backend->queue.running)
        return;
    end_ns = backend->queue.running->end_ns;
    left_us = end_ns > now_ns ? (end_ns - now_ns + 999) / 1000 : 0;
    left = (struct timeval){.tv_sec = (time_t)(left_us / 1000000),
                            .tv_usec = (suseconds_t)(left_us % 1000000)};
    evtimer_add(backend->timer, &left);
}

static void answer_ended(struct backend *backend, uint64_t now_ns)
{
    struct queue_work *work;

    while ((work = queue_finish(&backend->queue, now_ns))) {
        struct connection *done = (struct connection *)work;

        backend->served++;
        backend->abandoned += client_gone(done->fd);
        answer(done, REPLY("200 OK", "3", "ok\n"));
    }
}

static void on_end(int fd, short what, void *arg)
{
    struct backend *backend = arg;
    uint64_t now_ns = clock_ns();

    (void)fd;
    (void)what;
    answer_ended(backend, now_ns);
    wait_for_next_end(backend, now_ns);
}

void backend_set_pace(struct backend *backend, uint64_t per_s)
{
    uint64_t now_ns = clock_ns();

    answer_ended(backend, now_ns);
    wait_for_next_end(backend, now_ns);
    backend->queue.service_ns = backend->queue.n_slots * NS_PER_S / per_s;
    backend->pace_changes++;
}

uint64_t backend_in_queue(const struct backend *backend)
{
    return backend->queue.n_running + backend->queue.n_waiting;
}

static void enqueue(struct connection *connection)
{
    struct backend *backend = connection->backend;
    uint64_t now_ns = clock_ns();

    /* From here on nobody looks whether the client is still there. */
    event_del(&connection->event);
    queue_arrive(&backend->queue, &connection->work, now_ns);
    if (backend_in_queue(backend) > backend->in_queue_peak)
        backend->in_queue_peak = backend_in_queue(backend);
    if (backend->queue.running == &connection->work)
        wait_for_next_end(backend, now_ns);
}

/* The client a proxy speaks for; NULL when it does not say. */
static struct census_prefix *client_of_proxy(struct connection *connection)
{
    char *value = strcasestr(connection->head, CLIENT_HEADER), *end;

    if (!value)
        return NULL;
    value += strlen(CLIENT_HEADER);
    while (*value == ' ')
        value++;
    end = value;
    while (isxdigit((unsigned char)*end) || *end == '.' || *end == ':')
        end++;
    *end = '\0';
    return census_find_text(&connection->backend->census, value);
}

static void on_head_complete(struct connection *connection)
{
    struct census_prefix *prefix;

    if (!connection->prefix) {
        prefix = client_of_proxy(connection);
        attribute(connection,
                  prefix ? prefix : census_find_text(&connection->backend->census, "127.0.0.1"));
    }
    enqueue(connection);
}

static void on_readable(int fd, short what, void *arg)
{
    struct connection *connection = arg;
    ssize_t n;

    if (what & EV_TIMEOUT) {
        close_connection(connection);
        return;
    }
    n = recv(fd, connection->head + connection->head_bytes,
             BACKEND_HEAD_MAX_BYTES - connection->head_bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_connection(connection);
        return;
    }
    connection->head_bytes += (size_t)n;
    connection->head[connection->head_bytes] = '\0';
    if (strstr(connection->head, "\r\n\r\n"))
        on_head_complete(connection);
    else if (connection->head_bytes == BACKEND_HEAD_MAX_BYTES)
        answer(connection, REPLY("431 Request Header Fields Too Large", "0", ""));
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;

    return address->sa_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void backend_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
                    int length, void *arg)
{
    static const struct timeval idle = {.tv_sec = BACKEND_IDLE_S};
    struct backend *backend = arg;
    struct connection *connection = NULL;

    (void)listener;
    (void)length;
    if (backend->census.all.current < backend->connections_max)
        connection = malloc(sizeof(*connection));
    if (!connection) {
        backend->refused++;
        close(fd);
        return;
    }
    connection->backend = backend;
    connection->fd = fd;
    connection->prefix = NULL;
    connection->head_bytes = 0;
    headcount_enter(&backend->census.all);
    if (!is_loopback(peer))
        attribute(connection, census_find(&backend->census, peer));
    event_assign(&connection->event, backend->base, fd, EV_READ | EV_PERSIST, on_readable,
                 connection);
    event_add(&connection->event, &idle);
}

int backend_init(struct backend *backend, uint64_t per_s)
{
    backend->queue.service_ns = backend->queue.n_slots * NS_PER_S / per_s;
    backend->timer = evtimer_new(backend->base, on_end, backend);
    return backend->timer ? 0 : -ENOMEM;
}
