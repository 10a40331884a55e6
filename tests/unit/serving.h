/* SPDX-License-Identifier: BSD-3-Clause */
/* A control socket of a test's own, over real unix sockets, and its clients; time is a number. */
#ifndef SLUICE_TESTS_SERVING_H
#define SLUICE_TESTS_SERVING_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/serve/socket.h"

struct bench {
    char directory[64], path[96], why[256];
    struct control_socket *sock;
    uint64_t now_ns;
    unsigned handled;    /* calls of the handler */
    unsigned pieces;     /* made of all answers */
    unsigned released;   /* answers */
    size_t answer_bytes; /* of the answer to `big`, newline included */
    size_t piece_bytes;  /* that answers are made of */
    char last[8192];     /* the last request line */
};

static inline int start(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    if (!b)
        return -1;
    umask(022);
    strcpy(b->directory, "/tmp/sluice-serve-XXXXXX");
    if (!mkdtemp(b->directory))
        return -1;
    snprintf(b->path, sizeof(b->path), "%s/s", b->directory);
    b->now_ns = 1000;
    b->piece_bytes = 20000;
    *state = b;
    return 0;
}

static inline int stop(void **state)
{
    struct bench *b = *state;

    if (b->sock)
        control_socket_close(b->sock);
    assert_int_equal(b->released, b->handled);
    unlink(b->path);
    rmdir(b->directory);
    free(b);
    return 0;
}

static inline int open_socket(struct bench *b)
{
    return control_socket_open(b->path, &b->sock, b->why, sizeof(b->why));
}

static inline struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    return address;
}

/* An answer in pieces of bench.piece_bytes: letters, or a text given. */
struct test_answer {
    struct control_answer base;
    struct bench *bench;
    char *text;
    size_t made, bytes;
};

static inline char letter(size_t i, size_t bytes)
{
    return i == bytes - 1 ? '\n' : (char)('a' + i % 23);
}

static inline char *next(struct control_answer *base)
{
    struct test_answer *answer = (struct test_answer *)base;
    size_t left = answer->bytes - answer->made,
           n = left < answer->bench->piece_bytes ? left : answer->bench->piece_bytes;
    char *piece;

    if (n == 0)
        return NULL;
    piece = malloc(n + 1);
    assert_non_null(piece);
    for (size_t i = 0; i < n; i++, answer->made++)
        piece[i] = answer->text ? answer->text[answer->made] : letter(answer->made, answer->bytes);
    piece[n] = '\0';
    answer->bench->pieces++;
    return piece;
}

static inline void release(struct control_answer *base)
{
    struct test_answer *answer = (struct test_answer *)base;

    answer->bench->released++;
    free(answer->text);
    free(answer);
}

/* Answers `big` with bench.answer_bytes of letters, all else with itself in brackets. */
static inline struct control_answer *handle(void *context, const char *line)
{
    struct bench *b = context;
    struct test_answer *answer = calloc(1, sizeof(*answer));

    assert_non_null(answer);
    b->handled++;
    snprintf(b->last, sizeof(b->last), "%s", line);
    *answer = (struct test_answer){.base = {.next = next, .release = release}, .bench = b};
    if (strcmp(line, "big") == 0)
        answer->bytes = b->answer_bytes;
    else
        answer->bytes = (size_t)asprintf(&answer->text, "[%s]\n", line);
    return &answer->base;
}

/* Serves until there is nothing left to do without waiting. */
static inline void serve(struct bench *b)
{
    struct pollfd fd = {.fd = control_socket_fd(b->sock), .events = POLLIN};
    unsigned turns = 0;

    do {
        control_socket_serve(b->sock, handle, b, b->now_ns);
        assert_true(++turns < 1000); /* a descriptor that stays readable would spin the daemon */
    } while (poll(&fd, 1, 0) > 0);
}

static inline int client_of(struct bench *b)
{
    struct sockaddr_un address = address_of(b->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All that can be read now; "" at the end of the stream, NULL when there is nothing yet. */
static inline const char *hear(int fd)
{
    static char text[8192];
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);

    if (got < 0)
        return errno == EAGAIN ? NULL : "";
    text[got] = '\0';
    return text;
}

/* Hears exactly that line and the end of the stream after it. */
static inline void assert_heard(int fd, const char *line)
{
    const char *text = hear(fd);

    assert_non_null(text);
    assert_string_equal(text, line);
    text = hear(fd);
    assert_non_null(text);
    assert_string_equal(text, "");
    close(fd);
}

static inline void ask(struct bench *b, const char *request, const char *answer)
{
    int fd = client_of(b);

    say(fd, request);
    serve(b);
    assert_heard(fd, answer);
}

#define SOCKET_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
