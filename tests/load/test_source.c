/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/load/source.h"

static const char *text_of(const struct source *source, uint16_t *port)
{
    static char text[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const void *)&source->address;
    const struct sockaddr_in6 *v6 = (const void *)&source->address;

    *port = ntohs(v4->sin_family == AF_INET ? v4->sin_port : v6->sin6_port);
    return inet_ntop(v4->sin_family,
                     v4->sin_family == AF_INET ? (const void *)&v4->sin_addr
                                               : (const void *)&v6->sin6_addr,
                     text, sizeof(text));
}

static void targets(void **state)
{
    static const struct {
        const char *text, *address;
        uint16_t port;
    } good[] = {{"192.0.2.1:8081", "192.0.2.1", 8081},
                {"192.0.2.1", "192.0.2.1", 80},
                {"[2001:db8::1]:443", "2001:db8::1", 443},
                {"[2001:db8::1]", "2001:db8::1", 80},
                {"2001:db8::1", "2001:db8::1", 80}};
    static const char *const bad[] = {"",
                                      "web",
                                      "192.0.2.1:",
                                      "192.0.2.1:x",
                                      "[2001:db8::1",
                                      "[2001:db8::1]443",
                                      "192.0.2.256:80"};
    struct source source;
    uint16_t port;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        memset(&source, 0, sizeof(source));
        assert_int_equal(source_parse_target(good[i].text, 80, &source), 0);
        assert_string_equal(text_of(&source, &port), good[i].address);
        assert_int_equal(port, good[i].port);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(source_parse_target(bad[i], 80, &source), -EINVAL);
}

static void lists_and_prefixes(void **state)
{
    struct source_list list = {0};
    uint16_t port;

    (void)state;
    assert_int_equal(source_list_add(&list, "192.0.2.7,2001:db8::7"), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(text_of(&list.list[1], &port), "2001:db8::7");
    /* Every host has this one, and only this one is in the prefix. */
    assert_int_equal(source_list_add(&list, "127.0.0.0/29"), 0);
    assert_int_equal(list.n, 3);
    assert_string_equal(text_of(&list.list[2], &port), "127.0.0.1");
    assert_int_equal(source_list_add(&list, "203.0.113.0/24"), -ENOENT);
    assert_int_equal(source_list_add(&list, "127.0.0.0/33"), -EINVAL);
    assert_int_equal(source_list_add(&list, "127.0.0.0/"), -EINVAL);
    assert_int_equal(source_list_add(&list, "192.0.2.7,,"), -EINVAL);
    assert_int_equal(source_list_add(&list, "192.0.2.7:80"), -EINVAL);
    source_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets),
        cmocka_unit_test(lists_and_prefixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
