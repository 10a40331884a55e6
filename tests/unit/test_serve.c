/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests over the control socket: whole, in pieces, too long, too many, too slow. */
#include <sys/resource.h>

#include "tests/unit/serving.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(one_line_in_one_line_out),
        SOCKET_TEST(a_request_may_come_in_pieces),
        SOCKET_TEST(a_request_of_4096_bytes_is_the_longest),
        SOCKET_TEST(half_a_request_is_never_acted_upon),
        SOCKET_TEST(binary_garbage_is_answered_usage),
        SOCKET_TEST(the_17th_client_is_told_to_try_again),
        SOCKET_TEST(one_call_hands_over_one_request),
        SOCKET_TEST(a_request_has_five_seconds),
        SOCKET_TEST(without_descriptors_it_rests_and_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
