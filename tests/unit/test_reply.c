/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/reply.h"

#define TCP 6
#define UDP 17

/* From exactly so many bytes of heap, so that a sanitizer sees any read beyond. */
static enum reply read_exact(const void *payload, uint32_t bytes, uint8_t protocol, uint16_t port)
{
    uint8_t *copy = malloc(bytes);
    enum reply reply;

    if (bytes > 0)
        memcpy(copy, payload, bytes);
    reply = reply_read(copy, bytes, protocol, port);
    free(copy);
    /* Nor may what lies behind them matter. */
    assert_int_equal(reply_read(payload, bytes, protocol, port), reply);
    return reply;
}

static enum reply read_text(const char *text)
{
    return read_exact(text, (uint32_t)strlen(text), TCP, 80);
}

static void status_lines(void **state)
{
    (void)state;
    assert_int_equal(read_text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), REPLY_GOOD);
    assert_int_equal(read_text("HTTP/1.0 404 Not Found\r\n"), REPLY_GOOD);
    assert_int_equal(read_text("HTTP/1.1 100 Continue\r\n"), REPLY_GOOD);
    assert_int_equal(read_text("HTTP/1.1 503 Service Unavailable\r\n"), REPLY_FAILED);
    assert_int_equal(read_text("HTTP/1.1 500\r\n"), REPLY_FAILED);
    assert_int_equal(read_text("HTTP/1.1 500"), REPLY_FAILED); /* as much as is needed */
    assert_int_equal(read_text("HTTP/1.1 50"), REPLY_UNKNOWN);
    assert_int_equal(read_text("HTTP/1.1 5000"), REPLY_UNKNOWN);
    assert_int_equal(read_text("HTTP/2.0 500 x"), REPLY_UNKNOWN);
    assert_int_equal(read_text("http/1.1 500 x"), REPLY_UNKNOWN);
    assert_int_equal(read_text("GET /HTTP/1.1 500 "), REPLY_UNKNOWN);
    assert_int_equal(read_exact("\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03 500", 15, TCP, 443),
                     REPLY_UNKNOWN); /* TLS */
    assert_int_equal(read_exact("HTTP/1.1 500 x", 14, UDP, 80), REPLY_UNKNOWN);
    assert_int_equal(read_exact("HTTP/1.1 500 x", 14, 132, 80), REPLY_UNKNOWN);
    assert_int_equal(read_exact("HTTP/1.1 500 x", 14, TCP, 8080), REPLY_FAILED);
    assert_int_equal(read_exact("HTTP/1.1 500 x", 14, TCP, 53), REPLY_FAILED);
}

static void every_status(void **state)
{
    char line[32];

    (void)state;
    for (unsigned status = 0; status < 1000; status++) {
        enum reply expected = status / 100 == 5                   ? REPLY_FAILED
                              : status >= 100 && status / 100 < 5 ? REPLY_GOOD
                                                                  : REPLY_UNKNOWN;

        snprintf(line, sizeof(line), "HTTP/1.%u %03u ", status % 10, status);
        assert_int_equal(read_text(line), expected);
    }
}

/* Every value of every byte of a status line, in every length. */
static void every_byte_of_a_status_line(void **state)
{
    static const char line[] = "HTTP/1.1 503 Service";

    (void)state;
    for (uint32_t bytes = 0; bytes < sizeof(line); bytes++)
        for (uint32_t at = 0; at < bytes; at++)
            for (unsigned value = 0; value < 256; value++) {
                uint8_t spoilt[sizeof(line)];
                bool digit = value >= '0' && value <= '9';
                enum reply expected = REPLY_FAILED;

                memcpy(spoilt, line, sizeof(line));
                spoilt[at] = (uint8_t)value;
                if (bytes < 12)
                    expected = REPLY_UNKNOWN;
                else if (at == 9)
                    expected = value == '5'                   ? REPLY_FAILED
                               : value >= '1' && value <= '4' ? REPLY_GOOD
                                                              : REPLY_UNKNOWN;
                else if (at == 12                          ? digit
                         : at == 7 || at == 10 || at == 11 ? !digit
                                                           : at < 9 && value != (uint8_t)line[at])
                    expected = REPLY_UNKNOWN;
                if (read_exact(spoilt, bytes, TCP, 80) != expected)
                    fail_msg("byte %u is %02x, of %u", at, value, bytes);
            }
}

static void every_dns_header(void **state)
{
    uint8_t message[40] = {0x12, 0x34};

    (void)state;
    for (unsigned flags = 0; flags < 65536; flags++) {
        bool response = flags & 0x8000;
        enum reply expected = !response            ? REPLY_UNKNOWN
                              : (flags & 0xf) == 2 ? REPLY_FAILED
                                                   : REPLY_GOOD;

        message[2] = (uint8_t)(flags >> 8);
        message[3] = (uint8_t)flags;
        if (reply_read(message, sizeof(message), UDP, 53) != expected)
            fail_msg("flags %04x", flags);
        assert_int_equal(reply_read(message, sizeof(message), UDP, 5353), REPLY_UNKNOWN);
        assert_int_equal(reply_read(message, sizeof(message), TCP, 53), REPLY_UNKNOWN);
    }
    message[2] = 0x81;
    message[3] = 0x82;
    for (uint32_t bytes = 0; bytes <= sizeof(message); bytes++)
        assert_int_equal(read_exact(message, bytes, UDP, 53),
                         bytes < 12 ? REPLY_UNKNOWN : REPLY_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_lines),
        cmocka_unit_test(every_status),
        cmocka_unit_test(every_byte_of_a_status_line),
        cmocka_unit_test(every_dns_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
