/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the control socket stands: what may be in its place, and who may take it. */
#include <fcntl.h>
#include <sys/file.h>

#include "tests/unit/serving.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(a_missing_directory_is_made),
        SOCKET_TEST(paths_that_cannot_be_are_refused),
        SOCKET_TEST(case_K01_a_dead_socket_is_replaced),
        SOCKET_TEST(case_K01_a_live_socket_is_not_stolen),
        SOCKET_TEST(case_K01_a_live_socket_with_a_full_backlog_is_not_stolen),
        SOCKET_TEST(case_K01_what_is_no_socket_is_left_alone),
        SOCKET_TEST(case_K01_of_two_that_start_at_once_one_wins),
        SOCKET_TEST(case_K01_only_our_own_socket_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
