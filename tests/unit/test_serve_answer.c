/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers too long to be sent at once. */
#include "tests/unit/serving.h"

#define MEGA 1000000u

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(case_K03_a_slow_reader_gets_a_big_answer_whole),
        SOCKET_TEST(case_K03_a_reader_that_stops_is_dropped),
        SOCKET_TEST(a_client_that_leaves_amid_its_answer_harms_nobody),
        SOCKET_TEST(case_K03_an_answer_is_made_only_as_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
