/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CLIENT_PATIENCE_S};
    int fd, err;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    err = -errno;
    close(fd);
    return err;
}

static void send_request(int fd, const char *request)
{
    size_t left = strlen(request);

    while (left > 0) {
        ssize_t sent = send(fd, request, left, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return; /* the daemon may have answered and closed already: the answer tells */
        request += sent;
        left -= (size_t)sent;
    }
}

struct text {
    char *bytes;
    size_t used, room;
};

static int make_room(struct text *text)
{
    size_t room = text->room ? text->room * 2 : 65536;
    char *bytes;

    if (text->used < text->room)
        return 0;
    if (room > CLIENT_ANSWER_MAX)
        return -EFBIG;
    bytes = realloc(text->bytes, room);
    if (!bytes)
        return -ENOMEM;
    text->bytes = bytes;
    text->room = room;
    return 0;
}

/* Reads up to a newline, which is replaced by NUL. */
static int read_line(int fd, struct text *text)
{
    for (;;) {
        int err = make_room(text);
        char *newline;
        ssize_t got;

        if (err < 0)
            return err;
        got = recv(fd, text->bytes + text->used, text->room - text->used, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (got == 0)
            return -EPROTO;
        newline = memchr(text->bytes + text->used, '\n', (size_t)got);
        if (newline) {
            text->used = (size_t)(newline - text->bytes);
            *newline = '\0';
            return 0;
        }
        text->used += (size_t)got;
    }
}

int client_ask(const char *path, const char *request, char **answer, size_t *answer_bytes,
               char *why, size_t why_bytes)
{
    struct text text = {0};
    int fd = connect_to(path), err;

    if (fd < 0) {
        snprintf(why, why_bytes, "%s: %s (is sluiced running?)", path, strerror(-fd));
        return fd;
    }
    send_request(fd, request);
    err = read_line(fd, &text);
    close(fd);
    if (err < 0) {
        if (err == -EPROTO)
            snprintf(why, why_bytes, "%s: the answer was cut short after %zu bytes", path,
                     text.used);
        else
            snprintf(why, why_bytes, "%s: no answer: %s", path, strerror(-err));
        free(text.bytes);
        return err;
    }
    *answer = text.bytes;
    *answer_bytes = text.used;
    return 0;
}
