/* SPDX-License-Identifier: BSD-3-Clause */
/* The deny list and its file; time is what the test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/config/address_text.h"
#include "control/plane/deny.h"

#define FILE_NAME "list"
#define NOW       1000
#define HEADING                                                                                    \
    "# Networks that sluiced lets nothing in from: PREFIX [END, in seconds of Unix time].\n"       \
    "# `sluicectl deny` writes this file anew.\n"

static char directory[] = "/tmp/sluice-deny-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    return chdir("/") || rmdir(directory) ? -1 : 0;
}

static int without_file(void **state)
{
    (void)state;
    return unlink(FILE_NAME) == 0 || errno == ENOENT ? 0 : -1;
}

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(FILE_NAME, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *expected)
{
    char text[4096];
    FILE *file = fopen(FILE_NAME, "r");
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

/* The list of the file, which says exactly this about it. */
static struct deny_list *open_list(uint64_t now_s, const char *expected)
{
    char *report = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&report, &bytes);
    struct deny_list *list = deny_open(FILE_NAME, now_s, stream);

    fclose(stream);
    assert_string_equal(report, expected);
    assert_non_null(list);
    free(report);
    return list;
}

static struct policy_network network(const char *text)
{
    struct policy_network network;

    assert_true(prefix_parse(text, &network.network, &network.bits));
    return network;
}

static int put(struct deny_list *list, const char *prefix, uint64_t end_s)
{
    struct policy_network n = network(prefix);

    return deny_put(list, &n, end_s);
}

static int take_off(struct deny_list *list, const char *prefix)
{
    struct policy_network n = network(prefix);

    return deny_remove(list, &n);
}

/* "PREFIX END, PREFIX END", in the list's order. */
static void assert_list(const struct deny_list *list, const char *expected)
{
    char text[1024] = "", prefix[ADDRESS_TEXT_MAX];
    size_t used = 0;

    for (uint32_t i = 0; i < list->n; i++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "%s%s %llu", i ? ", " : "",
            prefix_format(&list->networks[i].network, list->networks[i].bits, prefix),
            (unsigned long long)list->ends_s[i]);
    assert_string_equal(text, expected);
}

static void entries_are_sorted_masked_and_there_once(void **state)
{
    struct deny_list *list = open_list(NOW, "");

    (void)state;
    assert_int_equal(put(list, "10.2.0.0/16", DENY_FOREVER), 1);
    assert_int_equal(put(list, "2001:db8::5/32", 2000), 1);
    assert_int_equal(put(list, "10.1.2.3/16", DENY_FOREVER), 1);
    assert_int_equal(put(list, "10.1.0.0/24", 1500), 1);
    assert_int_equal(put(list, "10.1.0.0", DENY_FOREVER), 1);
    /* Again: another end, and no other entry. */
    assert_int_equal(put(list, "10.1.9.9/16", 1600), 0);
    assert_list(list, "10.1.0.0/16 1600, 10.1.0.0/24 1500, 10.1.0.0/32 0, 10.2.0.0/16 0, "
                      "2001:db8::/32 2000");
    assert_int_equal(take_off(list, "10.1.0.0/25"), -ENOENT);
    assert_int_equal(take_off(list, "10.1.0.77/24"), 0);
    assert_int_equal(take_off(list, "10.1.0.77/24"), -ENOENT);
    assert_list(list, "10.1.0.0/16 1600, 10.1.0.0/32 0, 10.2.0.0/16 0, 2001:db8::/32 2000");
    deny_close(list);
}

static void entries_end_at_their_second(void **state)
{
    struct deny_list *list = open_list(NOW, "");

    (void)state;
    put(list, "10.1.0.0/16", 1500);
    put(list, "10.2.0.0/16", DENY_FOREVER);
    put(list, "10.3.0.0/16", 1499);
    put(list, "10.4.0.0/16", 1500);
    assert_int_equal(deny_save(list), 0);
    assert_int_equal(deny_expire(list, 1498), 0);
    assert_false(list->unsaved);
    assert_int_equal(deny_expire(list, 1499), 1);
    assert_true(list->unsaved);
    assert_list(list, "10.1.0.0/16 1500, 10.2.0.0/16 0, 10.4.0.0/16 1500");
    assert_int_equal(deny_expire(list, 9999), 2);
    assert_list(list, "10.2.0.0/16 0");
    assert_int_equal(deny_expire(list, UINT64_MAX), 0);
    deny_close(list);
}

static void the_file_keeps_the_list(void **state)
{
    struct deny_list *list = open_list(NOW, "");
    struct stat status;

    (void)state;
    put(list, "10.1.0.0/16", 1500);
    put(list, "2001:db8::/32", DENY_FOREVER);
    assert_true(list->unsaved);
    assert_int_equal(deny_save(list), 0);
    assert_false(list->unsaved);
    deny_close(list);
    assert_file(HEADING "10.1.0.0/16 1500\n2001:db8::/32\n");
    assert_int_equal(stat(FILE_NAME, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(access(FILE_NAME ".new", F_OK), -1);

    list = open_list(1499, "");
    assert_false(list->unsaved);
    assert_list(list, "10.1.0.0/16 1500, 2001:db8::/32 0");
    assert_int_equal(deny_save(list), 0); /* the heading does not pile up */
    assert_file(HEADING "10.1.0.0/16 1500\n2001:db8::/32\n");
    deny_close(list);

    list = open_list(1500, ""); /* it ended while nobody was there */
    assert_true(list->unsaved);
    assert_list(list, "2001:db8::/32 0");
    deny_close(list);
}

static void half_a_file_of_another_daemon_is_no_obstacle(void **state)
{
    struct deny_list *list = open_list(NOW, "");
    struct stat status;
    FILE *left = fopen(FILE_NAME ".new", "w");

    (void)state;
    assert_non_null(left);
    fputs("10.9", left);
    fclose(left);
    assert_int_equal(chmod(FILE_NAME ".new", 0666), 0);
    put(list, "10.1.0.0/16", DENY_FOREVER);
    assert_int_equal(deny_save(list), 0);
    assert_file(HEADING "10.1.0.0/16\n");
    assert_int_equal(stat(FILE_NAME, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    deny_close(list);
}

static void broken_lines_are_told_and_kept(void **state)
{
    static const char text[] = "# ours\r\n"
                               "10.1.0.0/33\n"
                               "\n"
                               "  10.2.0.0/16\t2000 \r\n"
                               "10.3.0.0/16 soon\n"
                               "10.4.0.0/16 2000 please\n"
                               "10.5.0.0/16 -1\n"
                               "10.6.0.0/16\0x\n"
                               "10.7.0.0/16 0\n"
                               "10.9.0.0/16 99999999999999999999\n"
                               "\x1b[31m\n"
                               "10.8.1.0/16";
    struct deny_list *list;

    (void)state;
    write_file(text, sizeof(text) - 1);
    list = open_list(
        NOW,
        "sluiced: list:2: \"10.1.0.0/33\" is no prefix, and is left as it is\n"
        "sluiced: list:5: \"10.3.0.0/16 soon\" has an end that is no second, and is left as it is\n"
        "sluiced: list:6: \"10.4.0.0/16 2000 please\" has words behind it, and is left as it is\n"
        "sluiced: list:7: \"10.5.0.0/16 -1\" has an end that is no second, and is left as it is\n"
        "sluiced: list:8: \"10.6.0.0/16\" holds what is no text, and is left as it is\n"
        "sluiced: list:9: \"10.7.0.0/16 0\" has an end that is no second, and is left as it is\n"
        "sluiced: list:10: \"10.9.0.0/16 99999999999999999999\" has an end that is no second, and "
        "is left as it is\n"
        "sluiced: list:11: \"?[31m\" is no prefix, and is left as it is\n");
    assert_list(list, "10.2.0.0/16 2000, 10.8.0.0/16 0");
    put(list, "10.1.0.0/16", DENY_FOREVER);
    assert_int_equal(deny_save(list), 0);
    deny_close(list);
    list = open_list(
        NOW,
        "sluiced: list:2: \"10.1.0.0/33\" is no prefix, and is left as it is\n"
        "sluiced: list:4: \"10.3.0.0/16 soon\" has an end that is no second, and is left as it is\n"
        "sluiced: list:5: \"10.4.0.0/16 2000 please\" has words behind it, and is left as it is\n"
        "sluiced: list:6: \"10.5.0.0/16 -1\" has an end that is no second, and is left as it is\n"
        "sluiced: list:7: \"10.6.0.0/16\" holds what is no text, and is left as it is\n"
        "sluiced: list:8: \"10.7.0.0/16 0\" has an end that is no second, and is left as it is\n"
        "sluiced: list:9: \"10.9.0.0/16 99999999999999999999\" has an end that is no second, and "
        "is left as it is\n"
        "sluiced: list:10: \"?[31m\" is no prefix, and is left as it is\n");
    assert_list(list, "10.1.0.0/16 0, 10.2.0.0/16 2000, 10.8.0.0/16 0");
    deny_close(list);
}

static void of_two_lines_the_last_holds(void **state)
{
    static const char text[] = "10.1.0.0/16 1100\n10.2.0.0/16\n10.1.2.0/16\n";
    struct deny_list *list;

    (void)state;
    write_file(text, sizeof(text) - 1);
    list = open_list(NOW,
                     "sluiced: list:3: \"10.1.0.0/16\" is there twice: this line is what holds\n");
    assert_list(list, "10.1.0.0/16 0, 10.2.0.0/16 0");
    assert_true(list->unsaved);
    deny_close(list);
}

static void the_list_has_an_end(void **state)
{
    FILE *file = fopen(FILE_NAME, "w");
    struct deny_list *list;

    (void)state;
    assert_non_null(file);
    for (uint32_t i = POLICY_DENIED_MAX + 1; i > 0; i--) /* the worst order */
        fprintf(file, "10.%u.%u.%u\n", (i - 1) >> 16, (i - 1) >> 8 & 255, (i - 1) & 255);
    assert_int_equal(fclose(file), 0);
    list = open_list(NOW, "sluiced: list:1: \"10.1.0.0/32\" is more than the list can hold, and is "
                          "left as it is\n");
    assert_int_equal(list->n, POLICY_DENIED_MAX);
    assert_int_equal(put(list, "11.0.0.0/8", DENY_FOREVER), -ENOSPC);
    assert_int_equal(put(list, "10.0.0.0", 2000), 0); /* it is there */
    assert_int_equal(take_off(list, "10.0.7.7"), 0);
    assert_int_equal(put(list, "11.0.0.0/8", DENY_FOREVER), 1);
    assert_int_equal(deny_save(list), 0);
    deny_close(list);
    list = open_list(NOW, "sluiced: list:65537: \"11.0.0.0/8\" is more than the list can hold, and "
                          "is left as it is\n"); /* the line that was left is the lower one */
    deny_close(list);
}

static void what_cannot_be_read_is_not_written_over(void **state)
{
    struct deny_list *list;

    (void)state;
    assert_int_equal(mkdir(FILE_NAME, 0700), 0);
    list =
        open_list(NOW, "sluiced: list: the deny list cannot be read: Is a directory; it stays as "
                       "it is, and what is denied from now on is not kept until it is moved "
                       "away\n");
    put(list, "10.1.0.0/16", DENY_FOREVER);
    assert_int_equal(deny_save(list), -EEXIST);
    assert_true(list->unsaved);
    assert_int_equal(rmdir(FILE_NAME), 0);
    assert_int_equal(deny_save(list), 0);
    assert_file(HEADING "10.1.0.0/16\n");
    deny_close(list);

    unlink(FILE_NAME);
    assert_int_equal(mkfifo(FILE_NAME, 0600), 0); /* nobody writes: it must not be waited for */
    list = open_list(NOW, "sluiced: list: the deny list cannot be read: Invalid argument; it stays "
                          "as it is, and what is denied from now on is not kept until it is moved "
                          "away\n");
    deny_close(list);
    unlink(FILE_NAME);
    write_file("", 0);
    assert_int_equal(truncate(FILE_NAME, DENY_FILE_MAX_BYTES + 1), 0);
    list =
        open_list(NOW, "sluiced: list: the deny list cannot be read: File too large; it stays as "
                       "it is, and what is denied from now on is not kept until it is moved "
                       "away\n");
    assert_int_equal(deny_save(list), -EEXIST);
    deny_close(list);
}

static void a_folder_that_is_not_there_is_said_when_saving(void **state)
{
    struct deny_list *list = deny_open("none/list", NOW, stderr);

    (void)state;
    assert_non_null(list);
    put(list, "10.1.0.0/16", DENY_FOREVER);
    assert_int_equal(deny_save(list), -ENOENT);
    assert_true(list->unsaved);
    deny_close(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(entries_are_sorted_masked_and_there_once, without_file),
        cmocka_unit_test_setup(entries_end_at_their_second, without_file),
        cmocka_unit_test_setup(the_file_keeps_the_list, without_file),
        cmocka_unit_test_setup(half_a_file_of_another_daemon_is_no_obstacle, without_file),
        cmocka_unit_test_setup(broken_lines_are_told_and_kept, without_file),
        cmocka_unit_test_setup(of_two_lines_the_last_holds, without_file),
        cmocka_unit_test_setup(the_list_has_an_end, without_file),
        cmocka_unit_test_setup(what_cannot_be_read_is_not_written_over, without_file),
        cmocka_unit_test_setup(a_folder_that_is_not_there_is_said_when_saving, without_file),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
