/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/checksum.h"

/* RFC 1071 word by word, as the text has it. */
static uint16_t checksum_plain(const uint8_t *bytes, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return __builtin_bswap16((uint16_t)~sum);
}

static void known_values(void **state)
{
    /* RFC 1071 section 3 gives the sum ddf2. */
    static const uint8_t rfc1071[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    static const uint8_t zeros[20];
    static const uint8_t ones[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    /* An IPv4 header from a capture; its checksum field (b861) is zero here. */
    static const uint8_t ipv4[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                                   0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

    (void)state;
    assert_int_equal(checksum_bytes(rfc1071, sizeof(rfc1071)), __builtin_bswap16(0x220d));
    assert_int_equal(checksum_bytes(ipv4, sizeof(ipv4)), __builtin_bswap16(0xb861));
    assert_int_equal(checksum_bytes(zeros, sizeof(zeros)), 0xffff);
    assert_int_equal(checksum_bytes(ones, sizeof(ones)), 0);
    assert_int_equal(checksum_bytes(zeros, 0), 0xffff);
    assert_int_equal(checksum_bytes((const uint8_t *)"\x12", 1), __builtin_bswap16(0xedff));
}

static void any_length_and_alignment(void **state)
{
    uint8_t bytes[200];
    uint32_t x = 12345;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        x = x * 1103515245 + 12345;
        bytes[i] = x & 0x10000 ? 0xff : (uint8_t)(x >> 24); /* many carries */
    }
    for (size_t start = 0; start < 16; start++)
        for (size_t n = 0; n + start <= sizeof(bytes); n++)
            assert_int_equal(checksum_bytes(bytes + start, n), checksum_plain(bytes + start, n));
}

/* A UDP datagram over both versions against the pseudo header written out. */
static void pseudo_headers(void **state)
{
    static const uint8_t udp[] = {0x9c, 0x40, 0x00, 0x35, 0x00, 0x0b, 0x00, 0x00, 'a', 'b', 'c'};
    uint8_t v4[12 + sizeof(udp)] = {10, 1, 0, 5, 10, 9, 0, 10, 0, 17, 0, sizeof(udp)};
    uint8_t v6[40 + sizeof(udp)] = {0xfd, 1,         [15] = 5,           0xfd,
                                    9,    [31] = 10, [35] = sizeof(udp), [39] = 17};
    struct address source, destination;
    uint32_t word;

    (void)state;
    memcpy(v4 + 12, udp, sizeof(udp));
    memcpy(&word, v4, 4);
    source = address_from_v4(word);
    memcpy(&word, v4 + 4, 4);
    destination = address_from_v4(word);
    assert_int_equal(checksum_l4(&source, &destination, 17, udp, sizeof(udp)),
                     checksum_plain(v4, sizeof(v4)));

    memcpy(v6 + 40, udp, sizeof(udp));
    memcpy(&source, v6, 16);
    memcpy(&destination, v6 + 16, 16);
    assert_int_equal(checksum_l4(&source, &destination, 17, udp, sizeof(udp)),
                     checksum_plain(v6, sizeof(v6)));
}

/* A sum of ffff gives checksum 0: sent as it is by TCP, as ffff by UDP. */
static void zero_of_udp(void **state)
{
    struct address nowhere = address_from_v4(0);
    uint8_t tcp[2] = {0xff, 0xff - 6 - 2}, udp[2] = {0xff, 0xff - 17 - 2};

    (void)state;
    assert_int_equal(checksum_l4(&nowhere, &nowhere, 6, tcp, sizeof(tcp)), 0);
    assert_int_equal(checksum_l4(&nowhere, &nowhere, 17, udp, sizeof(udp)), 0xffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(any_length_and_alignment),
        cmocka_unit_test(pseudo_headers),
        cmocka_unit_test(zero_of_udp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
