/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket over real unix sockets; time is a number. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/serve/socket.h"

#define MEGA 1000000u

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

static int start(void **state)
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

static int stop(void **state)
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

static int open_socket(struct bench *b)
{
    return control_socket_open(b->path, &b->sock, b->why, sizeof(b->why));
}

static struct sockaddr_un address_of(const char *path)
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

static char letter(size_t i, size_t bytes)
{
    return i == bytes - 1 ? '\n' : (char)('a' + i % 23);
}

static char *next(struct control_answer *base)
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

static void release(struct control_answer *base)
{
    struct test_answer *answer = (struct test_answer *)base;

    answer->bench->released++;
    free(answer->text);
    free(answer);
}

/* Answers `big` with bench.answer_bytes of letters, all else with itself in brackets. */
static struct control_answer *handle(void *context, const char *line)
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
static void serve(struct bench *b)
{
    struct pollfd fd = {.fd = control_socket_fd(b->sock), .events = POLLIN};
    unsigned turns = 0;

    do {
        control_socket_serve(b->sock, handle, b, b->now_ns);
        assert_true(++turns < 1000); /* a descriptor that stays readable would spin the daemon */
    } while (poll(&fd, 1, 0) > 0);
}

static int client_of(struct bench *b)
{
    struct sockaddr_un address = address_of(b->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All that can be read now; "" at the end of the stream, NULL when there is nothing yet. */
static const char *hear(int fd)
{
    static char text[8192];
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);

    if (got < 0)
        return errno == EAGAIN ? NULL : "";
    text[got] = '\0';
    return text;
}

/* Hears exactly that line and the end of the stream after it. */
static void assert_heard(int fd, const char *line)
{
    const char *text = hear(fd);

    assert_non_null(text);
    assert_string_equal(text, line);
    text = hear(fd);
    assert_non_null(text);
    assert_string_equal(text, "");
    close(fd);
}

static void assert_gone(int fd)
{
    const char *text = hear(fd);

    assert_non_null(text);
    assert_string_equal(text, "");
    close(fd);
}

static void assert_error(int fd, const char *code)
{
    const char *text = hear(fd);
    char expected[64];

    assert_non_null(text);
    snprintf(expected, sizeof(expected), "{\"error\":{\"code\":\"%s\",\"message\":\"", code);
    assert_memory_equal(text, expected, strlen(expected));
    assert_string_equal(text + strlen(text) - 4, "\"}}\n");
    close(fd);
}

static void ask(struct bench *b, const char *request, const char *answer)
{
    int fd = client_of(b);

    say(fd, request);
    serve(b);
    assert_heard(fd, answer);
}

static void one_line_in_one_line_out(void **state)
{
    struct bench *b = *state;
    struct stat status;

    assert_int_equal(open_socket(b), 0);
    assert_int_equal(stat(b->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    ask(b, "status\n", "[status]\n");
    ask(b, "tenants acme\nthis is ignored\n", "[tenants acme]\n");
    assert_int_equal(b->handled, 2);
}

static void a_missing_directory_is_made(void **state)
{
    struct bench *b = *state;
    struct stat status;

    snprintf(b->path, sizeof(b->path), "%s/run/s", b->directory);
    assert_int_equal(open_socket(b), 0);
    control_socket_close(b->sock);
    b->sock = NULL;
    assert_int_equal(access(b->path, F_OK), -1);
    snprintf(b->path, sizeof(b->path), "%s/run", b->directory);
    assert_int_equal(stat(b->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    rmdir(b->path);
}

static void paths_that_cannot_be_are_refused(void **state)
{
    struct bench *b = *state;

    assert_int_equal(control_socket_open("", &b->sock, b->why, sizeof(b->why)), -EINVAL);
    snprintf(b->path, sizeof(b->path), "%s/a/b/s", b->directory);
    assert_int_equal(open_socket(b), -ENOENT);
    assert_non_null(strstr(b->why, "/a/b"));
    assert_int_equal(control_socket_open("/tmp/0123456789012345678901234567890123456789012345678901"
                                         "234567890123456789012345678901234567890123456789012345",
                                         &b->sock, b->why, sizeof(b->why)),
                     -ENAMETOOLONG);
}

/* What a killed daemon leaves behind. */
static void leave_dead_socket(const char *path)
{
    struct sockaddr_un address = address_of(path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    close(fd);
}

static void case_K01_a_dead_socket_is_replaced(void **state)
{
    struct bench *b = *state;

    leave_dead_socket(b->path);
    assert_int_equal(open_socket(b), 0);
    ask(b, "status\n", "[status]\n");
}

static void case_K01_a_live_socket_is_not_stolen(void **state)
{
    struct bench *b = *state;
    struct control_socket *second = NULL;

    assert_int_equal(open_socket(b), 0);
    assert_int_equal(control_socket_open(b->path, &second, b->why, sizeof(b->why)), -EADDRINUSE);
    assert_non_null(strstr(b->why, "live daemon"));
    assert_null(second);
    ask(b, "status\n", "[status]\n");
}

/* The daemon of a full backlog is alive, only busy. */
static void case_K01_a_live_socket_with_a_full_backlog_is_not_stolen(void **state)
{
    struct bench *b = *state;
    struct sockaddr_un address = address_of(b->path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), client;

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 0), 0);
    client = client_of(b);
    assert_int_equal(open_socket(b), -EADDRINUSE);
    close(client);
    close(fd);
}

static void case_K01_what_is_no_socket_is_left_alone(void **state)
{
    struct bench *b = *state;
    char other[112];
    int fd = open(b->path, O_CREAT | O_WRONLY, 0644);
    struct stat status;

    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    assert_int_equal(open_socket(b), -ENOTSOCK);
    assert_non_null(strstr(b->why, b->path));
    assert_int_equal(stat(b->path, &status), 0);
    assert_int_equal(status.st_size, 4);

    /* Nor is a link followed to a dead socket somewhere else. */
    unlink(b->path);
    snprintf(other, sizeof(other), "%s.dead", b->path);
    leave_dead_socket(other);
    assert_int_equal(symlink(other, b->path), 0);
    assert_int_equal(open_socket(b), -ENOTSOCK);
    assert_int_equal(access(other, F_OK), 0);
    unlink(other);
}

static void case_K01_of_two_that_start_at_once_one_wins(void **state)
{
    struct bench *b = *state;
    int directory = open(b->directory, O_RDONLY | O_DIRECTORY);

    leave_dead_socket(b->path);
    assert_int_equal(flock(directory, LOCK_EX), 0); /* the other one, amid its probe */
    assert_int_equal(open_socket(b), -EADDRINUSE);
    assert_int_equal(access(b->path, F_OK), 0);
    close(directory);
    assert_int_equal(open_socket(b), 0);
}

static void case_K01_only_our_own_socket_is_removed(void **state)
{
    struct bench *b = *state;

    assert_int_equal(open_socket(b), 0);
    unlink(b->path);
    leave_dead_socket(b->path); /* another daemon's, by now */
    control_socket_close(b->sock);
    b->sock = NULL;
    assert_int_equal(access(b->path, F_OK), 0);
    unlink(b->path);

    assert_int_equal(open_socket(b), 0);
    control_socket_close(b->sock);
    b->sock = NULL;
    assert_int_equal(access(b->path, F_OK), -1);
}

static void a_request_may_come_in_pieces(void **state)
{
    struct bench *b = *state;
    int fd;

    assert_int_equal(open_socket(b), 0);
    fd = client_of(b);
    say(fd, "ten");
    serve(b);
    assert_null(hear(fd));
    say(fd, "ants");
    serve(b);
    assert_null(hear(fd));
    assert_int_equal(b->handled, 0);
    say(fd, "\n");
    serve(b);
    assert_heard(fd, "[tenants]\n");
}

static void a_request_of_4096_bytes_is_the_longest(void **state)
{
    struct bench *b = *state;
    char line[CONTROL_REQUEST_MAX + 2];
    int fd;

    assert_int_equal(open_socket(b), 0);
    memset(line, 'a', sizeof(line));
    strcpy(line + CONTROL_REQUEST_MAX - 1, "\n");
    fd = client_of(b);
    say(fd, line);
    serve(b);
    assert_int_equal(b->handled, 1);
    assert_int_equal(strlen(b->last), CONTROL_REQUEST_MAX - 1);
    close(fd);

    line[CONTROL_REQUEST_MAX - 1] = '\0';
    fd = client_of(b);
    say(fd, line);
    serve(b);
    assert_null(hear(fd));
    say(fd, "\n");
    serve(b);
    assert_int_equal(b->handled, 2);
    close(fd);

    memset(line, 'a', sizeof(line));
    strcpy(line + CONTROL_REQUEST_MAX, "\n");
    fd = client_of(b);
    say(fd, line);
    serve(b);
    assert_error(fd, "usage");
    assert_int_equal(b->handled, 2);
}

/* Half of `window=50` is `window=5`. */
static void half_a_request_is_never_acted_upon(void **state)
{
    struct bench *b = *state;
    int fd;

    assert_int_equal(open_socket(b), 0);
    fd = client_of(b);
    say(fd, "set tenant acme window=5");
    shutdown(fd, SHUT_WR);
    serve(b);
    assert_error(fd, "usage");

    fd = client_of(b);
    say(fd, "set tenant acme window=5");
    close(fd);
    serve(b);
    fd = client_of(b);
    close(fd);
    serve(b);
    assert_int_equal(b->handled, 0);
    ask(b, "status\n", "[status]\n");
}

static void binary_garbage_is_answered_usage(void **state)
{
    struct bench *b = *state;
    uint32_t x = 1;
    char garbage[10000];
    int fd;

    assert_int_equal(open_socket(b), 0);
    fd = client_of(b);
    assert_int_equal(send(fd, "sta\0tus\n", 8, 0), 8);
    serve(b);
    assert_error(fd, "usage");

    for (size_t i = 0; i < sizeof(garbage); i++) {
        x = x * 1664525 + 1013904223;
        garbage[i] = (char)(x >> 24);
        if (garbage[i] == '\n')
            garbage[i] = '\0';
    }
    fd = client_of(b);
    assert_int_equal(send(fd, garbage, sizeof(garbage), 0), sizeof(garbage));
    serve(b);
    assert_error(fd, "usage");
    assert_int_equal(b->handled, 0);
    ask(b, "status\n", "[status]\n");
}

static void the_17th_client_is_told_to_try_again(void **state)
{
    struct bench *b = *state;
    int fds[CONTROL_CLIENTS_MAX], fd;

    assert_int_equal(open_socket(b), 0);
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        assert_int_equal(control_socket_clients(b->sock), i);
        fds[i] = client_of(b);
        serve(b);
    }
    fd = client_of(b);
    serve(b);
    assert_error(fd, "busy");
    assert_int_equal(control_socket_clients(b->sock), CONTROL_CLIENTS_MAX);

    close(fds[3]);
    serve(b);
    assert_int_equal(control_socket_clients(b->sock), CONTROL_CLIENTS_MAX - 1);
    ask(b, "status\n", "[status]\n");
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (i == 3)
            continue;
        say(fds[i], "ports\n");
        serve(b);
        assert_heard(fds[i], "[ports]\n");
    }
}

static void one_call_hands_over_one_request(void **state)
{
    struct bench *b = *state;
    int fds[3];

    assert_int_equal(open_socket(b), 0);
    for (int i = 0; i < 3; i++) {
        fds[i] = client_of(b);
        say(fds[i], "status\n");
    }
    control_socket_serve(b->sock, handle, b, b->now_ns); /* lets them in */
    for (unsigned i = 1; i <= 3; i++) {
        control_socket_serve(b->sock, handle, b, b->now_ns);
        assert_int_equal(b->handled, i);
    }
    for (int i = 0; i < 3; i++)
        assert_heard(fds[i], "[status]\n");
}

static void a_request_has_five_seconds(void **state)
{
    struct bench *b = *state;
    int silent, trickling;

    assert_int_equal(open_socket(b), 0);
    silent = client_of(b);
    trickling = client_of(b);
    serve(b);
    b->now_ns += CONTROL_STALL_NS - 1;
    say(trickling, "s");
    serve(b);
    assert_null(hear(silent));
    assert_null(hear(trickling));
    b->now_ns += 1;
    serve(b);
    assert_gone(silent);
    assert_gone(trickling);
    assert_int_equal(b->handled, 0);
}

/* Reads on with `pause_ns` between steps of 100 kB, until the end; the bytes must be the pattern.
 */
static size_t read_slowly(struct bench *b, int fd, uint64_t pause_ns)
{
    static char buffer[100000];
    size_t total = 0;
    ssize_t got;

    while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
        for (ssize_t i = 0; i < got; i++, total++) {
            if (buffer[i] != letter(total, b->answer_bytes))
                fail_msg("byte %zu is not what was sent", total);
        }
        b->now_ns += pause_ns;
        serve(b);
    }
    return total;
}

static void case_K03_a_slow_reader_gets_a_big_answer_whole(void **state)
{
    struct bench *b = *state;
    int fd;

    assert_int_equal(open_socket(b), 0);
    b->answer_bytes = 5 * MEGA;
    b->piece_bytes = MEGA; /* more than the kernel takes at once */
    fd = client_of(b);
    say(fd, "big\n");
    serve(b);
    ask(b, "status\n", "[status]\n"); /* nobody waits for the slow one */
    assert_int_equal(read_slowly(b, fd, CONTROL_STALL_NS - 1), 5 * MEGA);
    close(fd);
}

static void case_K03_a_reader_that_stops_is_dropped(void **state)
{
    struct bench *b = *state;
    int fd;

    assert_int_equal(open_socket(b), 0);
    b->answer_bytes = 5 * MEGA;
    fd = client_of(b);
    say(fd, "big\n");
    serve(b);
    b->now_ns += CONTROL_STALL_NS;
    serve(b);
    assert_true(read_slowly(b, fd, 0) < 5 * MEGA);
    close(fd);
}

static void a_client_that_leaves_amid_its_answer_harms_nobody(void **state)
{
    struct bench *b = *state;

    assert_int_equal(open_socket(b), 0);
    b->answer_bytes = 5 * MEGA;
    for (int i = 0; i < 2 * CONTROL_CLIENTS_MAX; i++) {
        int fd = client_of(b);

        say(fd, "big\n");
        serve(b);
        close(fd);
        serve(b);
    }
    assert_int_equal(b->handled, 2 * CONTROL_CLIENTS_MAX);
    ask(b, "status\n", "[status]\n");
}

/* However long it is: a piece, and what the kernel buffers. */
static void case_K03_an_answer_is_made_only_as_it_is_read(void **state)
{
    struct bench *b = *state;
    unsigned pieces;
    int fd;

    assert_int_equal(open_socket(b), 0);
    b->answer_bytes = 100000 * MEGA;
    fd = client_of(b);
    say(fd, "big\n");
    control_socket_serve(b->sock, handle, b, b->now_ns); /* lets it in */
    control_socket_serve(b->sock, handle, b, b->now_ns);
    assert_int_equal(b->pieces, 2); /* one has left, one waits */
    control_socket_serve(b->sock, handle, b, b->now_ns);
    assert_int_equal(b->pieces, 3);
    serve(b);
    pieces = b->pieces;
    assert_true(pieces > 3);
    assert_true(pieces < 4 * MEGA / b->piece_bytes);
    serve(b);
    assert_int_equal(b->pieces, pieces);
    close(fd);
    serve(b);
    assert_int_equal(b->released, 1);
}

static void without_descriptors_it_rests_and_goes_on(void **state)
{
    struct bench *b = *state;
    struct pollfd ready = {.events = POLLIN};
    struct rlimit before, now;
    int fd;

    assert_int_equal(open_socket(b), 0);
    ready.fd = control_socket_fd(b->sock);
    fd = client_of(b);
    say(fd, "status\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)fd + 1; /* the next descriptor would be beyond */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    serve(b); /* and must not find its descriptor readable for ever */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(hear(fd));
    b->now_ns += 1000000000 - 1;
    serve(b);
    assert_null(hear(fd));
    b->now_ns += 1;
    serve(b);
    assert_heard(fd, "[status]\n");

    fd = client_of(b);
    assert_int_equal(poll(&ready, 1, 0), 1); /* it is awake again */
    close(fd);
}

#define SOCKET_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(one_line_in_one_line_out),
        SOCKET_TEST(a_missing_directory_is_made),
        SOCKET_TEST(paths_that_cannot_be_are_refused),
        SOCKET_TEST(case_K01_a_dead_socket_is_replaced),
        SOCKET_TEST(case_K01_a_live_socket_is_not_stolen),
        SOCKET_TEST(case_K01_a_live_socket_with_a_full_backlog_is_not_stolen),
        SOCKET_TEST(case_K01_what_is_no_socket_is_left_alone),
        SOCKET_TEST(case_K01_of_two_that_start_at_once_one_wins),
        SOCKET_TEST(case_K01_only_our_own_socket_is_removed),
        SOCKET_TEST(a_request_may_come_in_pieces),
        SOCKET_TEST(a_request_of_4096_bytes_is_the_longest),
        SOCKET_TEST(half_a_request_is_never_acted_upon),
        SOCKET_TEST(binary_garbage_is_answered_usage),
        SOCKET_TEST(the_17th_client_is_told_to_try_again),
        SOCKET_TEST(one_call_hands_over_one_request),
        SOCKET_TEST(a_request_has_five_seconds),
        SOCKET_TEST(case_K03_a_slow_reader_gets_a_big_answer_whole),
        SOCKET_TEST(case_K03_a_reader_that_stops_is_dropped),
        SOCKET_TEST(a_client_that_leaves_amid_its_answer_harms_nobody),
        SOCKET_TEST(case_K03_an_answer_is_made_only_as_it_is_read),
        SOCKET_TEST(without_descriptors_it_rests_and_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
