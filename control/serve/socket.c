/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/serve/bind.h"

/* How long accept() rests when the process has no descriptor or memory left: the listener stays
 * readable then, and serving it would spin. */
#define ACCEPT_REST_NS 1000000000ull

#define ERROR_LINE(code, message)                                                                  \
    "{\"error\":{\"code\":\"" code "\",\"message\":\"" message "\"}}\n"

static const char too_long[] = ERROR_LINE("usage", "a request is one line of at most 4096 bytes");
static const char cut_short[] = ERROR_LINE("usage", "the request ended before its newline");
static const char has_nul[] = ERROR_LINE("usage", "a request is text, this one holds a NUL byte");
static const char too_many[] = ERROR_LINE("busy", "too many clients, try again");
static const char no_memory[] = ERROR_LINE("internal", "out of memory");

struct client {
    int fd; /* -1: the place is free */
    uint64_t deadline_ns;
    char request[CONTROL_REQUEST_MAX];
    size_t request_bytes;
    struct control_answer *answer; /* NULL: the text is all there is to say */
    char *piece;                   /* of the answer */
    const char *text;              /* being sent; NULL: the request is still being read */
    size_t text_bytes, text_sent;
};

struct control_socket {
    struct control_binding binding;
    int epoll;
    bool resting; /* the listener is not watched until rest_until_ns */
    uint64_t rest_until_ns;
    struct client clients[CONTROL_CLIENTS_MAX];
};

static int watch(struct control_socket *sock, int op, int fd, uint32_t events, void *who)
{
    struct epoll_event event = {.events = events, .data.ptr = who};

    return epoll_ctl(sock->epoll, op, fd, &event) == 0 ? 0 : -errno;
}

static void drop(struct client *client)
{
    close(client->fd);
    if (client->answer)
        client->answer->release(client->answer);
    free(client->piece);
    memset(client, 0, sizeof(*client));
    client->fd = -1;
}

static void take_text(struct client *client, const char *text)
{
    client->text = text;
    client->text_bytes = strlen(text);
    client->text_sent = 0;
}

/* Goes on to the next piece of the answer; false after the last. */
static bool next_piece(struct client *client)
{
    free(client->piece);
    client->piece = client->answer ? client->answer->next(client->answer) : NULL;
    if (client->piece)
        take_text(client, client->piece);
    return client->piece != NULL;
}

/* Sends what the client takes now, up to a piece; drops it when all is sent or it is gone. */
static void send_on(struct client *client, uint64_t now_ns)
{
    while (client->text_sent < client->text_bytes) {
        ssize_t sent = send(client->fd, client->text + client->text_sent,
                            client->text_bytes - client->text_sent, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            drop(client);
            return;
        }
        client->text_sent += (size_t)sent;
        client->deadline_ns = now_ns + CONTROL_STALL_NS;
    }
    if (!next_piece(client))
        drop(client);
}

/* Says `text`, then what is left of client->answer, if there is one. */
static void start_text(struct control_socket *sock, struct client *client, const char *text,
                       uint64_t now_ns)
{
    take_text(client, text);
    client->deadline_ns = now_ns + CONTROL_STALL_NS;
    if (watch(sock, EPOLL_CTL_MOD, client->fd, EPOLLOUT, client) < 0)
        drop(client);
    else
        send_on(client, now_ns);
}

/* What one call of control_socket_serve() works with. */
struct service {
    control_handler *handler;
    void *context;
    uint64_t now_ns;
    bool handled; /* one request a call: several costly ones must not add up to a late period */
};

/* The request is complete, up to `newline`. */
static void answer_request(struct control_socket *sock, struct client *client, char *newline,
                           struct service *service)
{
    const char *text = no_memory;

    *newline = '\0';
    if (strlen(client->request) != (size_t)(newline - client->request)) {
        text = has_nul;
    } else {
        service->handled = true;
        client->answer = service->handler(service->context, client->request);
        if (next_piece(client))
            text = client->piece;
    }
    start_text(sock, client, text, service->now_ns);
}

static void read_on(struct control_socket *sock, struct client *client, struct service *service)
{
    char *end = client->request + client->request_bytes, *newline;
    ssize_t got = recv(client->fd, end, CONTROL_REQUEST_MAX - client->request_bytes, 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got < 0 || (got == 0 && client->request_bytes == 0)) {
        drop(client);
        return;
    }
    /* Never acted upon: half of `window=50` is `window=5`. */
    if (got == 0) {
        start_text(sock, client, cut_short, service->now_ns);
        return;
    }
    client->request_bytes += (size_t)got;
    newline = memchr(end, '\n', (size_t)got);
    if (newline)
        answer_request(sock, client, newline, service);
    else if (client->request_bytes == CONTROL_REQUEST_MAX)
        start_text(sock, client, too_long, service->now_ns);
}

static struct client *free_place(struct control_socket *sock)
{
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (sock->clients[i].fd < 0)
            return &sock->clients[i];
    return NULL;
}

static void welcome(struct control_socket *sock, int fd, uint64_t now_ns)
{
    struct client *client = free_place(sock);

    if (!client) {
        /* A fresh socket's buffer takes this line whole. */
        (void)send(fd, too_many, sizeof(too_many) - 1, MSG_NOSIGNAL);
        close(fd);
        return;
    }
    client->fd = fd;
    client->deadline_ns = now_ns + CONTROL_STALL_NS;
    if (watch(sock, EPOLL_CTL_ADD, fd, EPOLLIN, client) < 0)
        drop(client);
}

static void accept_on(struct control_socket *sock, uint64_t now_ns)
{
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        int fd = accept4(sock->binding.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            welcome(sock, fd, now_ns);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            sock->resting = true;
            sock->rest_until_ns = now_ns + ACCEPT_REST_NS;
            (void)watch(sock, EPOLL_CTL_MOD, sock->binding.fd, 0, NULL);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void keep_deadlines(struct control_socket *sock, uint64_t now_ns)
{
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        struct client *client = &sock->clients[i];

        if (client->fd >= 0 && now_ns >= client->deadline_ns)
            drop(client);
    }
    if (sock->resting && now_ns >= sock->rest_until_ns)
        sock->resting = watch(sock, EPOLL_CTL_MOD, sock->binding.fd, EPOLLIN, NULL) < 0;
}

void control_socket_serve(struct control_socket *sock, control_handler *handler, void *context,
                          uint64_t now_ns)
{
    struct service service = {.handler = handler, .context = context, .now_ns = now_ns};
    struct epoll_event events[CONTROL_CLIENTS_MAX + 1];
    int n = epoll_wait(sock->epoll, events, CONTROL_CLIENTS_MAX + 1, 0);

    for (int i = 0; i < n; i++) {
        struct client *client = events[i].data.ptr;

        if (!client) /* newcomers go after those who came before them and may leave */
            continue;
        if (client->text)
            send_on(client, now_ns);
        else if (!service.handled)
            read_on(sock, client, &service);
    }
    keep_deadlines(sock, now_ns);
    if (!sock->resting)
        accept_on(sock, now_ns);
}

int control_socket_open(const char *path, struct control_socket **out, char *why, size_t why_bytes)
{
    struct control_socket *sock = calloc(1, sizeof(*sock));
    int err;

    if (!sock)
        return -ENOMEM;
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        sock->clients[i].fd = -1;
    err = control_bind(&sock->binding, path, why, why_bytes);
    if (err < 0)
        goto free_sock;
    sock->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (sock->epoll < 0) {
        err = -errno;
        goto unbind;
    }
    err = watch(sock, EPOLL_CTL_ADD, sock->binding.fd, EPOLLIN, NULL);
    if (err < 0)
        goto close_epoll;
    *out = sock;
    return 0;

close_epoll:
    close(sock->epoll);
unbind:
    control_unbind(&sock->binding);
free_sock:
    free(sock);
    return err;
}

void control_socket_close(struct control_socket *sock)
{
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (sock->clients[i].fd >= 0)
            drop(&sock->clients[i]);
    close(sock->epoll);
    control_unbind(&sock->binding);
    free(sock);
}

int control_socket_fd(const struct control_socket *sock)
{
    return sock->epoll;
}

uint32_t control_socket_clients(const struct control_socket *sock)
{
    uint32_t n = 0;

    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        n += sock->clients[i].fd >= 0;
    return n;
}
